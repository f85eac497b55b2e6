// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"remit.dev/remit/api/v1alpha1"
)

// Report is what the checks of any number of sources found.
type Report struct {
	Objects []Object `json:"objects"`
	// Errors are about what cannot be read.
	Errors []*ReadError `json:"errors"`
	// Notices are about what was left out.
	Notices []Notice `json:"notices"`
}

// Add appends what another report has.
func (r *Report) Add(other *Report) {
	r.Objects = append(r.Objects, other.Objects...)
	r.Errors = append(r.Errors, other.Errors...)
	r.Notices = append(r.Notices, other.Notices...)
}

func (r *Report) fail(err *ReadError) { r.Errors = append(r.Errors, err) }

// Err joins the errors, so that one run shows all there is to correct. It is nil if
// there are none.
func (r *Report) Err() error { return joined(r.Errors) }

func joined(all []*ReadError) error {
	errs := make([]error, len(all))
	for i, err := range all {
		errs[i] = err
	}
	return errors.Join(errs...)
}

// Findings counts those that refuse an object, and Warnings the others.
func (r *Report) Findings() int { return r.count(false) }

// Warnings counts the findings that are advice.
func (r *Report) Warnings() int { return r.count(true) }

func (r *Report) count(advice bool) int {
	n := 0
	for i := range r.Objects {
		for _, f := range r.Objects[i].Findings {
			if f.advice() == advice {
				n++
			}
		}
	}
	return n
}

// Clean says whether every object was checked by all rules, without a finding that
// refuses it.
func (r *Report) Clean() bool {
	return !slices.ContainsFunc(r.Objects, func(o Object) bool { return o.refused() || o.Incomplete })
}

func (o *Object) refused() bool {
	return slices.ContainsFunc(o.Findings, func(f Finding) bool { return !f.advice() })
}

func (f *Finding) advice() bool { return f.Severity == v1alpha1.SeverityWarning }

// incompleteMessage is what is said of an Incomplete object.
const incompleteMessage = "some rules were not checked because of the findings: correct them, and check again"

// WriteText writes a line for each finding, in the form that editors jump to, one
// for each object that was not checked by all rules, and a last one that sums up.
// Errors and notices are left to the caller.
func (r *Report) WriteText(w io.Writer) error {
	var text strings.Builder
	faulty := 0
	for i := range r.Objects {
		o := &r.Objects[i]
		if o.refused() {
			faulty++
		}
		for _, f := range o.Findings {
			severity := ""
			if f.advice() {
				severity = "warning: "
			}
			writeLine(&text, fmt.Sprintf("%s:%d:%d: %s%s: %s: %s (%s)", o.Source, f.Line, f.Column, severity, o, f.Path, f.Message, f.Rule))
		}
		if o.Incomplete {
			writeLine(&text, fmt.Sprintf("%s:%d:1: %s: %s", o.Source, o.Line, o, incompleteMessage))
		}
	}
	found := "no findings"
	if faulty > 0 {
		found = fmt.Sprintf("%s in %d of them", count(r.Findings(), "finding"), faulty)
	}
	if n := r.Warnings(); n > 0 {
		found += ", " + count(n, "warning")
	}
	fmt.Fprintf(&text, "%s checked, %s\n", count(len(r.Objects), "object"), found)
	_, err := io.WriteString(w, text.String())
	return err
}

// writeLine keeps to one line what others wrote.
func writeLine(w io.Writer, line string) {
	fmt.Fprintln(w, strings.ReplaceAll(printable(line), "\n", " "))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	return writeJSON(w, r.listed())
}

// listed is the report with empty lists in place of none: [] in JSON, not null.
func (r *Report) listed() *Report {
	return &Report{
		Objects: append([]Object{}, r.Objects...),
		Errors:  append([]*ReadError{}, r.Errors...),
		Notices: append([]Notice{}, r.Notices...),
	}
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// printable keeps what others wrote from steering the reader's terminal.
func printable(text string) string {
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if steers(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// steers reports control characters, and format characters that turn text round.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}
