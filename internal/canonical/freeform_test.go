// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Expected values are from RFC 8785, 3.2.2 and 3.2.4.
func TestJSONFollowsRFC8785(t *testing.T) {
	input := `{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`
	want := `{"literals":[null,true,false],` +
		`"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
		`"string":"€$\u000f\nA'B\"\\\\\"/"}`
	got, err := JSON([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONKeepsNothingOfItsInput(t *testing.T) {
	input := []byte(`{"a":"b"}`)
	first, err := JSON(input)
	if err != nil {
		t.Fatal(err)
	}
	copy(input, `[1,2,3,4]`)
	if _, err := JSON(input); err != nil {
		t.Fatal(err)
	}
	if string(first) != `{"a":"b"}` {
		t.Errorf("the result changed to %s", first)
	}
}

func TestJSONIsBounded(t *testing.T) {
	tests := map[string]struct {
		input string
		rule  Rule
	}{
		"input too large":  {`"` + strings.Repeat("x", MaxBytes) + `"`, RuleTooLarge},
		"output too large": {`[` + strings.Repeat("1e20,", MaxBytes/10) + `1]`, RuleTooLarge},
		"too deep":         {strings.Repeat(`{"a":[`, MaxDepth), RuleTooDeep},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := JSON([]byte(test.input))
			if got := ruleOf(err); got != test.rule {
				t.Errorf("got %v, want %s", err, test.rule)
			}
		})
	}
	if _, err := JSON([]byte(`"` + strings.Repeat("x", MaxBytes-2) + `"`)); err != nil {
		t.Errorf("a string of %d bytes: %v", MaxBytes, err)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	for _, input := range []string{
		fmt.Sprintf(`{%q:1,%q:2}`, long, long),
		fmt.Sprintf(`{%q:{%q:]}}`, long, long),
		`1` + strings.Repeat("0", 10_000),
		"\"" + strings.Repeat("x", 10_000) + "\xff\"",
	} {
		_, err := JSON([]byte(input))
		if err == nil {
			t.Errorf("%.20s…: no error", input)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%.20s…: the error has %d bytes", input, len(err.Error()))
		}
	}
}

func TestErrorNamesPathAndRule(t *testing.T) {
	_, err := JSON([]byte(`{"a~/b":[0,{"k":1,"\u006b":2}]}`))
	want := `/a~0~1b/1/k: the key is there more than once; keep one (duplicate_key)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// P4.
func TestCheckTextReportsEachWithItsPath(t *testing.T) {
	err := CheckText([]byte(`{"b":{"x":[1.0,9007199254740993.0]},"a":9007199254740993,"c/d":1e-400,"e":[0.1]}`))
	want := []Error{
		{"/b/x/1", RuleNumberRounded, "9007199254740993.0 would be stored as 9007199254740992; write that number, or a string"},
		{"/c~1d", RuleNumberRounded, "1e-400 would be stored as 0; write that number, or a string"},
	}
	if diff := cmp.Diff(want, errorsOf(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := CheckText([]byte(`[1e0,-0.0,1.50,12345678901234567890]`)); ruleOf(err) != RuleNumberRounded {
		t.Errorf("got %v, want %s", err, RuleNumberRounded)
	}
	if err := CheckText([]byte(`[1e0,-0.0,1.50,9223372036854775807,1e300]`)); err != nil {
		t.Errorf("got %v", err)
	}
}

// All of it at once, each with its path.
func TestCheckTextReportsOtherErrorsToo(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + `1e400` + strings.Repeat("]", MaxDepth+1)
	text := `{"a":0.1000000000000000055,"b":[1e400,{"k":1,"\u006b":2,"k":3}],"c":"\ud800","d":"` + "\xff" + `","\udc00":0,"e":` + deep + `,"f":x}`
	var got []string
	for _, e := range errorsOf(t, CheckText([]byte(text))) {
		got = append(got, e.Path+" "+string(e.Rule))
	}
	want := []string{
		"/a number_rounded", "/b/0 number_range", "/b/1/k duplicate_key", "/b/1/k duplicate_key", "/c lone_surrogate", "/d invalid_utf8",
		" lone_surrogate", "/e" + strings.Repeat("/0", MaxDepth+1) + " number_range", "/f syntax",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckTextIsBounded(t *testing.T) {
	long := `{"` + strings.Repeat("x", 1000) + `":`
	for _, err := range errorsOf(t, CheckText([]byte(strings.Repeat(long, 2000)+`[`+strings.Repeat("1e-400,", MaxFound)+`0]`))) {
		if len(err.Path) > 2*maxSteps*maxExcerpt {
			t.Fatalf("a path of %d bytes", len(err.Path))
		}
	}
	err := CheckText([]byte(`[` + strings.Repeat("1e-400,", 10_000) + `0]`))
	if got := len(errorsOf(t, err)); got != MaxFound {
		t.Errorf("%d findings, want %d", got, MaxFound)
	}
}

// errorsOf takes a joined error apart.
func errorsOf(t *testing.T, err error) []Error {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("got %v, want a joined error", err)
	}
	var all []Error
	for _, err := range joined.Unwrap() {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("got a %T", err)
		}
		all = append(all, *e)
	}
	return all
}

func ruleOf(err error) Rule {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Rule
}
