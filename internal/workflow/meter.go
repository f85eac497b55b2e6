// SPDX-License-Identifier: Apache-2.0

package workflow

import (
	"fmt"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

const (
	// maxWeight bounds each value that an evaluation makes. A value weighs what is
	// within it, and elementWeight; a text weighs its bytes besides.
	maxWeight     = 8 << 20
	elementWeight = 16
	// maxWork bounds what an evaluation looks at, in the same units.
	maxWork = 32 << 20
)

// meter bounds one evaluation, as the cost limit of CEL does not. That counts a call
// after it was made, and by the length of a list, whatever is in it: a short expression
// can make a text of gigabytes in one call, or compare lists whose elements are lists of
// the same lists, which takes for ever and cannot be interrupted. And counting takes
// time that grows with the square of the elements that a macro visits.
type meter struct {
	// left is the work that may still be done.
	left int64
	// weights are those of the lists and maps that were weighed. What holds one thing
	// many times is so weighed as fast as it was made.
	weights map[ref.Val]int64
}

// decorate puts the bounds around one node of a plan. Each value that a node gives
// counts as looked at, so that functions that read their arguments once are covered.
func (m *meter) decorate(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch node := node.(type) {
	case interpreter.InterpretableConstructor:
		return &literal{node, m}, nil
	case *attribute: // one that was qualified since
		return node, nil
	case interpreter.InterpretableAttribute:
		return &attribute{node, m}, nil
	case interpreter.InterpretableCall:
		if check, ok := checks[node.Function()]; ok {
			node = m.checked(node, check)
		}
		return &counted{node, m}, nil
	default: // constants, and what gives a value of the other nodes
		return node, nil
	}
}

type counted struct {
	interpreter.InterpretableV2
	meter *meter
}

// Exec is that of an interpretable of CEL.
func (c *counted) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return c.meter.look(c.InterpretableV2.Exec(frame))
}

// Eval is Exec as older callers know it.
func (c *counted) Eval(variables interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(variables))
}

// attribute is a variable, a part of one, or a choice. Plans look for its interface.
type attribute struct {
	interpreter.InterpretableAttribute
	meter *meter
}

// Exec is that of an interpretable of CEL.
func (a *attribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return a.meter.look(a.InterpretableAttribute.Exec(frame))
}

// Eval is Exec as older callers know it.
func (a *attribute) Eval(variables interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(variables))
}

// literal is a list or map that is written out.
type literal struct {
	interpreter.InterpretableConstructor
	meter *meter
}

// Exec is that of an interpretable of CEL.
func (l *literal) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := l.meter.look(l.InterpretableConstructor.Exec(frame))
	l.meter.fits(l.meter.weigh(value))
	return value
}

// Eval is Exec as older callers know it.
func (l *literal) Eval(variables interpreter.Activation) ref.Val {
	return l.Exec(interpreter.AsFrame(variables))
}

// checked is a call that is made if the check lets it.
func (m *meter) checked(node interpreter.InterpretableCall, check check) interpreter.InterpretableCall {
	operation := operations()[node.Function()]
	return interpreter.NewCall(node.ID(), node.Function(), node.OverloadID(), node.Args(), func(args ...ref.Val) ref.Val {
		made, err := check(m, args)
		if err != nil {
			return types.WrapErr(err)
		}
		result := call(operation, args)
		if made > 0 && holds(result) {
			m.weights[result] = made
		}
		return result
	})
}

func call(operation *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case operation.Operator == operators.Equals:
		return types.Equal(args[0], args[1])
	case operation.Operator == operators.NotEquals:
		return types.Bool(types.Equal(args[0], args[1]) != types.True)
	case operation.OperandTrait != 0 && !args[0].Type().HasTrait(operation.OperandTrait):
		return types.MaybeNoSuchOverloadErr(args[0])
	case len(args) == 2 && operation.Binary != nil:
		return operation.Binary(args[0], args[1])
	case operation.Function != nil:
		return operation.Function(args...)
	default:
		return types.NoSuchOverloadErr()
	}
}

// look counts a value as looked at, less what is within it.
func (m *meter) look(value ref.Val) ref.Val {
	work := int64(elementWeight)
	if !holds(value) {
		work = m.weigh(value)
	}
	m.spend(work)
	return value
}

// spend takes work off what is left. It ends the evaluation where there is none.
func (m *meter) spend(work int64) {
	if m.left -= min(work, m.left+1); m.left < 0 {
		stop("it looks at too much: more than %d bytes, where an element counts as %d", maxWork, elementWeight)
	}
}

// fits ends the evaluation where a value of that weight would be made.
func (m *meter) fits(weight int64) {
	if weight > maxWeight {
		stop("it makes a value that is too large: more than %d bytes, where an element counts as %d", maxWeight, elementWeight)
	}
}

// stop ends the evaluation, as CEL's own limit does. An error would not: a macro goes on
// after one.
func stop(format string, args ...any) {
	panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: fmt.Sprintf(format, args...)})
}

// weigh gives the weight of a value, or one beyond maxWeight.
func (m *meter) weigh(value ref.Val) int64 {
	switch value := value.(type) {
	case types.String:
		return elementWeight + int64(len(value))
	case types.Bytes:
		return elementWeight + int64(len(value))
	case *types.Optional:
		if value.HasValue() {
			return elementWeight + m.weigh(value.GetValue())
		}
	case traits.Lister, traits.Mapper:
		return m.weighAll(value)
	}
	return elementWeight
}

func (m *meter) weighAll(value ref.Val) int64 {
	if known, ok := m.weights[value]; ok {
		return known
	}
	weight := int64(elementWeight)
	object, isMap := value.(traits.Mapper)
	for it := value.(traits.Iterable).Iterator(); it.HasNext() == types.True && weight <= maxWeight; {
		m.spend(elementWeight)
		element := it.Next()
		weight += m.weigh(element)
		if isMap {
			weight += m.weigh(object.Get(element))
		}
	}
	m.weights[value] = weight
	return weight
}

// holds says whether there are values within a value.
func holds(value ref.Val) bool {
	switch value.(type) {
	case traits.Lister, traits.Mapper, *types.Optional:
		return true
	default:
		return false
	}
}
