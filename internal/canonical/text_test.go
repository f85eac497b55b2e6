// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// C10, P2.
func TestNormalizeText(t *testing.T) {
	tests := map[string]string{
		"":                       "",
		"a":                      "a",
		"a\nb":                   "a\nb",
		"a\r\nb\rc\n":            "a\nb\nc",
		"a\n\r\n\r":              "a",
		"\r\n":                   "",
		"a\r\r\nb":               "a\n\nb",
		"a  \nb":                 "a  \nb",
		"a\n ":                   "a\n ",
		"\na":                    "\na",
		"a\t\n":                  "a\t",
		"a\u2028b\u0085c\vd\fe":  "a\u2028b\u0085c\vd\fe",
		"a\\r\\n":                "a\\r\\n",
		"nul\x00 and \ufeff":     "nul\x00 and \ufeff",
		"not \xff UTF-8\r\n\xfe": "not \xff UTF-8\n\xfe",
	}
	for input, want := range tests {
		got := NormalizeText(input)
		if got != want {
			t.Errorf("%q: got %q, want %q", input, got, want)
		}
		if again := NormalizeText(got); again != got {
			t.Errorf("%q: not stable: %q", input, again)
		}
	}
}

// C10, P2: free text, and nothing else, is normalised, wherever it is.
func TestNormalizeTextFields(t *testing.T) {
	const before, after = "a\r\nb\n", "a\nb"
	v := sample{
		Text: before, Name: before, Label: new(before),
		Steps: []sampleStep{{Do: before}}, Tools: []sampleTool{{Name: before, Source: before}},
		Texts: map[string]string{before: before}, Labels: map[string]string{"l": before},
		Nested: sampleStep{Do: before}, Box: &sampleStep{Do: before},
		Raw: []byte(`"a\r\n"`), Secret: before,
	}
	want := sample{
		Text: after, Name: before, Label: new(before),
		Steps: []sampleStep{{Do: after}}, Tools: []sampleTool{{Name: before, Source: after}},
		Texts: map[string]string{before: after}, Labels: map[string]string{"l": before},
		Nested: sampleStep{Do: after}, Box: &sampleStep{Do: after},
		Raw: []byte(`"a\r\n"`), Secret: before,
	}
	if err := NormalizeTextFields(&v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNormalizeTextFieldsRefuses(t *testing.T) {
	for _, v := range []any{nil, sample{}, (*sample)(nil), new("a"), &struct{ A []string }{}} {
		if err := NormalizeTextFields(v); ruleOf(err) == "" {
			t.Errorf("%T: got %v, want an *Error", v, err)
		}
	}
}
