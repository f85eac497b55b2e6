// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func freeJSON(raw string) apiextensionsv1.JSON { return apiextensionsv1.JSON{Raw: []byte(raw)} }

// C5, C9, C11, C12, P3, P4, P5.
func TestTyped(t *testing.T) {
	tests := map[string]struct {
		input sample
		want  string
	}{
		"nothing": {sample{}, `{}`},
		"empty is absent": {sample{
			Label: new(""), Order: []string{}, Steps: []sampleStep{}, Set: []sampleName{}, Tools: []sampleTool{},
			Labels: map[string]string{}, Headers: map[string][]string{}, Box: &sampleStep{},
		}, `{}`},
		"empty is present where it is tri-state": {sample{
			Note: new(""), Approval: []string{}, Env: map[string]string{}, Marked: &sampleStep{},
		}, `{"approval":[],"env":{},"marked":{},"note":""}`},
		"zero behind a pointer is present": {sample{
			Choice: new(bool), Limit: new(int64), Pause: &metav1.Duration{},
		}, `{"choice":false,"limit":0,"pause":"0s"}`},
		"elements are present": {sample{
			Order: []string{""}, Steps: []sampleStep{{}}, Set: []sampleName{""}, Tools: []sampleTool{{}},
			Labels: map[string]string{"": ""}, Headers: map[string][]string{"h": nil},
			Args: map[string]apiextensionsv1.JSON{"a": {}},
		}, `{"args":{"a":null},"headers":{"h":[]},"labels":{"":""},"order":[""],"set":[""],"steps":[{}],"tools":[{}]}`},
		"fields in the order of their names": {sample{
			SampleMeta: SampleMeta{Kind: "k"}, Text: "t", Name: "n", On: true, Count: -1, Small: 255, Weight: 1e21,
			Choice: new(true), Limit: new(int64(math.MinInt64)), Label: new("l"),
			Wait: metav1.Duration{Duration: time.Minute}, Nested: sampleStep{Wait: math.MaxInt64},
		}, `{"choice":true,"count":-1,"kind":"k","label":"l","limit":-9223372036854775808,"name":"n",` +
			`"nested":{"wait":9223372036854775807},"on":true,"small":255,"text":"t","wait":"1m0s","weight":1e+21}`},
		"integral floats are integers":      {sample{Weight: 3}, `{"weight":3}`},
		"negative zero is zero, so absent":  {sample{Weight: math.Copysign(0, -1)}, `{}`},
		"ordered lists keep order and each": {sample{Order: []string{"b", "a", "b"}}, `{"order":["b","a","b"]}`},
		"sets do not":                       {sample{Set: []sampleName{"b", "a", "b"}}, `{"set":["a","b"]}`},
		"keyed lists are sorted by key": {sample{Tools: []sampleTool{
			{Name: "b", Uses: []string{"y", "x"}}, {Name: "", Source: "s"}, {Name: "a", Uses: []string{"z"}},
		}}, `{"tools":[{"source":"s"},{"name":"a","uses":["z"]},{"name":"b","uses":["x","y"]}]}`},
		"lists in maps": {sample{Headers: map[string][]string{"b": {"2", "1"}, "a": {""}}}, `{"headers":{"a":[""],"b":["2","1"]}}`},
		"maps by UTF-16 units": {
			sample{Labels: map[string]string{"\ufb33": "1", "\U0001f600": "2", "a": "3", "\"": "4"}},
			`{"labels":{"\"":"4","a":"3","` + "\U0001f600" + `":"2","` + "\ufb33" + `":"1"}}`,
		},
		"free-form parts are in canonical form": {
			sample{Schema: new(freeJSON(` {"b": [2.0, 1], "a": null}`)), Body: freeJSON(`""`), Raw: json.RawMessage(`"\u0041"`)},
			`{"body":"","raw":"A","schema":{"a":null,"b":[2,1]}}`,
		},
		"free-form parts that are null are absent": {
			sample{Schema: new(freeJSON(`null`)), Body: freeJSON(` null `), Raw: json.RawMessage(`null`)},
			`{}`,
		},
		"excluded": {sample{Secret: "s", Hidden: "h"}, `{}`},
		"text is not changed here": {
			sample{Text: "a\r\n", Texts: map[string]string{"t": "\r"}}, `{"text":"a\r\n","texts":{"t":"\r"}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, v := range []any{test.input, &test.input} {
				got, err := Typed(v)
				if err != nil || string(got) != test.want {
					t.Errorf("%T:\ngot  %s, %v\nwant %s", v, got, err, test.want)
				}
			}
			if again, err := JSON([]byte(test.want)); err != nil || string(again) != test.want {
				t.Errorf("not a fixed point of JSON: %s, %v", again, err)
			}
		})
	}
}

func TestTypedRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	tests := map[string]struct {
		input any
		rule  Rule
		path  string
	}{
		"not UTF-8":                 {sample{Steps: []sampleStep{{}, {Do: "\xff"}}}, RuleInvalidUTF8, "/steps/1/do"},
		"not UTF-8 in a set":        {sample{Set: []sampleName{"b", "a", "\xff"}}, RuleInvalidUTF8, "/set/2"},
		"a key that is not UTF-8":   {sample{Labels: map[string]string{"\xff": ""}}, RuleInvalidUTF8, "/labels/\xff"},
		"a value that is not UTF-8": {sample{Labels: map[string]string{"a/b": "\xff"}}, RuleInvalidUTF8, "/labels/a~1b"},
		"NaN":                       {sample{Weight: math.NaN()}, RuleNumberRange, "/weight"},
		"infinity":                  {sample{Weight: math.Inf(-1)}, RuleNumberRange, "/weight"},
		"a key of a keyed list twice": {
			sample{Tools: []sampleTool{{Name: "b"}, {Name: "a"}, {Name: "b"}}}, RuleDuplicateKey, "/tools/2",
		},
		"bad free-form JSON": {
			sample{Tools: []sampleTool{{Name: "b"}}, Args: map[string]apiextensionsv1.JSON{"x": freeJSON(`{"a":[{"k":1,"k":1}]}`)}},
			RuleDuplicateKey, "/args/x/a/0/k",
		},
		"no JSON":                             {sample{Raw: json.RawMessage{}}, RuleSyntax, "/raw"},
		"depth counts from the outside":       {sample{Schema: new(freeJSON(deep))}, RuleTooDeep, "/schema" + strings.Repeat("/0", MaxDepth-1)},
		"too large":                           {sample{Order: []string{strings.Repeat("x", MaxBytes)}}, RuleTooLarge, ""},
		"MarshalJSON fails":                   {struct{ F failing }{failing{true}}, RuleMarshal, "/F"},
		"nil":                                 {nil, RuleType, ""},
		"a nil pointer":                       {(*sample)(nil), RuleType, ""},
		"a list alone":                        {[]string{"a"}, RuleType, ""},
		"a type that has its own MarshalJSON": {freeJSON(`1`), RuleType, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Typed(test.input)
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("got %s, %v, want %s", got, err, test.rule)
			}
			if refusal.Rule != test.rule || refusal.Path != test.path {
				t.Errorf("got %q %s, want %q %s: %v", refusal.Path, refusal.Rule, test.path, test.rule, err)
			}
		})
	}
}

type failing struct{ On bool }

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

// Encoders and plans are shared between goroutines.
func TestTypedConcurrently(t *testing.T) {
	type fresh struct { // has no plan yet
		Sample sample
	}
	v := fresh{sample{Text: "t", Set: []sampleName{"b", "a"}, Labels: map[string]string{"b": "", "a": ""}}}
	const want = `{"Sample":{"labels":{"a":"","b":""},"set":["a","b"],"text":"t"}}`
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if got, err := Typed(&v); err != nil || string(got) != want {
					t.Errorf("got %s, %v", got, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// A stored body is verified by JSON, without its type.
func TestWhatTypedWritesJSONReads(t *testing.T) {
	inner := MaxDepth - 1
	v := sample{Schema: new(freeJSON(strings.Repeat("[", inner) + strings.Repeat("]", inner)))}
	typed, err := Typed(v)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := JSON(typed); err != nil || string(again) != string(typed) {
		t.Errorf("got %s, %v", again, err)
	}
}
