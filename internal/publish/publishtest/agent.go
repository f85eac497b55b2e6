// SPDX-License-Identifier: Apache-2.0

package publishtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Agent is the content of a Spec.
type Agent struct{ spec *value }

// Function is the name of the function that Agents use. It must be registered
// where they are published.
const Function = "lookup_weather"

// New makes a valid agent. Equal random numbers make equal agents.
func New(r *rand.Rand) *Agent {
	g := generator{r}
	grants := g.grants()
	skills := g.list(keyed, 3, func(i int) *value { return g.skill(fmt.Sprintf("skill-%d", i)) })
	tools := g.list(keyed, 4, g.tool)
	builtins := g.subset("ask_user", "wait_webhook")
	sandbox := g.someOf(boolean)
	if needsSandbox(tools) || chance(r, 3) {
		sandbox.truth = true
		sandbox.change = nil
		if chance(r, 2) {
			builtins.elements = append(builtins.elements, &value{shape: word, text: "run_code"})
		}
	}
	return &Agent{&value{shape: object, members: []member{
		{key: "instructions", value: g.text()},
		{key: "models", value: g.atLeastOne(g.list(ordered, 3, g.model), g.model)},
		list("tools", tools),
		list("mcp", grants),
		list("builtins", builtins),
		list("skills", skills),
		list("subagents", g.list(keyed, 2, func(i int) *value { return g.subagent(i, tools, grants, skills) })),
		list("schedules", g.list(keyed, 2, g.schedule)),
		list("channels", g.list(keyed, 2, func(i int) *value {
			return &value{shape: object, members: []member{
				{key: "name", value: g.name("channel", i)}, {key: "kind", value: &value{shape: word, text: "Webhook"}},
			}}
		})),
		g.workflow(tools, builtins),
		{key: "sandbox", value: &value{shape: object, members: []member{
			{key: "enabled", value: sandbox, byDefault: &value{shape: boolean}},
		}}, byDefault: &value{shape: object, members: []member{{key: "enabled", byDefault: &value{shape: boolean}}}}},
		{key: "limits", value: &value{shape: object, members: []member{
			{key: "steps", value: g.integer(1, 500), byDefault: &value{shape: integer, number: 32}},
			{key: "deadline", value: g.duration(168 * 3600), byDefault: &value{shape: duration, number: 3600}},
			{key: "failureStreak", value: g.integer(1, 20), byDefault: &value{shape: integer, number: 5}},
		}}},
	}}}
}

type generator struct{ *rand.Rand }

// list is a member that is absent when it is empty.
func list(key string, v *value) member {
	m := member{key: key, empty: []*value{{shape: v.shape}}}
	if len(v.elements) > 0 {
		m.value = v
	}
	return m
}

func (g generator) list(s shape, most int, element func(int) *value) *value {
	v := &value{shape: s}
	for i := range g.IntN(most + 1) {
		v.elements = append(v.elements, element(i))
	}
	return v
}

func (g generator) atLeastOne(v *value, element func(int) *value) *value {
	if len(v.elements) == 0 {
		v.elements = append(v.elements, element(0))
	}
	if v.shape == ordered {
		v.change = reorder
	}
	return v
}

func (g generator) subset(names ...string) *value {
	v := &value{shape: set}
	for _, name := range names {
		if chance(g.Rand, 2) {
			v.elements = append(v.elements, &value{shape: word, text: name})
		}
	}
	return v
}

func (g generator) someOf(s shape) *value { return &value{shape: s, change: changeScalar} }

// name is one that others may refer to, so it does not change by itself.
func (g generator) name(prefix string, i int) *value {
	return &value{shape: word, text: fmt.Sprintf("%s-%d", prefix, i)}
}

var lines = []string{
	"You help.", "  indented", "trailing  ", "", "# Not a comment", "- item: [a, b]", "\tTabs", `"quotes" and 'quotes'`, "ünïcödé 🌍",
	"`code [[skill:none]]`", "key: value", "---", "yes", "null", "1e3", "{{x}}", "\\escape", "a\u2028b", "~",
}

func (g generator) text() *value {
	words := "Text"
	for range g.IntN(4) {
		words += pick(g.Rand, "\n", "\n", " ") + pick(g.Rand, lines...)
	}
	for len(words) > 0 && words[len(words)-1] == '\n' {
		words = words[:len(words)-1]
	}
	return &value{shape: text, text: words, change: changeText}
}

