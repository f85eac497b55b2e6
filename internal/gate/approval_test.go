// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

type (
	selectors = []v1alpha1.ApprovalSelector
	literals  = []v1alpha1.ToolLiteral
	// byClass says for each class whether a call of tool "refund" is asked about.
	byClass map[v1alpha1.ToolClass]bool
)

var (
	every = byClass{readOnly: true, write: true, destructive: true}
	none  = byClass{readOnly: false, write: false, destructive: false}
	gated = byClass{readOnly: false, write: true, destructive: true}
)

// TestRequires: the list, always, never and the operator's defaults, for a tool
// "refund" of each class (F3, F6, F9, F10, G3, H29, H30, P18, P19).
func TestRequires(t *testing.T) {
	defaults := selectors{"@write", "@destructive"}
	tests := map[string]struct {
		approval Approval
		defaults selectors
		want     byClass
	}{
		"omitted: the defaults":                {Approval{}, defaults, gated},
		"omitted: other defaults":              {Approval{}, selectors{"@all"}, every},
		"omitted: defaults that match nothing": {Approval{}, selectors{}, none},
		"omitted: no defaults":                 {Approval{}, nil, none},
		"omitted: a default names the tool":    {Approval{}, selectors{"refund"}, every},

		"empty: nothing":                {Approval{Selectors: selectors{}}, defaults, none},
		"empty: nothing, whatever else": {Approval{Selectors: selectors{}}, selectors{"@all"}, none},

		"@all":                       {Approval{Selectors: selectors{"@all"}}, defaults, every},
		"@write":                     {Approval{Selectors: selectors{"@write"}}, defaults, byClass{readOnly: false, write: true, destructive: false}},
		"@destructive":               {Approval{Selectors: selectors{"@destructive"}}, defaults, byClass{readOnly: false, write: false, destructive: true}},
		"@write or @destructive":     {Approval{Selectors: selectors{"@destructive", "@write"}}, nil, gated},
		"its name":                   {Approval{Selectors: selectors{"refund"}}, defaults, every},
		"another name":               {Approval{Selectors: selectors{"delete"}}, defaults, none},
		"a prefix of its name":       {Approval{Selectors: selectors{"ref"}}, defaults, none},
		"its name in another case":   {Approval{Selectors: selectors{"Refund"}}, defaults, none},
		"a glob is a name":           {Approval{Selectors: selectors{"ref*"}}, defaults, none},
		"any entry":                  {Approval{Selectors: selectors{"delete", "@destructive", "refund"}}, defaults, every},
		"a tag the list has not":     {Approval{Selectors: selectors{"@read-only"}}, defaults, none},
		"its qualified name is none": {Approval{Selectors: selectors{"shop__refund"}}, defaults, none},

		"always":                       {Approval{Always: literals{"refund"}}, defaults, every},
		"always, over an empty list":   {Approval{Selectors: selectors{}, Always: literals{"refund"}}, defaults, every},
		"always, of another tool":      {Approval{Always: literals{"delete"}}, defaults, gated},
		"always knows no tags":         {Approval{Selectors: selectors{}, Always: literals{"@all"}}, defaults, none},
		"never":                        {Approval{Never: literals{"refund"}}, defaults, none},
		"never, over @all":             {Approval{Selectors: selectors{"@all"}, Never: literals{"refund"}}, defaults, none},
		"never, over its name":         {Approval{Selectors: selectors{"refund"}, Never: literals{"refund"}}, defaults, none},
		"never, over always":           {Approval{Always: literals{"refund"}, Never: literals{"refund"}}, defaults, none},
		"never, of another tool":       {Approval{Never: literals{"delete"}}, defaults, gated},
		"never knows no tags":          {Approval{Never: literals{"@all"}}, defaults, gated},
		"never of one, always of both": {Approval{Always: literals{"delete", "refund"}, Never: literals{"delete"}}, nil, every},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := byClass{}
			for class := range test.want {
				reason, required := test.approval.Requires(test.defaults, "refund", class)
				if (reason != "") != required {
					t.Errorf("%s: required is %t and the reason is %q", class, required, reason)
				}
				got[class] = required
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReason: the person who decides reads why they are asked.
func TestReason(t *testing.T) {
	tests := map[string]struct {
		approval Approval
		class    v1alpha1.ToolClass
		want     string
	}{
		"a tag":               {Approval{}, destructive, "class Destructive, matched by @destructive"},
		"a name":              {Approval{Selectors: selectors{"refund"}}, readOnly, "class ReadOnly, matched by refund"},
		"always":              {Approval{Always: literals{"refund"}}, write, "the Grant always asks for refund"},
		"no need, no reason":  {Approval{}, readOnly, ""},
		"never, so no reason": {Approval{Never: literals{"refund"}}, destructive, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, _ := test.approval.Requires(DefaultSelectors, "refund", test.class); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestDefaultSelectors are those of F10.
func TestDefaultSelectors(t *testing.T) {
	if diff := cmp.Diff(selectors{"@write", "@destructive"}, DefaultSelectors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOmittedAndEmptySurviveStorage: an omitted list and an empty one stay two
// things from the author's JSON to the decision, and back (F9, C12).
func TestOmittedAndEmptySurviveStorage(t *testing.T) {
	tests := map[string]struct {
		grant, stored string
		want          byClass
	}{
		"omitted": {`{}`, `{}`, gated},
		"null":    {`{"approval":null}`, `{}`, gated},
		"empty":   {`{"approval":[]}`, `{"approval":[]}`, none},
		"a tag":   {`{"approval":["@all"]}`, `{"approval":["@all"]}`, every},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var read v1alpha1.GrantSpec
			if err := json.Unmarshal([]byte(test.grant), &read); err != nil {
				t.Fatal(err)
			}
			stored, err := json.Marshal(read.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.stored, string(stored)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			var again v1alpha1.GrantSpec
			if err := json.Unmarshal(stored, &again); err != nil {
				t.Fatal(err)
			}
			got := byClass{}
			for class := range test.want {
				_, got[class] = ApprovalOf(&again).Requires(DefaultSelectors, "refund", class)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoAnnotationsIsNeverExempt: a tool that says nothing is asked about under
// the default selectors (G3, G6), and a partly annotated one under @destructive
// alone (G4, G5).
func TestNoAnnotationsIsNeverExempt(t *testing.T) {
	for _, trust := range []v1alpha1.AnnotationTrust{v1alpha1.AnnotationsTrusted, v1alpha1.AnnotationsUntrusted} {
		silent := judge(Hints{}, trust)
		if _, required := (Approval{}).Requires(DefaultSelectors, "delete_user", silent.Class); !required {
			t.Errorf("%s: a tool without annotations needs no approval", trust)
		}
		titled := judge(Hints{Present: true}, trust)
		only := Approval{Selectors: selectors{"@destructive"}}
		if _, required := only.Requires(DefaultSelectors, "delete_user", titled.Class); !required {
			t.Errorf("%s: a tool with a title alone needs no approval under @destructive", trust)
		}
	}
}
