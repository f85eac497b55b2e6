// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

const (
	readOnly    = v1alpha1.ClassReadOnly
	write       = v1alpha1.ClassWrite
	destructive = v1alpha1.ClassDestructive
)

// verdict is what comes of a tool's annotations.
type verdict struct {
	Class      v1alpha1.ToolClass
	Idempotent bool
}

func judge(h Hints, trust v1alpha1.AnnotationTrust) verdict {
	believed := h.Believe(trust)
	return verdict{Classify(believed), Idempotent(believed)}
}

// hint reads a tri-state hint as the tables write it.
func hint(text string) *bool {
	if text == "-" {
		return nil
	}
	value := text == "true"
	return &value
}

// TestAnnotations holds every combination of the three hints (G1 to G7, P15, P17).
// The last column is a tool that has no annotations object: no hint can be set
// then, and if one were, it would never loosen.
func TestAnnotations(t *testing.T) {
	const yes, no = true, false
	rows := []struct {
		readOnly, destructive, idempotent string
		trusted, untrusted, noObject      verdict
	}{
		{"-", "-", "-", verdict{destructive, no}, verdict{destructive, no}, verdict{write, no}},
		{"-", "-", "true", verdict{destructive, yes}, verdict{destructive, no}, verdict{write, no}},
		{"-", "-", "false", verdict{destructive, no}, verdict{destructive, no}, verdict{write, no}},
		{"-", "true", "-", verdict{destructive, no}, verdict{destructive, no}, verdict{destructive, no}},
		{"-", "true", "true", verdict{destructive, yes}, verdict{destructive, no}, verdict{destructive, no}},
		{"-", "true", "false", verdict{destructive, no}, verdict{destructive, no}, verdict{destructive, no}},
		{"-", "false", "-", verdict{write, no}, verdict{destructive, no}, verdict{write, no}},
		{"-", "false", "true", verdict{write, yes}, verdict{destructive, no}, verdict{write, no}},
		{"-", "false", "false", verdict{write, no}, verdict{destructive, no}, verdict{write, no}},

		{"true", "-", "-", verdict{readOnly, yes}, verdict{destructive, no}, verdict{write, no}},
		{"true", "-", "true", verdict{readOnly, yes}, verdict{destructive, no}, verdict{write, no}},
		{"true", "-", "false", verdict{readOnly, yes}, verdict{destructive, no}, verdict{write, no}},
		{"true", "true", "-", verdict{destructive, no}, verdict{destructive, no}, verdict{destructive, no}},
		{"true", "true", "true", verdict{destructive, yes}, verdict{destructive, no}, verdict{destructive, no}},
		{"true", "true", "false", verdict{destructive, no}, verdict{destructive, no}, verdict{destructive, no}},
		{"true", "false", "-", verdict{readOnly, yes}, verdict{destructive, no}, verdict{write, no}},
		{"true", "false", "true", verdict{readOnly, yes}, verdict{destructive, no}, verdict{write, no}},
		{"true", "false", "false", verdict{readOnly, yes}, verdict{destructive, no}, verdict{write, no}},

		{"false", "-", "-", verdict{destructive, no}, verdict{destructive, no}, verdict{write, no}},
		{"false", "-", "true", verdict{destructive, yes}, verdict{destructive, no}, verdict{write, no}},
		{"false", "-", "false", verdict{destructive, no}, verdict{destructive, no}, verdict{write, no}},
		{"false", "true", "-", verdict{destructive, no}, verdict{destructive, no}, verdict{destructive, no}},
		{"false", "true", "true", verdict{destructive, yes}, verdict{destructive, no}, verdict{destructive, no}},
		{"false", "true", "false", verdict{destructive, no}, verdict{destructive, no}, verdict{destructive, no}},
		{"false", "false", "-", verdict{write, no}, verdict{destructive, no}, verdict{write, no}},
		{"false", "false", "true", verdict{write, yes}, verdict{destructive, no}, verdict{write, no}},
		{"false", "false", "false", verdict{write, no}, verdict{destructive, no}, verdict{write, no}},
	}
	seen := map[string]bool{}
	for _, row := range rows {
		name := fmt.Sprintf("readOnly=%s destructive=%s idempotent=%s", row.readOnly, row.destructive, row.idempotent)
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			hints := Hints{Present: true, ReadOnly: hint(row.readOnly),
				Destructive: hint(row.destructive), Idempotent: hint(row.idempotent)}
			absent := hints
			absent.Present = false
			for _, c := range []struct {
				name  string
				hints Hints
				trust v1alpha1.AnnotationTrust
				want  verdict
			}{
				{"trusted", hints, v1alpha1.AnnotationsTrusted, row.trusted},
				{"untrusted", hints, v1alpha1.AnnotationsUntrusted, row.untrusted},
				{"trust not known", hints, "", row.untrusted},
				{"trusted, no object", absent, v1alpha1.AnnotationsTrusted, row.noObject},
				{"untrusted, no object", absent, v1alpha1.AnnotationsUntrusted, row.noObject},
			} {
				if diff := cmp.Diff(c.want, judge(c.hints, c.trust)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.name, diff)
				}
			}
		})
	}
	if len(seen) != 27 {
		t.Errorf("the table has %d of 27 combinations", len(seen))
	}
}

// TestBelieveKeepsItsArgument: hints are a catalogue's, and stay as they came (G7).
func TestBelieveKeepsItsArgument(t *testing.T) {
	hints := Hints{Present: true, ReadOnly: hint("true"), Destructive: hint("false"), Idempotent: hint("true")}
	hints.Believe(v1alpha1.AnnotationsUntrusted)
	want := Hints{Present: true, ReadOnly: hint("true"), Destructive: hint("false"), Idempotent: hint("true")}
	if diff := cmp.Diff(want, hints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
