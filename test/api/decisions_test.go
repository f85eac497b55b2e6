// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/test/testenv"
)

// H19, P20: deciding is one plain merge patch.
func TestApproverDecides(t *testing.T) {
	r := suspended(t, env.Namespace(t), "teapot", first)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"decisions":{"`+first+`":{"approved":true}}}}`))
	if err := approver(t).Patch(t.Context(), r, patch); err != nil {
		t.Fatal(err)
	}
	wantSpec(t, r, `{specRef: {name: helpdesk}, createdBy: author, createdByGroups: ['remit:authors', 'system:authenticated'], decisions: {`+first+`: {approved: true, by: approver}}}`)
}

// H20, P22: by names who decided, whatever the client wrote and on whichever way.
func TestByIsTheRequester(t *testing.T) {
	ns := env.Namespace(t)
	for i, route := range routes(t) {
		t.Run(route.name, func(t *testing.T) {
			r := suspended(t, ns, fmt.Sprint("run-", i), first, second)
			err := route.write(t.Context(), approver(t), r, map[string]any{
				first:  map[string]any{"approved": true, "by": "eve"},
				second: map[string]any{"approved": false, "reason": "too much"},
			})
			if err != nil {
				t.Fatal(err)
			}
			wantSpec(t, r, `{specRef: {name: helpdesk}, createdBy: author, createdByGroups: ['remit:authors', 'system:authenticated'], decisions: {`+
				first+`: {approved: true, by: approver}, `+second+`: {approved: false, by: approver, reason: too much}}}`)
		})
	}
}

// H11, H12, H13: decisions are checked against what is pending, all or nothing.
func TestDecisionsThatDoNotFit(t *testing.T) {
	const other = "call-00000000000000ff"
	r := suspended(t, env.Namespace(t), "teapot", first, second)
	for name, tc := range map[string]struct {
		byCall map[string]any
		want   []string
	}{
		"one of two (H13)":         {map[string]any{first: approve}, []string{partialRule}},
		"not pending (H12)":        {map[string]any{first: approve, second: approve, other: approve}, []string{pendingRule}},
		"another instead":          {map[string]any{first: approve, other: approve}, []string{pendingRule, partialRule}},
		"key with slash and tilde": {map[string]any{first: approve, second: approve, "a/b~c": approve}, []string{pendingRule}},
		"empty key":                {map[string]any{first: approve, second: approve, "": approve}, []string{pendingRule}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, route := range routes(t) {
				err := route.write(t.Context(), approver(t), r, tc.byCall)
				if diff := cmp.Diff(tc.want, causes(t, err)); diff != "" {
					t.Errorf("%s: causes (-want +got):\n%s", route.name, diff)
				}
			}
		})
	}
	wantSpec(t, r, undecided)
}

// Server-side apply refuses these by itself, before any rule, with an error of its own.
func TestDecisionsOfTheWrongShape(t *testing.T) {
	r := suspended(t, env.Namespace(t), "teapot", first, second)
	for name, tc := range map[string]struct {
		decision any
		want     string
	}{
		"without approved":        {map[string]any{"answer": "yes"}, ".approved: Required value"},
		"approved is text":        {map[string]any{"approved": "true"}, `.approved: Invalid value: "string": spec.decisions.` + second + `.approved in body must be of type boolean: "string"`},
		"decision is no object":   {true, `: Invalid value: "boolean": spec.decisions.` + second + ` in body must be of type object: "boolean"`},
		"reason that is too long": {map[string]any{"approved": false, "reason": strings.Repeat("a", 1025)}, ".reason: Too long: may not be more than 1024 bytes"},
		"empty reason":            {map[string]any{"approved": false, "reason": ""}, `.reason: Invalid value: "": spec.decisions.` + second + `.reason in body should be at least 1 chars long`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, route := range routes(t)[:3] {
				err := route.write(t.Context(), approver(t), r, map[string]any{first: approve, second: tc.decision})
				if diff := cmp.Diff([]string{"spec.decisions." + second + tc.want}, causes(t, err)); diff != "" {
					t.Errorf("%s: causes (-want +got):\n%s", route.name, diff)
				}
			}
		})
	}
	wantSpec(t, r, undecided)
}

// A recorded decision stands, while its call is pending and afterwards.
func TestRecordedDecisionNeverChanges(t *testing.T) {
	r := suspended(t, env.Namespace(t), "teapot", first)
	if err := routes(t)[0].write(t.Context(), approver(t), r, map[string]any{first: approve}); err != nil {
		t.Fatal(err)
	}
	const stands = `{specRef: {name: helpdesk}, createdBy: author, createdByGroups: ['remit:authors', 'system:authenticated'], decisions: {` + first + `: {approved: true, by: approver}}}`
	attempts := map[string]struct {
		kind types.PatchType
		body string
	}{
		"other way":      {types.MergePatchType, `{"spec":{"decisions":{"` + first + `":{"approved":false}}}}`},
		"other person":   {types.MergePatchType, `{"spec":{"decisions":{"` + first + `":{"by":"eve"}}}}`},
		"nobody":         {types.MergePatchType, `{"spec":{"decisions":{"` + first + `":{"by":null}}}}`},
		"a reason later": {types.MergePatchType, `{"spec":{"decisions":{"` + first + `":{"reason":"why not"}}}}`},
		"deleted":        {types.MergePatchType, `{"spec":{"decisions":{"` + first + `":null}}}`},
		"all deleted":    {types.MergePatchType, `{"spec":{"decisions":null}}`},
		"removed":        {types.JSONPatchType, `[{"op":"remove","path":"/spec/decisions/` + first + `"}]`},
		"replaced":       {types.JSONPatchType, `[{"op":"replace","path":"/spec/decisions","value":{}}]`},
	}
	try := func(t *testing.T) {
		for name, attempt := range attempts {
			for user, c := range map[string]client.Client{"approver": approver(t), "author": author(t), "admin": admin} {
				err := c.Patch(t.Context(), r.DeepCopy(), client.RawPatch(attempt.kind, []byte(attempt.body)))
				if diff := cmp.Diff([]string{changedRule}, causes(t, err)); diff != "" {
					t.Errorf("%s, by %s: causes (-want +got):\n%s", name, user, diff)
				}
			}
		}
		wantSpec(t, r, stands)
	}
	t.Run("while the call is pending", try)

	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	suspend(t, r)
	t.Run("afterwards", try)

	// What others apply beside it stays possible, by whomever.
	err := author(t).Patch(t.Context(), r, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"cancel":true}}`)))
	if err != nil {
		t.Error(err)
	}
}

