// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

func TestSkillLinks(t *testing.T) {
	dangling := func(path, name, line string) finding {
		return finding{
			Rule: "dangling_skill_link", Path: path,
			Message: "line " + line + ` links to "[[skill:` + name + `]]", and there is no skill of this name: correct the link, or add the skill`,
		}
	}
	withSkills := func(instructions string, skills ...v1alpha1.Skill) func(*agent) {
		return func(a *agent) { a.Instructions, a.Skills = instructions, skills }
	}
	withSubagent := func(instructions string, skills ...v1alpha1.Skill) func(*agent) {
		return func(a *agent) {
			a.Skills = []v1alpha1.Skill{skill("pay", "Parent's.")}
			a.Subagents = []v1alpha1.Subagent{subagent("check", func(s *v1alpha1.Subagent) {
				s.Instructions, s.Skills = instructions, skills
			})}
		}
	}
	runRuleTests(t, map[string]ruleTest{
		"B8 in the instructions": {
			breaks: withSkills("First.\n\nSee [[skill:refund]] and [[skill:pay]]."),
			want:   []finding{dangling("spec.instructions", "pay", "3"), dangling("spec.instructions", "refund", "3")},
			keeps:  withSkills("See [[skill:refund]] and [[skill:pay]].", skill("pay", "x"), skill("refund", "x")),
		},
		"B8 in a skill's body, itself and later ones included": {
			breaks: withSkills("x", skill("pay", "[[skill:pays]]")),
			want:   []finding{dangling("spec.skills[0].body", "pays", "1")},
			keeps:  withSkills("x", skill("pay", "[[skill:pay]] [[skill:refund]]"), skill("refund", "x")),
		},
		"B8 P42 in a subagent, whose skills are not its parent's": {
			breaks: func(a *agent) {
				withSubagent("x", skill("own", "[[skill:lost]]"))(a)
				a.Instructions = "[[skill:own]]"
			},
			want: []finding{
				dangling("spec.instructions", "own", "1"),
				dangling("spec.subagents[0].skills[0].body", "lost", "1"),
			},
			keeps: withSubagent("[[skill:own]] [[skill:pay]]", skill("own", "[[skill:own]] [[skill:pay]]")),
		},
		"P42 code spans and fences hold no links": {
			breaks: withSkills("`[[skill:a]]` but [[skill:b]] and ``[[skill:c]] ` [[skill:d]]``\n\n```text\n[[skill:e]]\n```\n[[skill:f]]"),
			want:   []finding{dangling("spec.instructions", "b", "1"), dangling("spec.instructions", "f", "6")},
			keeps:  withSkills("`[[skill:a]]` and\n~~~ [[skill:b]]\n[[skill:c]]\n~~~\n> ```\n> [[skill:d]]\n> ```\n- x\n\n      [[skill:e]]"),
		},
		"P42 a code span across lines": {
			breaks: withSkills("`one\n[[skill:a]]` [[skill:b]]"),
			want:   []finding{dangling("spec.instructions", "b", "2")},
			keeps:  withSkills("`one\n[[skill:a]]`"),
		},
		"P42 what only looks like code holds links": {
			// A backtick without a partner is text, and so is HTML.
			breaks: withSkills("a ` b [[skill:a]]\n\n<b>[[skill:b]]</b>\n\n- item\n  [[skill:c]]"),
			want: []finding{
				dangling("spec.instructions", "a", "1"), dangling("spec.instructions", "b", "3"), dangling("spec.instructions", "c", "6"),
			},
			keeps: withSkills("[[skill]] [skill:a] [[skill:a] [[ skill:a]]"),
		},
		"B8 a link to what can be no name": {
			breaks: withSkills("[[skill:]] [[skill:Pay Now]]"),
			want:   []finding{dangling("spec.instructions", "Pay Now", "1"), dangling("spec.instructions", "", "1")},
			keeps:  withSkills("[[skill:\n]]"),
		},
		"P2 lines are counted once line endings are normal": {
			breaks: withSkills("a\r\nb\rc [[skill:x]]"),
			want:   []finding{dangling("spec.instructions", "x", "3")},
			keeps:  withSkills("a\r\nb\rc"),
		},
	})
}

// Markdown that makes careless parsers quadratic, each as long as a text may be.
func BenchmarkSkillLinksOfHostileText(b *testing.B) {
	const limit = 65536
	for name, unit := range map[string]string{
		"brackets": "[", "images": "![", "links": "[a](", "references": "[a]: b\n", "emphasis": "*a_",
		"backticks": "` ``", "growing backticks": "` `` ``` ```` ````` ``````", "fences": "```\n~~~\n",
		"quotes": "> ", "lazy quotes": "> a\nb\n", "ordered lists": "1. ", "lists": "- * + ", "items": "- a\n", "indented": "    a\n\n",
		"tags": "<a ", "comments": "<!--", "instructions": "<?", "declarations": "<!A", "cdata": "<![CDATA[", "html blocks": "<div>\n\n",
		"autolinks": "<a:", "newlines": "\n", "escapes": "\\", "setext": "a\n", "rulers": "***\n",
	} {
		b.Run(name, func(b *testing.B) {
			spec := minimal(func(a *agent) {
				text := "[[skill:a]]\n" + strings.Repeat(unit, limit)
				a.Instructions = text[:limit]
			})
			for b.Loop() {
				publishAgent(spec)
			}
		})
	}
}
