// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit.dev/remit/api/v1alpha1"
)

type (
	literals  = []v1alpha1.ToolLiteral
	selectors = []v1alpha1.AccessSelector
)

// offer is a server's catalogue in its own order.
func offer() []Tool {
	return []Tool{
		{Name: "list", Class: v1alpha1.ClassReadOnly},
		{Name: "create", Class: v1alpha1.ClassWrite},
		{Name: "delete", Class: v1alpha1.ClassDestructive},
		{Name: "get", Class: v1alpha1.ClassReadOnly},
	}
}

func names(tools []Tool) []string {
	var list []string
	for _, tool := range tools {
		list = append(list, tool.Name)
	}
	return list
}

func expectNames(t *testing.T, want []string, got []Tool) {
	t.Helper()
	if diff := cmp.Diff(want, names(got), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPermitted(t *testing.T) {
	all := []string{"list", "create", "delete", "get"}
	tests := map[string]struct {
		allow literals
		want  []string
	}{
		"D3 omitted means everything":             {nil, all},
		"D7 empty means everything":               {literals{}, all},
		"D4 an entry keeps its tool":              {literals{"get"}, []string{"get"}},
		"D4 a stale entry disappears":             {literals{"get", "gone"}, []string{"get"}},
		"D12 all entries stale is nothing":        {literals{"gone", "lost"}, nil},
		"D13 the order is the list's":             {literals{"get", "gone", "delete", "list"}, []string{"get", "delete", "list"}},
		"D9 no globs":                             {literals{"*", "get*", "g?t", "[a-z]*"}, nil},
		"D9 no other case":                        {literals{"GET", "Get"}, nil},
		"D9 no prefixes, no spaces":               {literals{"ge", " get", "get "}, nil},
		"D8 a tag is no entry":                    {literals{"@all", "@read-only"}, nil},
		"an entry that is there twice is one":     {literals{"get", "get"}, []string{"get"}},
		"an empty entry names nothing":            {literals{""}, nil},
		"D9 not by the qualified name either":     {literals{"shop__get"}, nil},
		"D4 the tenant's whole list, other order": {literals{"create", "delete", "get", "list"}, []string{"create", "delete", "get", "list"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectNames(t, test.want, Permitted(offer(), test.allow))
		})
	}
}

func TestGranted(t *testing.T) {
	permitted := []Tool{{Name: "get"}, {Name: "list"}, {Name: "create"}}
	tests := map[string]struct {
		allow literals
		want  []string
	}{
		"D5 omitted is the permitted set":        {nil, []string{"get", "list", "create"}},
		"D7 empty is the permitted set":          {literals{}, []string{"get", "list", "create"}},
		"D6 filters":                             {literals{"list"}, []string{"list"}},
		"D6 never the raw catalogue":             {literals{"delete", "list"}, []string{"list"}},
		"D11 a revoked tool is simply not there": {literals{"delete"}, nil},
		"the order is the permitted set's":       {literals{"create", "list", "get"}, []string{"get", "list", "create"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectNames(t, test.want, Granted(permitted, test.allow))
		})
	}
}

func TestEnabled(t *testing.T) {
	all := []string{"list", "create", "delete", "get"}
	tests := map[string]struct {
		enable, disable selectors
		want            []string
	}{
		"neither":                               {nil, nil, all},
		"both empty":                            {selectors{}, selectors{}, all},
		"F2 enable @all":                        {selectors{"@all"}, nil, all},
		"F2 enable @read-only":                  {selectors{"@read-only"}, nil, []string{"list", "get"}},
		"enable a name":                         {selectors{"create"}, nil, []string{"create"}},
		"F6 any entry":                          {selectors{"delete", "@read-only"}, nil, []string{"list", "delete", "get"}},
		"D12 enable nothing that is there":      {selectors{"gone"}, nil, nil},
		"disable a name":                        {nil, selectors{"delete"}, []string{"list", "create", "get"}},
		"disable @read-only":                    {nil, selectors{"@read-only"}, []string{"create", "delete"}},
		"disable @all":                          {nil, selectors{"@all"}, nil},
		"disable nothing that is there":         {nil, selectors{"gone"}, all},
		"F7 a name loses to @all":               {selectors{"get"}, selectors{"@all"}, nil},
		"F7 a name loses to @read-only":         {selectors{"get", "create"}, selectors{"@read-only"}, []string{"create"}},
		"F7 @all loses to a name":               {selectors{"@all"}, selectors{"get"}, []string{"list", "create", "delete"}},
		"F7 a name loses to itself":             {selectors{"get"}, selectors{"get"}, nil},
		"F7 disable subtracts in every order":   {selectors{"create", "@all", "get"}, selectors{"gone", "get", "@read-only"}, []string{"create", "delete"}},
		"a tag that the list has not":           {selectors{"@write", "@destructive"}, nil, nil},
		"a tag that disable has not takes none": {nil, selectors{"@write"}, all},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectNames(t, test.want, Enabled(offer(), test.enable, test.disable))
		})
	}
}