func (g generator) word(from ...string) *value {
	return &value{shape: word, text: pick(g.Rand, from...), change: func(r *rand.Rand, v *value) {
		v.text = pick(r, slices.DeleteFunc(slices.Clone(from), func(s string) bool { return s == v.text })...)
	}}
}

func (g generator) integer(low, high int64) *value {
	return &value{shape: integer, number: low + g.Int64N(high-low+1), change: func(_ *rand.Rand, v *value) {
		if v.number++; v.number > high {
			v.number = low
		}
	}}
}

func (g generator) duration(most int64) *value {
	return &value{shape: duration, number: 1 + g.Int64N(most), change: func(_ *rand.Rand, v *value) {
		if v.number++; v.number > most {
			v.number = 1
		}
	}}
}

// maybe is a member that may be absent, which is not the same as any value of it.
func (g generator) maybe(key string, v *value) member {
	m := member{key: key, optional: v}
	if chance(g.Rand, 2) {
		m.value = v.clone()
	}
	return m
}

func (g generator) model(int) *value {
	parameters := freeObject{}
	for key, v := range map[string]any{"temperature": pick[any](g.Rand, int64(1), 0.5, 1.25), "seed": pick[any](g.Rand, int64(7), int64(1)<<60)} {
		if chance(g.Rand, 2) {
			parameters = append(parameters, freeMember{key, v})
		}
	}
	slices.SortFunc(parameters, func(a, b freeMember) int { return int(a.key[0]) - int(b.key[0]) })
	if len(parameters) == 0 {
		parameters = freeObject{{"topP", 0.25}}
	}
	some := g.maybe("parameters", &value{shape: freeForm, free: parameters, change: func(r *rand.Rand, v *value) {
		v.free = freeObject{{"maxOutputTokens", 2 + r.Int64N(1000)}}
	}})
	some.empty = []*value{{shape: freeForm, free: freeObject{}}}
	return &value{shape: object, members: []member{
		{key: "grant", value: g.word("openai", "local", "backup")},
		{key: "model", value: g.word("gpt", "llama-3.1", "1.0", "true", "o4")},
		some,
	}}
}

func (g generator) skill(name string) *value {
	body := g.text()
	if chance(g.Rand, 3) {
		body.text += "\nSee [[skill:" + name + "]]."
	}
	return &value{shape: object, members: []member{
		{key: "name", value: &value{shape: word, text: name}}, {key: "description", value: g.text()}, {key: "body", value: body},
	}}
}

func (g generator) schedule(i int) *value {
	cron := g.word("0 9 * * *", "*/5 * * * MON-FRI", "0 0 29 2 *", "0 9 * * thu")
	cron.respell = spellBlanks
	return &value{shape: object, members: []member{
		{key: "name", value: g.name("schedule", i)},
		{key: "cron", value: cron},
		{key: "timeZone", value: g.word("Etc/UTC", "Europe/Berlin", "America/New_York"), byDefault: &value{shape: word, text: "Etc/UTC"}},
		g.maybe("input", g.text()),
	}}
}

func (g generator) subagent(i int, tools, grants, skills *value) *value {
	names := &value{shape: set}
	for _, tool := range tools.elements {
		if chance(g.Rand, 2) {
			names.elements = append(names.elements, &value{shape: word, text: tool.member("name").value.text})
		}
	}
	narrowed := &value{shape: keyed}
	for _, grant := range grants.elements {
		if chance(g.Rand, 2) {
			narrowed.elements = append(narrowed.elements, &value{shape: object, members: []member{grant.members[0]}})
		}
	}
	instructions := g.text()
	if len(skills.elements) > 0 {
		instructions.text += "\n[[skill:" + skills.elements[0].member("name").value.text + "]]"
	}
	return &value{shape: object, members: []member{
		{key: "name", value: g.name("subagent", i)},
		{key: "description", value: g.text()},
		{key: "instructions", value: instructions},
		list("tools", names),
		list("mcp", narrowed),
		list("skills", g.list(keyed, 2, func(i int) *value { return g.skill(fmt.Sprintf("own-%d", i)) })),
	}}
}
