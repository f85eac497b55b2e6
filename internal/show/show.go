// SPDX-License-Identifier: Apache-2.0

// Package show writes the log of a Run for people: what the model said, what it
// called, who decided, and results as tables where they are tables. It is pure.
package show

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"remit.dev/remit/api/v1alpha1"
)

// Options of a Log.
type Options struct {
	// Rows is how many rows of a table and records of a list are shown.
	Rows int
	// Text is how many bytes of any other text are shown.
	Text int
}

// DefaultOptions fit a terminal.
var DefaultOptions = Options{Rows: 20, Text: 4096}

// Log writes a Run and its records, the sealed ones before those in its status.
func Log(w io.Writer, run *v1alpha1.Run, sealed []v1alpha1.Record, options Options) error {
	p := &printer{w: w, options: options, calls: map[v1alpha1.CallID]v1alpha1.CallRecord{}}
	p.head(run)
	for _, records := range [][]v1alpha1.Record{sealed, run.Status.Log.Records} {
		for i := range records {
			p.record(&records[i])
		}
	}
	p.pending(run)
	p.standing(run, sealed)
	return p.err
}

type printer struct {
	w       io.Writer
	err     error
	options Options
	calls   map[v1alpha1.CallID]v1alpha1.CallRecord
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) head(run *v1alpha1.Run) {
	status := &run.Status
	p.printf("Run %s/%s: %s, Version %s, %d model calls\n", line(run.Namespace), line(run.Name),
		orDash(line(string(status.Phase))), orDash(line(status.Version)), status.Steps)
	if run.Spec.CreatedBy != "" {
		p.printf("Created by %s\n", line(run.Spec.CreatedBy))
	}
	if run.Spec.Input != "" {
		p.printf("\nInput\n%s", p.indented(run.Spec.Input))
	}
}

// record writes one record. Watermarks are for machines.
func (p *printer) record(r *v1alpha1.Record) {
	switch {
	case r.Message != nil:
		p.message(r)
	case r.Result != nil:
		p.result(r)
	case r.Suspension != nil:
		p.printf("\n%s  Waits for decisions on %d calls\n", at(r), len(r.Suspension.Calls))
	case r.Decision != nil:
		p.decision(r)
	case r.End != nil:
		p.printf("\n%s  %s, %s: %s\n", at(r), line(string(r.End.Phase)), line(r.End.Reason), line(r.End.Message))
	}
}

func (p *printer) message(r *v1alpha1.Record) {
	who := "Remit"
	if r.Message.Grant != "" {
		who = fmt.Sprintf("Model %s of %s", line(r.Message.Model), line(r.Message.Grant))
	}
	p.printf("\n%s  %s\n", at(r), who)
	if r.Message.Text != "" {
		p.printf("%s", p.indented(r.Message.Text))
	}
	for _, call := range r.Message.Calls {
		p.calls[call.ID] = call
		by := "calls"
		switch {
		case call.Whole:
			by = "asks whether to begin:"
		case call.StepID != "":
			by = fmt.Sprintf("step %s calls", line(string(call.StepID)))
		}
		p.printf("  %s %s, %s\n%s", by, line(call.Tool), line(string(call.ID)), p.indented(call.Arguments))
	}
}

func (p *printer) decision(r *v1alpha1.Record) {
	said := "denied"
	if approved := r.Decision.Approved; approved != nil && *approved {
		said = "approved"
		if r.Decision.Answer != "" {
			said = "answered"
		}
	}
	by := line(r.Decision.By)
	if by == "" {
		by = "A request" // to a webhook: a person's decision has a name
	}
	p.printf("\n%s  %s %s %s", at(r), by, said, p.nameOf(r.Decision.ID))
	if r.Decision.Reason != "" {
		p.printf(": %s", line(r.Decision.Reason))
	}
	p.printf("\n")
	if r.Decision.Answer != "" {
		p.printf("%s", p.indented(r.Decision.Answer))
	}
}

func (p *printer) result(r *v1alpha1.Record) {
	result := r.Result
	if result.Error != "" {
		p.printf("\n%s  %s failed: %s\n%s", at(r), p.nameOf(result.ID), line(string(result.Error)), p.indented(result.Content))
		return
	}
	p.printf("\n%s  %s returned\n", at(r), p.nameOf(result.ID))
	if !p.envelope(result) {
		p.printf("%s", p.indented(result.Content))
	}
	for _, artifact := range result.Artifacts {
		p.printf("  artifact %s, %s, %d bytes\n", line(artifact.Reference), line(artifact.MediaType), artifact.Bytes)
	}
}

func (p *printer) pending(run *v1alpha1.Run) {
	for _, pending := range run.Status.Pending {
		p.printf("\nWaits since %s, until %s: %s, %s\n  %s\n%s", pending.RequestedAt.UTC().Format(time.RFC3339),
			pending.ExpiresAt.UTC().Format(time.RFC3339), line(pending.Tool), line(string(pending.ID)), line(pending.Reason), p.indented(pending.Arguments))
	}
}

// standing says what no record does: which Runs are waited for, and why a Run that has
// no log ended or does not begin.
func (p *printer) standing(run *v1alpha1.Run, sealed []v1alpha1.Record) {
	for _, child := range run.Status.Children {
		if run.Status.CompletedAt == nil {
			p.printf("\nRun %s answers %s\n", line(child.Name), p.nameOf(child.CallID))
		}
	}
	if len(sealed)+len(run.Status.Log.Records) > 0 {
		return
	}
	for _, condition := range run.Status.Conditions {
		if condition.Type == v1alpha1.ConditionComplete {
			p.printf("\n%s: %s\n", line(condition.Reason), line(condition.Message))
		}
	}
}

func (p *printer) nameOf(id v1alpha1.CallID) string {
	return fmt.Sprintf("%s (%s)", orDash(line(p.calls[id].Tool)), line(string(id)))
}

// indented writes a text of several lines, cut to the bound.
func (p *printer) indented(text string) string {
	cut := ""
	if len(text) > p.options.Text {
		cut = fmt.Sprintf("  … %d bytes more\n", len(text)-p.options.Text)
		text = strings.ToValidUTF8(text[:p.options.Text], "")
	}
	if text == "" {
		return ""
	}
	var b strings.Builder
	for part := range strings.Lines(text) {
		b.WriteString("  " + line(strings.TrimSuffix(part, "\n")) + "\n")
	}
	return b.String() + cut
}

func at(r *v1alpha1.Record) string { return r.Time.UTC().Format(time.RFC3339) }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// line keeps what a model, a server or a user wrote from breaking a line or moving
// a terminal's cursor.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return '\uFFFD'
		}
		return r
	}, text)
}
