// SPDX-License-Identifier: Apache-2.0

package publishtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

func (g generator) tool(i int) *value {
	kind := pick(g.Rand, "Code", "HTTP", "HTTP", "Function")
	method := pick(g.Rand, "GET", "HEAD", "POST", "PUT", "DELETE")
	idempotent := g.maybe("idempotent", &value{shape: boolean, truth: chance(g.Rand, 2), change: changeScalar})
	attempts := member{key: "attempts", byDefault: &value{shape: integer, number: 1}}
	reads := kind == "HTTP" && (method == "GET" || method == "HEAD")
	if chance(g.Rand, 2) && (reads && idempotent.value == nil || idempotent.value != nil) {
		attempts.value = g.integer(2, 5)
		idempotent.optional = nil
		if idempotent.value != nil {
			idempotent.value.truth, idempotent.value.change = true, nil
		}
	}
	v := &value{shape: object, members: []member{
		{key: "name", value: &value{shape: word, text: fmt.Sprintf("tool_%d", i)}},
		{key: "kind", value: &value{shape: word, text: kind}},
		g.maybe("description", g.text()),
		g.maybe("inputSchema", g.schema()),
		g.maybe("annotations", g.annotations()),
		idempotent,
		attempts,
		{key: "timeout", value: g.duration(600), byDefault: &value{shape: duration, number: 30}},
	}}
	if chance(g.Rand, 2) {
		v.member("timeout").value = nil
	}
	switch kind {
	case "Code":
		v.members = append(v.members, member{key: "code", value: &value{shape: object, members: []member{
			{key: "language", byDefault: &value{shape: word, text: "Starlark"}}, {key: "source", value: g.program()},
		}}})
	case "HTTP":
		v.members = append(v.members, member{key: "http", value: g.request(method)})
	default:
		v.members = append(v.members, member{key: "function", value: &value{shape: object, members: []member{
			{key: "name", value: &value{shape: word, text: Function}},
		}}})
	}
	return v
}

// program takes any arguments; its free text is in comments.
func (g generator) program() *value {
	source := "def main(**arguments):\n  return arguments\n# " + strings.ReplaceAll(g.text().text, "\n", "\n# ")
	return &value{shape: text, text: source, change: func(r *rand.Rand, v *value) {
		v.text = pick(r, "\n"+v.text, "# A\n"+v.text, v.text+"\n# more", strings.Replace(v.text, "  return", "   return", 1))
	}}
}

func needsSandbox(tools *value) bool {
	for _, tool := range tools.elements {
		if tool.member("kind").value.text == "Code" {
			return true
		}
	}
	return false
}

func (g generator) request(method string) *value {
	v := &value{shape: object, members: []member{
		{key: "grant", value: g.word("shop", "crm")},
		{key: "method", value: &value{shape: word, text: method}},
		{key: "url", value: g.word("https://shop.example/orders", "https://shop.example/orders/", "http://localhost:8080/?q=1")},
		g.maybe("query", g.strings("page", "a.b", "yes")),
		g.maybe("headers", g.headers()),
	}}
	if method != "GET" && method != "HEAD" && chance(g.Rand, 2) {
		v.members = append(v.members, member{key: "body", value: &value{shape: freeForm, free: g.freeForm(3), change: changeFree}})
	}
	return v
}

// strings is a map of strings: an object, whose members are always there.
func (g generator) strings(keys ...string) *value {
	v := &value{shape: object}
	for _, key := range keys[:1+g.IntN(len(keys))] {
		v.members = append(v.members, member{key: key, value: g.word("1", "true", "a: b", " ", "~")})
	}
	return v
}

func (g generator) headers() *value {
	v := g.strings("Accept", "X-A", "x-b")
	v.respell = spellNames
	return v
}

func (g generator) annotations() *value {
	v := &value{shape: object, members: []member{{key: "title", value: g.word("Find", "Refund")}}}
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		v.members = append(v.members, g.maybe(hint, &value{shape: boolean, truth: chance(g.Rand, 2), change: changeScalar}))
	}
	return v
}

func (g generator) grants() *value {
	return g.list(keyed, 3, func(i int) *value {
		return &value{shape: object, members: []member{
			{key: "grant", value: g.name("server", i)},
			list("tools", g.names("read_file", "list", "Create Issue")),
			list("enable", g.names("@all", "@read-only", "search")),
			list("disable", g.names("@read-only", "delete", "wipe")),
			list("preload", g.names("@all", "read_file")),
		}}
	})
}

// names is a set that may be any part of what it is drawn from.
func (g generator) names(from ...string) *value {
	v := g.subset(from...)
	v.change = func(r *rand.Rand, v *value) {
		if len(v.elements) > 1 && chance(r, 2) {
			v.elements = v.elements[1:]
			return
		}
		v.elements = append(v.elements, &value{shape: word, text: "another"})
	}
	return v
}

func (g generator) schema() *value {
	return &value{shape: freeForm, change: changeFree, free: freeObject{
		{"type", "object"},
		{"properties", freeObject{
			{"id", freeObject{{"type", "string"}, {"maxLength", pick[any](g.Rand, int64(1), int64(64), int64(1)<<53+1)}}},
			{"amount", freeObject{{"type", "number"}, {"maximum", pick[any](g.Rand, 0.1, 1e21, 2.5e-7, int64(100))}}},
		}},
		{"required", []any{"id", "amount"}},
		{"default", g.freeForm(3)},
	}}
}

// freeForm is any JSON of at most some depth.
func (g generator) freeForm(depth int) any {
	if depth > 0 && chance(g.Rand, 2) {
		if chance(g.Rand, 2) {
			list := make([]any, g.IntN(4))
			for i := range list {
				list[i] = g.freeForm(depth - 1)
			}
			return list
		}
		object := freeObject{}
		for _, key := range []string{"a", "Z", "null", "1", "é", "😀", "a.b", ""}[:g.IntN(8)] {
			object = append(object, freeMember{key, g.freeForm(depth - 1)})
		}
		return object
	}
	return pick[any](g.Rand, nil, true, false, "", "text\r\n", "1", int64(0), int64(1), int64(-7), int64(1)<<62+1, 0.5, -1e-7, 1e300)
}
