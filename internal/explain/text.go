// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"remit.dev/remit/api/v1alpha1"
)

// WriteText writes a report as tables, one a grant.
func (r *Report) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "Spec %s/%s: %d tools callable\n", r.Namespace, r.Spec, r.Callable); err != nil {
		return err
	}
	for i := range r.Grants {
		if err := r.Grants[i].writeText(w); err != nil {
			return err
		}
	}
	return nil
}

func (g *GrantReport) writeText(w io.Writer) error {
	heading := "\nGrant " + g.Grant
	if g.Server != "" {
		heading += " of MCPServer " + g.Server
	}
	if g.Problem != "" {
		heading += "\n  " + g.Problem
	}
	if len(g.JudgedBy) > 0 {
		heading += "\n  Each call is judged besides, and may be denied or need approval, by " + printable(strings.Join(g.JudgedBy, ", "))
	}
	if _, err := fmt.Fprintln(w, heading); err != nil || len(g.Tools) == 0 {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "  TOOL\tCLASS\tPLANE\tAPPROVAL\tPROMPT\tWHY")
	for i := range g.Tools {
		tool := &g.Tools[i]
		plane, why := string(v1alpha1.PlaneCallable), tool.ApprovalReason
		if tool.LostAt != "" {
			plane, why = "not "+string(tool.LostAt), tool.Why
		}
		if err == nil {
			_, err = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", printable(tool.Tool),
				orDash(string(tool.Class)), plane, orDash(string(tool.Approval)), orDash(string(tool.Prompt)), printable(why))
		}
	}
	if err != nil {
		return err
	}
	return table.Flush()
}

// printable keeps a server's names from moving a terminal's cursor.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
