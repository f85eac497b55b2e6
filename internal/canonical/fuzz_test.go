// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	kubernetesjson "sigs.k8s.io/json"
)

// FuzzJSON compares JSON with the decoders of Go and Kubernetes on text that
// nobody thought of.
func FuzzJSON(f *testing.F) {
	vectors := readVectors(f)
	for _, vector := range vectors.FreeForm {
		for _, input := range vector.Inputs {
			f.Add([]byte(input))
		}
	}
	for _, vector := range vectors.AgentSpec {
		f.Add([]byte(vector.Inputs[0]))
	}
	for _, vector := range vectors.Refused {
		f.Add(append(vector.Bytes, vector.Input...))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		canonical, err := JSON(raw)
		textErr := CheckText(raw)
		if !bytes.Equal(raw, before) {
			t.Fatal("the input was changed")
		}
		if refusal, ok := errors.AsType[*Error](err); ok {
			if refusal.Rule == RuleSyntax && json.Valid(raw) {
				t.Fatalf("encoding/json takes what was refused: %v", err)
			}
			if textErr == nil && refusal.Rule != RuleTooDeep {
				t.Fatalf("CheckText takes what JSON refuses: %v", err)
			}
			return
		}
		if !json.Valid(raw) || !utf8.Valid(raw) {
			t.Fatalf("accepted: %q", raw)
		}
		again, err := JSON(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("not a fixed point: %s, then %s, %v", canonical, again, err)
		}
		checkStored(t, string(raw), string(canonical))
		if textErr == nil {
			// Not cmp.Diff, whose time doubles with each level of nesting.
			if want, got := kubernetesValue(t, raw), kubernetesValue(t, canonical); !reflect.DeepEqual(want, got) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// kubernetesValue is the value that is there once the API server stored raw.
func kubernetesValue(t *testing.T, raw []byte) (value any) {
	t.Helper()
	for range 2 {
		value = nil
		if err := kubernetesjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
			t.Fatal(err)
		}
		var err error
		if raw, err = json.Marshal(value); err != nil {
			t.Fatal(err)
		}
	}
	return value
}
