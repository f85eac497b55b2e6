// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"testing"
)

type (
	recursive     struct{ Next *recursive }
	pointerWriter struct{}
	textKey       string
	embedded      struct{ A string }
)

func (*pointerWriter) MarshalJSON() ([]byte, error)   { return []byte("1"), nil }
func (textKey) MarshalText() (text []byte, err error) { return nil, nil }

// C9, P3: a list that does not say whether its order carries meaning, or a type
// that could hold what has no canonical form, is refused whatever its value.
func TestCheckRefuses(t *testing.T) {
	tests := map[string]struct {
		input any
		rule  Rule
		path  string
	}{
		"an undecided list":       {struct{ A []string }{}, RuleListOrder, "/A"},
		"an undecided list, deep": {struct{ A map[string]struct{ B *[]int } }{}, RuleListOrder, "/A/*/B"},
		"an undecided inner list": {struct {
			A [][]string `canonical:"ordered"`
		}{}, RuleListOrder, "/A/*"},
		"bytes": {struct{ A []byte }{}, RuleListOrder, "/A"},
		"an order for no list": {struct {
			A string `canonical:"ordered"`
		}{}, RuleTag, "/A"},
		"two orders": {struct {
			A []string `canonical:"ordered,set"`
		}{}, RuleTag, "/A"},
		"a set of objects": {struct {
			A []embedded `canonical:"set"`
		}{}, RuleTag, "/A"},
		"a key that is no field": {struct {
			A []embedded `canonical:"map=name"`
		}{}, RuleTag, "/A"},
		"a key for strings": {struct {
			A []string `canonical:"map=name"`
		}{}, RuleTag, "/A"},
		"no key": {struct {
			A []embedded `canonical:"map="`
		}{}, RuleTag, "/A"},
		"a key for a set": {struct {
			A []string `canonical:"set=A"`
		}{}, RuleTag, "/A"},
		"an unknown option": {struct {
			A []string `canonical:"sorted"`
		}{}, RuleTag, "/A"},
		"an empty tag": {struct {
			A string `canonical:""`
		}{}, RuleTag, "/A"},
		"text that is none": {struct {
			A int `canonical:"text"`
		}{}, RuleTag, "/A"},
		"free-form text": {struct {
			A json.RawMessage `canonical:"text"`
		}{}, RuleTag, "/A"},
		"three states of a bool": {struct {
			A bool `canonical:"tristate"`
		}{}, RuleTag, "/A"},
		"three states of a struct": {struct {
			A embedded `canonical:"tristate"`
		}{}, RuleTag, "/A"},
		"three states of free form": {struct {
			A json.RawMessage `canonical:"tristate"`
		}{}, RuleTag, "/A"},
		"an interface":               {struct{ A any }{}, RuleType, "/A"},
		"an interface that marshals": {struct{ A json.Marshaler }{}, RuleType, "/A"},
		"a pointer to a pointer":     {struct{ A **bool }{}, RuleType, "/A"},
		"a function":                 {struct{ A func() }{}, RuleType, "/A"},
		"a channel":                  {struct{ A chan int }{}, RuleType, "/A"},
		"a complex number":           {struct{ A complex128 }{}, RuleType, "/A"},
		"float32":                    {struct{ A float32 }{}, RuleType, "/A"},
		"uint64":                     {struct{ A uint64 }{}, RuleType, "/A"},
		"an array":                   {struct{ A [2]int }{}, RuleType, "/A"},
		"a map with number keys":     {struct{ A map[int]string }{}, RuleType, "/A"},
		"a map with text keys":       {struct{ A map[textKey]string }{}, RuleType, "/A"},
		"a list of pointers": {struct {
			A []*int `canonical:"ordered"`
		}{}, RuleType, "/A/*"},
		"a map of pointers":        {struct{ A map[string]*int }{}, RuleType, "/A/*"},
		"itself":                   {recursive{}, RuleType, "/Next"},
		"MarshalText":              {struct{ A netip.Addr }{}, RuleType, "/A"},
		"MarshalJSON of a pointer": {struct{ A pointerWriter }{}, RuleType, "/A"},
		"one name twice": {struct {
			SampleMeta
			K string `json:"kind"`
		}{}, RuleType, "/kind"},
		"a number in a string": {struct {
			A int `json:"a,string"`
		}{}, RuleType, "/a"},
		"an embedded pointer":    {struct{ *SampleMeta }{}, RuleType, "/SampleMeta"},
		"an unexported embedded": {struct{ embedded }{}, RuleType, "/embedded"},
		"no struct":              {1, RuleType, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time the types within it are known
				var refusal *Error
				if err := Check(reflect.TypeOf(test.input)); !errors.As(err, &refusal) {
					t.Fatalf("got %v, want %s", err, test.rule)
				}
				if refusal.Rule != test.rule || refusal.Path != test.path {
					t.Errorf("got %q %s, want %q %s", refusal.Path, refusal.Rule, test.path, test.rule)
				}
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	for _, v := range []any{
		sample{},
		struct{}{},
		struct {
			A func() `json:"-"`
		}{},
		struct {
			A []any `canonical:"-"`
		}{},
		struct{ a chan int }{},
		struct{ A, B embedded }{},
	} {
		if err := Check(reflect.TypeOf(v)); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}
