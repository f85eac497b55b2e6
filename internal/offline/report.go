// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Report is what the checks of any number of sources found.
type Report struct {
	Objects []Object `json:"objects"`
}

// Findings counts them.
func (r *Report) Findings() int {
	n := 0
	for i := range r.Objects {
		n += len(r.Objects[i].Findings)
	}
	return n
}

// WriteText writes a line for each finding, in the form that editors jump to,
// and a last one that sums up.
func (r *Report) WriteText(w io.Writer) error {
	faulty := 0
	for i := range r.Objects {
		o := &r.Objects[i]
		if len(o.Findings) > 0 {
			faulty++
		}
		for _, f := range o.Findings {
			line := fmt.Sprintf("%s:%d:%d: %s: %s: %s (%s)", o.Source, f.Line, f.Column, o, f.Path, f.Message, f.Rule)
			if _, err := fmt.Fprintln(w, strings.ReplaceAll(printable(line), "\n", " ")); err != nil {
				return err
			}
		}
	}
	found := "no findings"
	if faulty > 0 {
		found = fmt.Sprintf("%s in %d of them", count(r.Findings(), "finding"), faulty)
	}
	_, err := fmt.Fprintf(w, "%s checked, %s\n", count(len(r.Objects), "object"), found)
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	report := Report{Objects: append([]Object{}, r.Objects...)} // [], not null
	return writeJSON(w, report)
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
