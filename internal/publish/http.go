// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/httptool/template"
)

// checkHTTP reads the request with the parser that fills it later, so that what is
// published can be sent.
func checkHTTP(v *validation, tool *field.Path, t *v1alpha1.Tool) {
	path := tool.Child("http")
	if t.HTTP.Body != nil {
		checkFreeForm(v, path.Child("body"), t.HTTP.Body.Raw)
	}
	parsed, problems := template.Parse(t.HTTP)
	for _, problem := range problems {
		if rule, ok := httpRules[problem.Kind]; ok {
			v.add(rule, placePath(path, problem.Place), "%s", problem.Detail)
		}
	}
	args := argumentsOf(t)
	for _, use := range parsed.Uses {
		checkUse(v, placePath(path, use.Place), use, args)
	}
}

// httpRules are the rules that problems break. checkFreeForm says more of a body that is
// not JSON.
var httpRules = map[template.Kind]string{
	template.URL:         RuleHTTPURL,
	template.Header:      RuleHTTPHeader,
	template.Body:        RuleHTTPBody,
	template.Placeholder: RuleHTTPPlaceholder,
}

func placePath(path *field.Path, place template.Place) *field.Path {
	path = path.Child(place.Field)
	if place.Key != "" {
		path = path.Key(place.Key)
	}
	return PointerPath(path, place.Pointer)
}

// arguments are those of a tool, as its input schema lists them.
type arguments struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// argumentsOf reads what it can: an invalid schema has its own findings.
func argumentsOf(tool *v1alpha1.Tool) arguments {
	var args arguments
	if tool.InputSchema != nil && json.Unmarshal(tool.InputSchema.Raw, &args) != nil {
		return arguments{}
	}
	return args
}

func checkUse(v *validation, path *field.Path, use template.Use, args arguments) {
	name := shorten(use.Argument, maxQuoted)
	if _, ok := args.Properties[use.Argument]; !ok {
		v.add(RuleHTTPPlaceholder, path, "{%s} names no argument: add %s to inputSchema.properties, or correct the name", name, quoted(use.Argument))
		return
	}
	if use.Required && !slices.Contains(args.Required, use.Argument) {
		v.add(RuleHTTPPlaceholder, path, "the path needs {%s}: add %s to inputSchema.required", name, quoted(use.Argument))
	}
}
