// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"
)

// short patterns that compile to a large program are refused with the reason.
func TestLargePatternsAreRefused(t *testing.T) {
	long := strings.Repeat("0a{1000}", 2700)
	var many, large []string
	for i := range maxPatterns + 1 {
		many = append(many, fmt.Sprintf(`{"pattern":"^%d"}`, i))
		large = append(large, fmt.Sprintf(`{"pattern":"%da{900}"}`, i))
	}
	for name, test := range map[string]struct{ schema, want string }{
		"a long pattern":                   {`{"properties":{"a":{"pattern":"` + long + `"}}}`, `"0a{1000}0a`},
		"a long name":                      {`{"patternProperties":{"` + long + `":{}}}`, "the pattern is too large: it has 21600 bytes"},
		"an older draft":                   {`{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"` + long + `"}`, "the pattern is too large"},
		"repetitions side by side":         {`{"pattern":"` + strings.Repeat("a{1000}", 10) + `"}`, "the pattern is too large"},
		"repetitions within":               {`{"pattern":"((abcdefgh){30}){30}"}`, "the pattern is too large"},
		"an open repetition":               {`{"pattern":"(abcdefgh){800,}"}`, "the pattern is too large"},
		"case beyond ASCII":                {`{"pattern":"(?i)` + strings.Repeat(`[B-\\x{10FFFE}]`, 60) + `"}`, "the pattern is too costly"},
		"case beyond ASCII, as it is":      {`{"pattern":"(?si:[B-😀])"}`, "the pattern is too costly"},
		"a repeated category":              {`{"pattern":"\\pL{900}"}`, "the pattern is too large"},
		"many categories":                  {`{"pattern":"[` + strings.Repeat(`\\PL`, 300) + `]"}`, "the patterns are too many"},
		"many patterns":                    {`{"allOf":[` + strings.Join(many, ",") + `]}`, "the patterns are too many"},
		"patterns that are large together": {`{"allOf":[` + strings.Join(large, ",") + `]}`, "the patterns are too large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile([]byte(test.schema))
			var refused *CompileError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 512 {
				t.Fatalf("got %v, want a short CompileError with %q", err, test.want)
			}
		})
	}
}

// patterns as tools have them are taken.
func TestUsualPatternsAreTaken(t *testing.T) {
	same := strings.Repeat(`{"pattern":"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},`, 1000)
	for _, schema := range []string{
		`{"pattern":"^[\\s\\S]{1,1000}$"}`,
		`{"pattern":"^[\\p{L}\\p{N} ]{1,64}$"}`,
		`{"pattern":"^(25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})(\\.(25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})){3}$"}`,
		`{"pattern":"(?i)^[a-z]+-\\d\\S$"}`,
		`{"allOf":[` + same + `true]}`,
	} {
		if _, err := Compile([]byte(schema)); err != nil {
			t.Errorf("%.60s: %v", schema, err)
		}
	}
}

// The estimate is never below what Go compiles a pattern to.
func TestProgramSizeIsFromAbove(t *testing.T) {
	for _, text := range []string{
		``, `a`, `abc`, `(?i)abc`, `a*`, `a+?`, `(a|b|cd)*`, `a{3}`, `a{3,}`, `a{0,7}`, `(a{2,5}b?){4}`, `^$`, `[a-z]{9}`, `(){500}`, `(|a){20}`, `\b.{3}\B`, `(a{2,}){3}`, `(a*|b+|c?){5}`, `(?i)[a-z]k{4}`, `(a|){0,9}`, `(a{0,1}){0,1}`, `[^\x00-\x{10FFFF}]`, `((((a)))){30}`,
	} {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		const ends = 2 // every program has them
		if size := programSize(parsed); size+ends < len(program.Inst) {
			t.Errorf("%s: estimated %d, compiled %d", text, size, len(program.Inst))
		}
	}
}

// A value of the format regex is compiled within the same bounds, from several
// goroutines.
func TestPatternsAsValues(t *testing.T) {
	s, err := Compile([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, fits := range map[string]bool{`a{10}`: true, `(`: false, strings.Repeat("a{1000}", 100): false} {
		t.Run(fmt.Sprintf("%.10s", value), func(t *testing.T) {
			t.Parallel()
			if err := s.Validate([]byte(`"` + value + `"`)); (err == nil) != fits {
				t.Errorf("got %v, fits: %t", err, fits)
			}
		})
	}
}
