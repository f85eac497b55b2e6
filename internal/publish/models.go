// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/internal/canonical"
)

// parameter is what a sampling parameter may be.
type parameter struct {
	allowed string
	valid   func(literal string) bool
}

var parameters = map[string]parameter{
	"temperature":     {"a number from 0 to 2", between(0, 2)},
	"topP":            {"a number from 0 to 1", between(0, 1)},
	"maxOutputTokens": {"an integer of at least 1", integerFrom(1)},
	"seed":            {"an integer", integerFrom(minInt64)},
}

const minInt64 = -1 << 63

func between(low, high float64) func(string) bool {
	return func(literal string) bool {
		f, err := strconv.ParseFloat(literal, 64)
		return err == nil && low <= f && f <= high
	}
}

func integerFrom(low int64) func(string) bool {
	return func(literal string) bool {
		i, err := strconv.ParseInt(literal, 10, 64)
		return err == nil && i >= low
	}
}

func checkModels(v *validation) {
	for i, model := range v.spec.Models {
		if model.Parameters != nil {
			checkParameters(v, root.Child("models").Index(i).Child("parameters"), model.Parameters.Raw)
		}
	}
}

func checkParameters(v *validation, path *field.Path, raw []byte) {
	values, ok := freeFormObject(v, path, raw)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known, ok := parameters[name]
		if !ok {
			v.add(RuleModelParameter, path.Child(name), "unknown parameter %s: the parameters are %s",
				quoted(name), strings.Join(slices.Sorted(maps.Keys(parameters)), ", "))
			continue
		}
		if literal := string(values[name]); !known.valid(literal) {
			v.add(RuleModelParameter, path.Child(name), "%s must be %s, not %s", name, known.allowed, shorten(literal, maxQuoted))
		}
	}
}

// freeFormObject gives the members of free-form JSON in canonical form, or
// reports why it has none.
func freeFormObject(v *validation, path *field.Path, raw []byte) (map[string]json.RawMessage, bool) {
	text, err := canonical.JSON(raw)
	if err != nil {
		v.addCanonicalError(path, err)
		return nil, false
	}
	var members map[string]json.RawMessage
	if !bytes.HasPrefix(text, []byte("{")) || json.Unmarshal(text, &members) != nil {
		v.add(RuleNotCanonical, path, "a JSON object is needed here, not %s", shorten(string(text), maxQuoted))
		return nil, false
	}
	return members, true
}
