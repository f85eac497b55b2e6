// SPDX-License-Identifier: Apache-2.0

package workflow

import (
	"math"
	"strings"
	"sync"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"remit.dev/remit/internal/schema"
)

// formatted is the most that format writes for one element, beside its text.
const formatted = 512

// check is what a function is asked before it is called. It gives the weight of the
// list or map that the function makes, or 0. Arguments of a wrong type are left to the
// function.
type check func(m *meter, args []ref.Val) (made int64, err error)

// checks are those of the functions that look at more than CEL counts, or make more.
var checks = map[string]check{
	operators.Add:       adds,
	operators.Equals:    compares,
	operators.NotEquals: compares,
	operators.In:        contains,
	"cel.@mapInsert":    inserts,
	"find":              matches,
	"format":            formats,
	"indexOf":           searches,
	"join":              joins,
	"lastIndexOf":       searches,
	"matches":           matches,
	"replace":           replaces,
}

// operations are those functions themselves.
var operations = sync.OnceValue(func() map[string]*functions.Overload {
	declared := base().Functions()
	byName := make(map[string]*functions.Overload, len(checks))
	for name := range checks {
		bindings, err := declared[name].Bindings()
		if err != nil {
			panic(err) // the declarations are constants
		}
		for _, binding := range bindings {
			if binding.Operator == name {
				byName[name] = binding
			}
		}
	}
	return byName
})

// adds: lists are not copied, so that one of any length is made in no time.
func adds(m *meter, args []ref.Val) (made int64, err error) {
	made = m.weigh(args[0]) + m.weigh(args[1])
	m.fits(made)
	return made, nil
}

func inserts(m *meter, args []ref.Val) (made int64, err error) {
	for _, arg := range args {
		made += m.weigh(arg)
	}
	m.fits(made)
	return made, nil
}

func compares(m *meter, args []ref.Val) (int64, error) {
	if holds(args[0]) && holds(args[1]) {
		m.spend(m.weigh(args[0]) + m.weigh(args[1]))
	}
	return 0, nil
}

func contains(m *meter, args []ref.Val) (int64, error) {
	if _, isList := args[1].(traits.Lister); isList {
		m.spend(m.weigh(args[1]))
	}
	return 0, nil
}

// matches: a regular expression takes at most as many steps for each byte as its
// program has instructions.
func matches(m *meter, args []ref.Val) (int64, error) {
	text, isText := args[0].(types.String)
	source, areTexts := args[1].(types.String)
	if !isText || !areTexts {
		return 0, nil
	}
	pattern, err := new(schema.Patterns).Compile(string(source))
	if err != nil {
		return 0, err
	}
	m.spend(product(int64(len(text))+1, int64(pattern.Size)))
	return 0, nil
}

// searches: each place of the text may be compared with all of what is searched.
func searches(m *meter, args []ref.Val) (int64, error) {
	text, isText := args[0].(types.String)
	part, areTexts := args[1].(types.String)
	if isText && areTexts {
		m.spend(product(int64(len(text)), int64(len(part))))
	}
	return 0, nil
}

func replaces(m *meter, args []ref.Val) (int64, error) {
	text, isText := args[0].(types.String)
	old, isOld := args[1].(types.String)
	with, isWith := args[2].(types.String)
	if isText && isOld && isWith {
		found := int64(strings.Count(string(text), string(old)))
		m.fits(int64(len(text)) + product(found, int64(len(with))))
	}
	return 0, nil
}

func joins(m *meter, args []ref.Val) (int64, error) {
	if list, ok := args[0].(traits.Lister); ok {
		weight := m.weigh(list)
		for _, separator := range args[1:] {
			weight += product(length(list), m.weigh(separator))
		}
		m.fits(weight)
	}
	return 0, nil
}

func formats(m *meter, args []ref.Val) (int64, error) {
	if list, ok := args[1].(traits.Lister); ok {
		m.fits(m.weigh(args[0]) + m.weigh(list) + product(length(list), formatted))
	}
	return 0, nil
}

func length(list traits.Lister) int64 {
	size, _ := list.Size().(types.Int)
	return int64(size)
}

// product is that of two numbers that are not negative, or about the largest there is.
func product(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/2/b {
		return math.MaxInt64 / 2
	}
	return a * b
}
