// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/offline"
)

// C2: keys are compared as kubectl would send them. Those that are not text have an
// order by chance, so each case is tried several times.
func TestKeys(t *testing.T) {
	const (
		path    = "spec.tools[0].inputSchema.properties."
		notText = " YAML does not read this key as text, and Kubernetes would store "
		quote   = ": put it in quotes"
		twice   = ": the key is there more than once; keep one"
		mixed   = ": the key is there more than once, as text and as something else; keep one"
	)
	becomes := func(key, name string) string {
		return "key_not_text " + path + key + ":" + notText + fmt.Sprintf("%q", name) + quote
	}
	duplicate := func(key, name string) string {
		return fmt.Sprintf("duplicate_key %s%s: the key becomes %q, which is there more than once; keep one", path, key, name)
	}
	tests := map[string]struct {
		properties string
		want       []string
	}{
		"an integer is its text":          {properties: `{200: {type: string}, -1: {}}`},
		"so is a boolean":                 {properties: `{true: {type: string}, false: {}}`},
		"quoted words":                    {properties: `{"yes": {type: string}, 'true': {}, "1e3": {}, "~": {}}`},
		"words that YAML takes for words": {properties: `{type: {}, name: {}, format: {}, off-by-one: {}, yesterday: {}, 1st: {}, 2001-01-01: {}}`},
		"yes":                             {properties: `{yes: {}}`, want: []string{becomes("yes", "true")}},
		"y":                               {properties: `{y: {}}`, want: []string{becomes("y", "true")}},
		"False":                           {properties: `{False: {}}`, want: []string{becomes("False", "false")}},
		"an exponent":                     {properties: `{1e3: {}}`, want: []string{becomes("1e3", "1000")}},
		"a fraction of zero":              {properties: `{1.0: {}}`, want: []string{becomes("1.0", "1")}},
		"hexadecimal":                     {properties: `{0x1F: {}}`, want: []string{becomes("0x1F", "31")}},
		"underscores":                     {properties: `{1_000: {}}`, want: []string{becomes("1_000", "1000")}},
		"a float that loses digits":       {properties: `{0.123456789: {}}`, want: []string{becomes("0.123456789", "0.12345679")}},
		"infinity":                        {properties: `{+.inf: {}}`, want: []string{becomes("+.inf", ".inf")}},
		"a tag":                           {properties: `{!!float 1: {}, !!str 2: {}, !!binary aGk=: {}}`, want: []string{becomes("aGk=", "hi")}},
		"a number and its text":           {properties: `{1: {type: string}, "1": {type: integer}}`, want: []string{"duplicate_key " + path + "1" + twice}},
		"two numbers": {properties: `{1: {type: string}, 1.0: {type: integer}}`, want: []string{
			duplicate("1.0", "1"), becomes("1.0", "1"),
		}},
		"hexadecimal twice": {properties: `{1: {type: string}, 0x1: {type: integer}}`, want: []string{
			duplicate("0x1", "1"), becomes("0x1", "1"),
		}},
		"a float and its text": {properties: `{"1": {type: string}, 1.0: {type: integer}}`, want: []string{
			duplicate("1.0", "1"), becomes("1.0", "1"),
		}},
		"an exponent and its number": {properties: `{1e3: {type: string}, 1000: {type: integer}}`, want: []string{
			becomes("1e3", "1000"), "duplicate_key " + path + "1000" + twice,
		}},
		"a word and its text": {properties: `{yes: {type: string}, "true": {type: integer}}`, want: []string{
			"duplicate_key " + path + "true" + twice, becomes("yes", "true"),
		}},
		"two words": {properties: `{y: {type: string}, on: {type: integer}}`, want: []string{
			duplicate("on", "true"), becomes("on", "true"), becomes("y", "true"),
		}},
		"a word and a boolean": {properties: `{yes: {type: string}, true: {type: integer}}`, want: []string{
			"duplicate_key " + path + "true" + twice, becomes("yes", "true"),
		}},
		"three": {properties: `{off: {type: string}, "false": {type: number}, no: {type: integer}}`, want: []string{
			"duplicate_key " + path + "false" + twice, duplicate("no", "false"), becomes("no", "false"), becomes("off", "false"),
		}},
		"the text of an escape": {properties: `{a: {type: string}, "\u0061": {type: integer}}`, want: []string{"duplicate_key " + path + "a" + twice}},
		"an alias as a key":     {properties: `{? &k yes : {type: string}, ? "true" : {}}`, want: []string{"duplicate_key " + path + "true" + twice, becomes("yes", "true")}},
		"what is merged":        {properties: `{<<: {a: {type: string}}, a: {type: integer}}`},
		"what is merged twice":  {properties: `{<<: [{a: {type: string}}, {a: {type: number}}]}`},
		"a number and merged text": {properties: `{<<: {"1": {type: string}}, 1: {type: integer}}`, want: []string{
			"duplicate_key " + path + "1" + mixed,
		}},
		"merged text and a merged number": {properties: `{<<: [{"1": {type: string}}, {<<: {1: {type: number}}}]}`, want: []string{
			"duplicate_key " + path + "1" + mixed,
		}},
		"a quoted merge key is a key": {properties: `{"<<": {type: string}, "a": {}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := valid + "  tools:\n  - {name: weather, kind: Function, function: {name: lookup_weather}, inputSchema: {type: object, properties: " + test.properties + "}}\n"
			var hash string
			for i := range 8 {
				object := check(t, text)[0]
				var got []string
				for _, f := range object.Findings {
					got = append(got, f.Rule+" "+f.Path+": "+f.Message)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatalf("findings (-want +got):\n%s", diff)
				}
				if i > 0 && string(object.Hash) != hash {
					t.Fatalf("hashes %s and %s", hash, object.Hash)
				}
				hash = string(object.Hash)
			}
			if (hash == "") != (test.want != nil) {
				t.Errorf("hash %q", hash)
			}
		})
	}
}

// P4: however many there are, none is passed over.
func TestMoreLiteralsThanAreShown(t *testing.T) {
	item := `{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","metadata":{"name":"%s"},"spec":{"instructions":"x","models":[{"grant":"g","model":"m"}],"limits":%s}}`
	var steps string
	for range 2000 {
		steps += `"steps":1e-400,`
	}
	list := `{"apiVersion":"v1","kind":"List","items":[` + fmt.Sprintf(item, "a", "{"+steps+`"steps":1}`) + "," + fmt.Sprintf(item, "b", `{"steps":1.00000000000000000001}`) + "]}"
	for name, text := range map[string]string{"JSON": list, "YAML": "# YAML\n" + list} {
		t.Run(name, func(t *testing.T) {
			for _, object := range check(t, text) {
				if object.Hash != "" || !object.Incomplete {
					t.Errorf("%s: hash %s, incomplete %t", object.String(), object.Hash, object.Incomplete)
				}
			}
		})
	}
}

// What is nested is bounded where it begins, and so however it is written.
func TestDepthIsThatOfTheValue(t *testing.T) {
	spec := func(depth int) string {
		nested := "1"
		for range depth {
			nested = "[" + nested + "]"
		}
		return `{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","metadata":{"name":"a"},"spec":{"instructions":"x","models":[{"grant":"g","model":"m"}],` +
			`"tools":[{"name":"t","kind":"Function","function":{"name":"lookup_weather"},"inputSchema":{"type":"object","default":` + nested + `}}]}}`
	}
	written := func(text string) map[string]string {
		list := `{"apiVersion":"v1","kind":"List","items":[` + text + `]}`
		return map[string]string{"JSON": text, "YAML": "# YAML\n" + text, "a List": list, "a List in YAML": "# YAML\n" + list}
	}
	var hashes []string
	for name, text := range written(spec(60)) {
		object := check(t, text)[0]
		if object.Hash == "" {
			t.Errorf("%s: %v", name, lines([]offline.Object{object}))
		}
		hashes = append(hashes, string(object.Hash))
	}
	for _, hash := range hashes {
		if hash != hashes[0] {
			t.Errorf("hashes: %v", hashes)
		}
	}
	for name, text := range written(spec(64)) {
		object := check(t, text)[0]
		if len(object.Findings) != 1 || object.Findings[0].Rule != "input_schema" {
			t.Errorf("%s: %v", name, lines([]offline.Object{object}))
		}
	}
}
