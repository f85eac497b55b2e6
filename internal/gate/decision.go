// SPDX-License-Identifier: Apache-2.0

package gate

// Verdict is what is to become of a call. The zero value is a denial, so that
// whoever forgets to answer has said no.
type Verdict int

// The verdicts.
const (
	// Deny refuses the call.
	Deny Verdict = iota
	// Allow lets it be made.
	Allow
	// Ask lets it wait for a person.
	Ask
)

// Decision is a verdict with its reason, which the model reads of a denial and the
// person of a question.
type Decision struct {
	Verdict Verdict
	Reason  string
}

// Allowed lets a call be made.
func Allowed() Decision { return Decision{Verdict: Allow} }

// Asked lets a call wait for a person, who reads the reason.
func Asked(reason string) Decision { return Decision{Verdict: Ask, Reason: reason} }

// Denied refuses a call; the model reads the reason.
func Denied(reason string) Decision { return Decision{Verdict: Deny, Reason: reason} }

// Decide joins what policy says with why the approval lists want a person, or
// nothing. A denial beats all, and no list takes back a question of policy.
func Decide(policy Decision, required string) Decision {
	if policy.Verdict == Ask && policy.Reason == "" {
		return Asked("policy asks") // an empty reason would read as none
	}
	if policy.Verdict == Allow && required != "" {
		return Asked(required)
	}
	return policy
}