// H12: a decision for a call of the past, or of a Run of the same name, decides nothing.
func TestDecisionOutlivesNothing(t *testing.T) {
	ns := env.Namespace(t)
	r := suspended(t, ns, "teapot", first)
	suspend(t, r) // as after the call was revoked or the Run has ended
	byCall := map[string]any{first: approve}
	err := routes(t)[0].write(t.Context(), approver(t), r, byCall)
	if diff := cmp.Diff([]string{pendingRule}, causes(t, err)); diff != "" {
		t.Errorf("no longer pending: causes (-want +got):\n%s", diff)
	}
	if err := author(t).Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r = suspended(t, ns, "teapot", second)
	err = routes(t)[0].write(t.Context(), approver(t), r, byCall)
	if diff := cmp.Diff([]string{pendingRule, partialRule}, causes(t, err)); diff != "" {
		t.Errorf("of the Run of before: causes (-want +got):\n%s", diff)
	}
	wantSpec(t, r, undecided)
}

// The rules and policies stay within their budgets at the bounds of the schema.
func TestDecisionsUpToTheBound(t *testing.T) {
	const round, most = 64, 512
	r := suspended(t, env.Namespace(t), "teapot")
	for decided := 0; decided <= most; decided += round {
		byCall := map[string]any{}
		var calls []string
		for i := range round {
			id := fmt.Sprintf("call-%016x", decided+i)
			calls = append(calls, id)
			byCall[id] = map[string]any{"approved": i%2 == 0}
		}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			t.Fatal(err)
		}
		suspend(t, r, calls...)
		err := approver(t).Patch(t.Context(), r, client.RawPatch(types.MergePatchType, decisions(t, byCall)))
		var want []string
		if decided == most {
			want = []string{`spec.decisions: Too many: 576: must have at most 512 items`}
		}
		if diff := cmp.Diff(want, causes(t, err)); diff != "" {
			t.Fatalf("after %d decisions: causes (-want +got):\n%s", decided, diff)
		}
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	by := map[string]int{}
	for _, d := range r.Spec.Decisions {
		by[d.By]++
	}
	if diff := cmp.Diff(map[string]int{"approver": most}, by); diff != "" {
		t.Errorf("who decided how often (-want +got):\n%s", diff)
	}
}

// Of many who decide at once, half of them yes and half no, one is who decided, and whoever said
// the opposite learns that it does not count.
func TestOneDecisionStands(t *testing.T) {
	r := suspended(t, env.Namespace(t), "teapot", first)
	const people = 50
	accepted := make([]bool, people)
	var wg sync.WaitGroup
	for i := range people {
		c := as(t, fmt.Sprint("approver-", i), testenv.Approvers)
		wg.Go(func() {
			body := fmt.Appendf(nil, `{"spec":{"decisions":{%q:{"approved":%t}}}}`, first, i%2 == 0)
			err := c.Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.MergePatchType, body))
			accepted[i] = err == nil
			if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
				t.Errorf("approver-%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	decision, ok := r.Spec.Decisions[first]
	if !ok || len(r.Spec.Decisions) != 1 {
		t.Fatalf("decisions are %v, want one", r.Spec.Decisions)
	}
	var winner int
	if _, err := fmt.Sscanf(decision.By, "approver-%d", &winner); err != nil {
		t.Fatal(err)
	}
	if !accepted[winner] || *decision.Approved != (winner%2 == 0) {
		t.Errorf("%s is said to have decided %t", decision.By, *decision.Approved)
	}
	// Saying again what was decided changes nothing, and so is no error.
	for i, was := range accepted {
		if was && (i%2 == 0) != *decision.Approved {
			t.Errorf("approver-%d was told that the opposite was accepted", i)
		}
	}
}
