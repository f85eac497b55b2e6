// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxPatternBytes and maxPatternSize bound one pattern: its text, and what it
	// is compiled to.
	maxPatternBytes = 1 << 10
	maxPatternSize  = 4 << 10
	// The same for all the different patterns of a schema, and their number.
	maxPatterns      = 256
	maxPatternsBytes = 16 << 10
	maxPatternsSize  = 32 << 10

	// classRunesPerUnit weighs the bounds of a character class against instructions.
	classRunesPerUnit = 64
	// categoryBytes is what a Unicode category counts beside its text, as the parser
	// copies its ranges.
	categoryBytes = 64
)

// foldsCase finds the flag i. With it the parser visits every character of a range.
var foldsCase = regexp.MustCompile(`\(\?[imsU]*i`)

// PatternError says why a regular expression is not compiled though it may be valid.
type PatternError struct{ Detail string }

func (e *PatternError) Error() string { return e.Detail }

// Pattern is a compiled regular expression.
type Pattern struct {
	*regexp.Regexp
	// Size is about the number of its instructions: a match takes no more steps
	// than that for each byte.
	Size int
}

// Patterns compiles the regular expressions of one schema within bounds, as a
// short one with counted repetitions compiles to a large program. The zero value
// is ready; it is for one goroutine.
type Patterns struct {
	compiled    map[string]*Pattern
	bytes, size int
}

// Compile gives a *PatternError for a pattern beyond the bounds, and that of
// regexp/syntax for one that Go does not read.
func (p *Patterns) Compile(text string) (*Pattern, error) {
	if pattern, ok := p.compiled[text]; ok {
		return pattern, nil
	}
	if len(text) > maxPatternBytes {
		return nil, &PatternError{fmt.Sprintf("the pattern is too large: it has %d bytes, and the limit is %d", len(text), maxPatternBytes)}
	}
	if foldsCase.MatchString(text) && (!ascii(text) || strings.Contains(text, `\x{`)) {
		return nil, &PatternError{"the pattern is too costly: with the flag i it may have no characters beyond ASCII"}
	}
	// What is not read counts too: it has been parsed.
	categories := strings.Count(text, `\p`) + strings.Count(text, `\P`)
	if p.bytes += len(text) + categories*categoryBytes; p.bytes > maxPatternsBytes || len(p.compiled) == maxPatterns {
		return nil, &PatternError{fmt.Sprintf("the patterns are too many: the limit is %d, with %d bytes in all", maxPatterns, maxPatternsBytes)}
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := programSize(parsed)
	if size > maxPatternSize {
		return nil, &PatternError{fmt.Sprintf("the pattern is too large: with its repetitions and classes it takes about %d instructions, and the limit is %d", size, maxPatternSize)}
	}
	if p.size+size > maxPatternsSize {
		return nil, &PatternError{fmt.Sprintf("the patterns are too large: all together they may take %d instructions", maxPatternsSize)}
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	if p.compiled == nil {
		p.compiled = map[string]*Pattern{}
	}
	p.size += size
	p.compiled[text] = &Pattern{Regexp: expression, Size: size}
	return p.compiled[text], nil
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// programSize estimates, from above, what an expression is compiled to. Its depth
// and its repetitions are bounded by the parser.
func programSize(e *syntax.Regexp) int {
	size := len(e.Rune) / classRunesPerUnit
	for _, sub := range e.Sub {
		size += programSize(sub)
	}
	switch e.Op {
	case syntax.OpLiteral:
		return max(1, len(e.Rune))
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return size + 2
	case syntax.OpAlternate:
		return size + len(e.Sub)
	case syntax.OpConcat:
		return size
	case syntax.OpRepeat:
		return (size + 1) * max(e.Min, e.Max, 1)
	default: // a class, an assertion, or nothing
		return size + 1
	}
}

// patternEngine is what the compiler of schemas compiles patterns with.
type patternEngine struct {
	patterns *Patterns
	refused  error // the first that is beyond the bounds
}

// compile also serves values of the format regex, once schema is done: from many
// goroutines, and each on its own.
func (e *patternEngine) compile(text string) (jsonschema.Regexp, error) {
	if e.patterns == nil {
		return new(Patterns).Compile(text)
	}
	pattern, err := e.patterns.Compile(text)
	if refused := (*PatternError)(nil); e.refused == nil && errors.As(err, &refused) {
		e.refused = fmt.Errorf("%q: %w", bounded(text, 64), err)
	}
	return pattern, err
}

// explain words an error of the compiler. It would quote a refused pattern in full
// before it says why.
func (e *patternEngine) explain(err error) string {
	if e.refused != nil {
		return e.refused.Error()
	}
	return strings.ReplaceAll(err.Error(), location, "")
}
