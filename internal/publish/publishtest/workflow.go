// SPDX-License-Identifier: Apache-2.0

package publishtest

import (
	"fmt"
	"math/rand/v2"
)

// workflow calls the agent's own tools and builtins. Half of them refer to earlier
// steps, so that their order cannot change.
func (g generator) workflow(tools, builtins *value) member {
	var names []string
	for _, tool := range tools.elements {
		names = append(names, tool.member("name").value.text)
	}
	for _, builtin := range builtins.elements {
		names = append(names, builtin.text)
	}
	if len(names) == 0 || chance(g.Rand, 2) {
		return member{key: "workflow"}
	}
	linked := chance(g.Rand, 2)
	step := func(i int) *value { return g.step(i, linked, pick(g.Rand, names...)) }
	steps := g.list(ordered, 3, step)
	if len(steps.elements) == 0 {
		steps.elements = append(steps.elements, step(0))
	}
	steps.change = func(r *rand.Rand, v *value) {
		if n := len(v.elements); n > 1 && !linked {
			v.elements[0], v.elements[n-1] = v.elements[n-1], v.elements[0]
			return
		}
		added := v.elements[0].clone()
		added.member("id").value.text = "added"
		v.elements = append(v.elements, added)
	}
	return member{key: "workflow", value: &value{shape: object, members: []member{{key: "steps", value: steps}}}}
}

// step has arguments that fit the input schemas of this package.
func (g generator) step(i int, linked bool, tool string) *value {
	arguments := member{key: "arguments", value: &value{shape: freeForm, change: changeFree, free: freeObject{
		{"id", "x"}, {"amount", int64(0)}, {"default", g.freeForm(3)},
	}}}
	if chance(g.Rand, 2) {
		arguments = member{key: "argumentsExpression", value: g.expression(i, linked)}
	}
	return &value{shape: object, members: []member{
		{key: "id", value: &value{shape: word, text: fmt.Sprintf("step_%d", i)}},
		{key: "tool", value: &value{shape: word, text: tool}},
		arguments,
	}}
}

// expression is CEL; its free text is in a comment.
func (g generator) expression(i int, linked bool) *value {
	source := pick(g.Rand, "inputJSON // # not of YAML: [", `{"id": input, "amount": 0}`, "{\n  'id': input,\n\n\t'b': b'\\x00' == b'',\n}")
	if linked && i > 0 {
		source = fmt.Sprintf("{'id': steps.step_%d.text,\n 'amount': steps.step_0.json}", i-1)
	}
	return &value{shape: text, text: source, change: func(r *rand.Rand, v *value) {
		v.text = pick(r, "\n"+v.text, "// A\n"+v.text, v.text+"\n// more", v.text+" ")
	}}
}
