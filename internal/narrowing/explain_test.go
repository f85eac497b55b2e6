// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
)

// lost is a verdict as the tables write it.
type lost struct {
	Tool string
	At   v1alpha1.Plane
	Why  string
}

// TestExplain: each plane names the list that kept a tool out, and a name that
// nobody offers is explained though it is dropped silently (D4, D11).
func TestExplain(t *testing.T) {
	offered := []Tool{
		{Name: "read", Class: v1alpha1.ClassReadOnly},
		{Name: "write", Class: v1alpha1.ClassWrite},
		{Name: "drop", Class: v1alpha1.ClassDestructive},
		{Name: "odd", Class: v1alpha1.ClassWrite, Unusable: "inputSchema: it is none"},
	}
	tests := map[string]struct {
		permit []v1alpha1.ToolLiteral
		grant  v1alpha1.MCPGrant
		want   []lost
	}{
		"no list": {want: []lost{{"read", "", ""}, {"write", "", ""}, {"drop", "", ""},
			{"odd", v1alpha1.PlaneCallable, "inputSchema: it is none"}}},
		"every plane": {
			permit: []v1alpha1.ToolLiteral{"drop", "write", "read", "gone"},
			grant: v1alpha1.MCPGrant{Tools: []v1alpha1.ToolLiteral{"read", "write", "away"},
				Enable: []v1alpha1.AccessSelector{"write", "@read-only"}, Disable: []v1alpha1.AccessSelector{"write"}},
			want: []lost{
				{"read", "", ""},
				{"write", v1alpha1.PlaneEnabled, "disable of the Spec's grant matches it by write"},
				{"drop", v1alpha1.PlaneGranted, "tools of the Spec's grant does not list it"},
				{"odd", v1alpha1.PlanePermitted, "tools of the Grant does not list it"},
				{"gone", v1alpha1.PlaneOffered, "tools of the Grant names it, and the server does not offer it"},
				{"away", v1alpha1.PlaneOffered, "tools of the Spec's grant names it, and the server does not offer it"},
			},
		},
		"F7 a literal in enable loses to a tag in disable": {
			grant: v1alpha1.MCPGrant{Enable: []v1alpha1.AccessSelector{"read"}, Disable: []v1alpha1.AccessSelector{"@all", "read"}},
			want: []lost{
				{"read", v1alpha1.PlaneEnabled, "disable of the Spec's grant matches it by @all"},
				{"write", v1alpha1.PlaneEnabled, "disable of the Spec's grant matches it by @all"},
				{"drop", v1alpha1.PlaneEnabled, "disable of the Spec's grant matches it by @all"},
				{"odd", v1alpha1.PlaneEnabled, "disable of the Spec's grant matches it by @all"},
			},
		},
		"names that nobody offers, each once": {
			grant: v1alpha1.MCPGrant{Enable: []v1alpha1.AccessSelector{"@all", "raed"},
				Disable: []v1alpha1.AccessSelector{"raed", "wirte"}, Preload: []v1alpha1.AccessSelector{"dorp"}},
			want: []lost{{"read", "", ""}, {"write", "", ""}, {"drop", "", ""},
				{"odd", v1alpha1.PlaneCallable, "inputSchema: it is none"},
				{"raed", v1alpha1.PlaneOffered, "enable of the Spec's grant names it, and the server does not offer it"},
				{"wirte", v1alpha1.PlaneOffered, "disable of the Spec's grant names it, and the server does not offer it"},
				{"dorp", v1alpha1.PlaneOffered, "preload of the Spec's grant names it, and the server does not offer it"},
			},
		},
		"no entry of enable": {
			grant: v1alpha1.MCPGrant{Tools: []v1alpha1.ToolLiteral{"drop"}, Enable: []v1alpha1.AccessSelector{"@read-only"}},
			want: []lost{
				{"read", v1alpha1.PlaneGranted, "tools of the Spec's grant does not list it"},
				{"write", v1alpha1.PlaneGranted, "tools of the Spec's grant does not list it"},
				{"drop", v1alpha1.PlaneEnabled, "no entry of enable of the Spec's grant matches it"},
				{"odd", v1alpha1.PlaneGranted, "tools of the Spec's grant does not list it"},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.grant.Grant = "desk"
			var got []lost
			for _, verdict := range Explain(offered, test.permit, &test.grant) {
				got = append(got, lost{verdict.Name, verdict.LostAt, verdict.Why})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestExplainAmbiguousNames: tools of one qualified name are not callable (P32).
func TestExplainAmbiguousNames(t *testing.T) {
	shortened, _ := QualifiedName("desk", "a.b")
	twin := Tool{Name: shortened[len("desk"+Separator):]}
	offered := []Tool{{Name: "a.b"}, twin, {Name: "plain"}}
	if callable := Callable(offered, nil, &v1alpha1.MCPGrant{Grant: "desk"}); len(callable) != 1 || callable[0].Name != "plain" {
		t.Errorf("callable: %v", callable)
	}
	for _, verdict := range Explain(offered, nil, &v1alpha1.MCPGrant{Grant: "desk"})[:2] {
		if want := "several tools would be called " + shortened; verdict.LostAt != v1alpha1.PlaneCallable || verdict.Why != want {
			t.Errorf("%s: %s, %q", verdict.Name, verdict.LostAt, verdict.Why)
		}
	}
}

// TestExplainAgrees: what Explain lets pass is what Callable gives, and every
// other tool has a reason (D1, D2).
func TestExplainAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offered, permit := anyOffer.Draw(t, "offered"), anyLiterals.Draw(t, "permit")
		grant := v1alpha1.MCPGrant{Grant: "desk", Tools: anyLiterals.Draw(t, "tools"),
			Enable: anySelectors.Draw(t, "enable"), Disable: anySelectors.Draw(t, "disable")}
		passed, explained := []Tool{}, 0
		for _, verdict := range Explain(offered, permit, &grant) {
			if (verdict.LostAt == "") != (verdict.Why == "") {
				t.Fatalf("%s: lost at %q because %q", verdict.Name, verdict.LostAt, verdict.Why)
			}
			if verdict.LostAt == "" {
				passed = append(passed, verdict.Tool)
			}
			if verdict.LostAt != v1alpha1.PlaneOffered {
				explained++
			}
		}
		if explained != len(offered) {
			t.Fatalf("%d of %d tools are explained", explained, len(offered))
		}
		byName := cmpopts.SortSlices(func(a, b Tool) bool { return a.Name < b.Name })
		if diff := cmp.Diff(passed, Callable(offered, permit, &grant), byName, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-explained +callable):\n%s", diff)
		}
	})
}
