// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
)

// Names are few, so that lists and catalogues meet often.
var (
	anyName  = rapid.SampledFrom([]string{"a", "b", "c", "d", "A", "a*", "aa", "é"})
	anyClass = rapid.SampledFrom([]v1alpha1.ToolClass{
		v1alpha1.ClassReadOnly, v1alpha1.ClassWrite, v1alpha1.ClassDestructive})
	anyLiteral  = rapid.Map(anyName, func(name string) v1alpha1.ToolLiteral { return v1alpha1.ToolLiteral(name) })
	anySelector = rapid.OneOf(
		rapid.Map(anyName, func(name string) v1alpha1.AccessSelector { return v1alpha1.AccessSelector(name) }),
		rapid.SampledFrom([]v1alpha1.AccessSelector{v1alpha1.AccessAll, v1alpha1.AccessReadOnly}),
	)
	anyTool = rapid.Custom(func(t *rapid.T) Tool {
		return Tool{Name: anyName.Draw(t, "name"), Class: anyClass.Draw(t, "class")}
	})
	anyOffer     = rapid.SliceOfNDistinct(anyTool, 0, 8, func(tool Tool) string { return tool.Name })
	anyLiterals  = rapid.SliceOfN(anyLiteral, 0, 6)
	anySelectors = rapid.SliceOfN(anySelector, 0, 5)
)

func isSubset(whole, part []Tool) bool {
	for _, tool := range part {
		if !slices.Contains(whole, tool) {
			return false
		}
	}
	return len(part) <= len(whole)
}

// planes are the planes one by one, each with its input and output.
type plane struct {
	name       string
	empty      bool
	input      []Tool
	apply      func([]Tool) []Tool
	inputOrder bool
}

func drawPlanes(t *rapid.T) []plane {
	offered := anyOffer.Draw(t, "offered")
	permit := anyLiterals.Draw(t, "permit")
	grant := v1alpha1.MCPGrant{
		Tools:   anyLiterals.Draw(t, "tools"),
		Enable:  anySelectors.Draw(t, "enable"),
		Disable: anySelectors.Draw(t, "disable"),
	}
	permitted := func(in []Tool) []Tool { return Permitted(in, permit) }
	granted := func(in []Tool) []Tool { return Granted(in, grant.Tools) }
	enabled := func(in []Tool) []Tool { return Enabled(in, grant.Enable, grant.Disable) }
	return []plane{
		{"permitted", len(permit) == 0, offered, permitted, len(permit) == 0},
		{"granted", len(grant.Tools) == 0, permitted(offered), granted, true},
		{"enabled", len(grant.Enable)+len(grant.Disable) == 0, granted(permitted(offered)), enabled, true},
		{"callable", len(permit)+len(grant.Tools)+len(grant.Enable)+len(grant.Disable) == 0, offered,
			func(in []Tool) []Tool { return Callable(in, permit, &grant) }, len(permit) == 0},
	}
}

// TestPlanes: each plane gives a subset (D1, D10), empty lists narrow nothing
// (D7), a second application changes nothing, nothing of nothing is nothing
// (D12), and no plane writes into what it was given.
func TestPlanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, p := range drawPlanes(t) {
			before := slices.Clone(p.input)
			output := p.apply(p.input)
			if diff := cmp.Diff(before, p.input, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s changed its input:\n%s", p.name, diff)
			}
			if !isSubset(p.input, output) {
				t.Fatalf("%s: %v is no subset of %v", p.name, output, p.input)
			}
			if p.empty && !slices.Equal(p.input, output) {
				t.Fatalf("%s: nothing was said, and %v became %v", p.name, p.input, output)
			}
			if p.inputOrder && !inOrder(p.input, output) {
				t.Fatalf("%s: %v is not in the order of %v", p.name, output, p.input)
			}
			if again := p.apply(slices.Clone(output)); !slices.Equal(output, again) {
				t.Fatalf("%s: applied again, %v became %v", p.name, output, again)
			}
			if rest := p.apply(nil); len(rest) > 0 {
				t.Fatalf("%s: nothing became %v", p.name, rest)
			}
		}
	})
}

func inOrder(whole, part []Tool) bool {
	at := 0
	for _, tool := range part {
		next := slices.Index(whole[at:], tool)
		if next < 0 {
			return false
		}
		at += next + 1
	}
	return true
}

// TestCallableByTool: a tool is callable exactly if each list, read for this tool
// alone, lets it pass (D1 to D9, F6, F7).
func TestCallableByTool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offered, permit := anyOffer.Draw(t, "offered"), anyLiterals.Draw(t, "permit")
		grant := v1alpha1.MCPGrant{Tools: anyLiterals.Draw(t, "tools"),
			Enable: anySelectors.Draw(t, "enable"), Disable: anySelectors.Draw(t, "disable")}
		callable := map[string]bool{}
		for _, tool := range Callable(offered, permit, &grant) {
			callable[tool.Name] = true
		}
		for _, tool := range offered {
			readOnly := tool.Class == v1alpha1.ClassReadOnly
			want := lets(permit, tool.Name, false) && lets(grant.Tools, tool.Name, false) &&
				lets(grant.Enable, tool.Name, readOnly) &&
				(len(grant.Disable) == 0 || !lets(grant.Disable, tool.Name, readOnly))
			if callable[tool.Name] != want {
				t.Fatalf("%s: callable is %t, want %t", tool.Name, callable[tool.Name], want)
			}
		}
	})
}

// lets reads one allow-list for one tool.
func lets[S ~string](list []S, name string, readOnly bool) bool {
	if len(list) == 0 {
		return true
	}
	for _, entry := range list {
		if string(entry) == name || entry == "@all" || entry == "@read-only" && readOnly {
			return true
		}
	}
	return false
}

// TestPermittedOrder: the order is the allow-list's (D13).
func TestPermittedOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offered := anyOffer.Draw(t, "offered")
		allow := rapid.SliceOfNDistinct(anyLiteral, 1, 6, rapid.ID).Draw(t, "allow")
		var want []string
		for _, name := range allow {
			if slices.ContainsFunc(offered, func(tool Tool) bool { return tool.Name == string(name) }) {
				want = append(want, string(name))
			}
		}
		if got := names(Permitted(offered, allow)); !slices.Equal(want, got) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestStaleAndPermittedShareOut: each entry of an allow-list is either permitted
// or stale, never both (D4).
func TestStaleAndPermittedShareOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offered := anyOffer.Draw(t, "offered")
		allow := rapid.SliceOfNDistinct(anyLiteral, 1, 6, rapid.ID).Draw(t, "allow")
		permitted, stale := names(Permitted(offered, allow)), Stale(offered, allow)
		if len(permitted)+len(stale) != len(allow) {
			t.Fatalf("%d permitted and %d stale of %d entries", len(permitted), len(stale), len(allow))
		}
		for _, entry := range stale {
			if slices.Contains(permitted, string(entry)) {
				t.Fatalf("%s is permitted and stale", entry)
			}
		}
	})
}
