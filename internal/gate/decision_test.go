// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// decisions is every combination of the approval list, always and never for a tool
// "refund" of each class, and what follows where policy allows (P18, P19, F9, H30).
// The lists are: - omitted, [] empty, and others as they stand.
const decisions = `
list          always never  ReadOnly Write Destructive
-             no     no     run      ask   ask
-             no     yes    run      run   run
-             yes    no     ask      ask   ask
-             yes    yes    run      run   run
[]            no     no     run      run   run
[]            no     yes    run      run   run
[]            yes    no     ask      ask   ask
[]            yes    yes    run      run   run
@write        no     no     run      ask   run
@write        no     yes    run      run   run
@write        yes    no     ask      ask   ask
@write        yes    yes    run      run   run
@destructive  no     no     run      run   ask
@destructive  no     yes    run      run   run
@destructive  yes    no     ask      ask   ask
@destructive  yes    yes    run      run   run
@all          no     no     ask      ask   ask
@all          no     yes    run      run   run
@all          yes    no     ask      ask   ask
@all          yes    yes    run      run   run
refund        no     no     ask      ask   ask
refund        no     yes    run      run   run
refund        yes    no     ask      ask   ask
refund        yes    yes    run      run   run
other         no     no     run      run   run
other         no     yes    run      run   run
other         yes    no     ask      ask   ask
other         yes    yes    run      run   run
`

// policies is what follows of each answer of policy, where the lists let a call run
// and where they ask: a denial beats all, and never takes back no question of policy.
const policies = `
policy run  ask
allow  run  ask
ask    ask  ask
deny   deny deny
`

func TestDecide(t *testing.T) {
	outcomes := map[Verdict]string{Allow: "run", Ask: "ask", Deny: "deny"}
	answers := map[string]Decision{"allow": Allowed(), "ask": Asked("policy asks"), "deny": Denied("policy denies")}
	byPolicy := map[string]map[string]string{}
	for _, row := range rows(policies)[1:] {
		byPolicy[row[0]] = map[string]string{"run": row[1], "ask": row[2]}
	}
	checked := 0
	for _, row := range rows(decisions)[1:] {
		approval := Approval{}
		switch row[0] {
		case "-":
		case "[]":
			approval.Selectors = selectors{}
		default:
			approval.Selectors = selectors{v1alpha1.ApprovalSelector(row[0])}
		}
		if row[1] == "yes" {
			approval.Always = literals{"refund"}
		}
		if row[2] == "yes" {
			approval.Never = literals{"refund"}
		}
		for i, class := range []v1alpha1.ToolClass{readOnly, write, destructive} {
			reason, _ := approval.Requires(DefaultSelectors, "refund", class)
			for name, answer := range answers {
				want := byPolicy[name][row[3+i]]
				if got := outcomes[Decide(answer, reason).Verdict]; got != want {
					t.Errorf("list %s, always %s, never %s, class %s, policy %s: %s, want %s", row[0], row[1], row[2], class, name, got, want)
				}
				checked++
			}
		}
	}
	if want := 7 * 2 * 2 * 3 * 3; checked != want {
		t.Errorf("%d combinations, want %d", checked, want)
	}
}

// rows splits a table into its cells.
func rows(table string) [][]string {
	var rows [][]string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// TestForgottenVerdict: whoever does not answer has denied (H37).
func TestForgottenVerdict(t *testing.T) {
	if got := Decide(Decision{}, ""); got.Verdict != Deny {
		t.Errorf("got %+v", got)
	}
}