// TestReadOnlyIsTheClass: @read-only goes by the class, so that a tool which says
// that it is read-only and destructive is not among them (G2).
func TestReadOnlyIsTheClass(t *testing.T) {
	for class, want := range map[v1alpha1.ToolClass]bool{
		v1alpha1.ClassReadOnly: true, v1alpha1.ClassWrite: false, v1alpha1.ClassDestructive: false, "": false,
	} {
		if got := Matches(selectors{"@read-only"}, Tool{Name: "x", Class: class}); got != want {
			t.Errorf("class %q: got %t, want %t", class, got, want)
		}
	}
}

func TestCallable(t *testing.T) {
	tests := map[string]struct {
		permit literals
		grant  v1alpha1.MCPGrant
		want   []string
	}{
		"D7 nothing said anywhere": {nil, v1alpha1.MCPGrant{}, []string{"list", "create", "delete", "get"}},
		"D1 each plane shrinks": {
			literals{"get", "list", "delete"},
			v1alpha1.MCPGrant{Tools: literals{"list", "delete", "get"}, Enable: selectors{"@read-only"}, Disable: selectors{"list"}},
			[]string{"get"},
		},
		"D6 a grant cannot win back what the tenant does not permit": {
			literals{"get"}, v1alpha1.MCPGrant{Tools: literals{"get", "delete"}, Enable: selectors{"delete", "get"}}, []string{"get"},
		},
		"D12 nothing permitted stays nothing": {
			literals{"gone"}, v1alpha1.MCPGrant{}, nil,
		},
		"D12 nothing granted stays nothing": {
			literals{"get"}, v1alpha1.MCPGrant{Tools: literals{"list"}, Enable: selectors{"@all"}}, nil,
		},
		"D12 nothing enabled stays nothing": {
			nil, v1alpha1.MCPGrant{Enable: selectors{"gone"}}, nil,
		},
		"D13 the tenant's order reaches the end": {
			literals{"delete", "get", "list"}, v1alpha1.MCPGrant{Tools: literals{"get", "delete"}}, []string{"delete", "get"},
		},
		"preload gives nothing": {
			literals{"get"}, v1alpha1.MCPGrant{Preload: selectors{"@all", "delete"}}, []string{"get"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectNames(t, test.want, Callable(offer(), test.permit, &test.grant))
		})
	}
}

// TestDisableBeatsEnableInEveryOrder walks every order of both lists (F7).
func TestDisableBeatsEnableInEveryOrder(t *testing.T) {
	for _, enable := range permutations(selectors{"@all", "get", "create"}) {
		for _, disable := range permutations(selectors{"@read-only", "delete", "gone"}) {
			expectNames(t, []string{"create"}, Enabled(offer(), enable, disable))
		}
	}
}

func permutations(list selectors) []selectors {
	if len(list) <= 1 {
		return []selectors{slices.Clone(list)}
	}
	var all []selectors
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, tail := range permutations(rest) {
			all = append(all, append(selectors{list[i]}, tail...))
		}
	}
	return all
}

// TestStale: what narrowing drops without a word is found here (D4).
func TestStale(t *testing.T) {
	tests := map[string]struct {
		offered []Tool
		list    selectors
		want    selectors
	}{
		"nothing listed":               {offer(), nil, nil},
		"all on offer":                 {offer(), selectors{"get", "list"}, nil},
		"in the list's order":          {offer(), selectors{"lost", "get", "gone"}, selectors{"lost", "gone"}},
		"tags are never stale":         {offer(), selectors{"@all", "@read-only", "gone"}, selectors{"gone"}},
		"nothing on offer":             {nil, selectors{"get", "@all"}, selectors{"get"}},
		"another case is another tool": {offer(), selectors{"Get"}, selectors{"Get"}},
		"an empty entry":               {offer(), selectors{""}, selectors{""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Stale(test.offered, test.list)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
