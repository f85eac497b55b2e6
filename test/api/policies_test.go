// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/test/testenv"
)

const dutiesPolicy = "remit-separation-of-duties"

// kubectl runs kubectl as an admin.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := env.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventually waits until the API server has taken up a change of its policies.
func eventually(ctx context.Context, t *testing.T, try func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

// Where a namespace opts in, the creator of a Run does not approve it, with whatever rights.
func TestSeparationOfDuties(t *testing.T) {
	kubectl(t, "apply", "-k", "../../config/admission/separation-of-duties")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := env.Kubectl(ctx, "delete", "-k", "../../config/admission/separation-of-duties"); err != nil {
			t.Fatal(err)
		}
	})
	strict, lax := env.Namespace(t), env.Namespace(t)
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"remit.dev/separation-of-duties":"true"}}}`))
	if err := admin.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: strict}}, label); err != nil {
		t.Fatal(err)
	}
	both := as(t, "author", testenv.Authors, testenv.Approvers)
	own, free := suspended(t, strict, "teapot", first), suspended(t, lax, "teapot", first)

	patch := client.RawPatch(types.MergePatchType, decisions(t, map[string]any{first: approve}))
	eventually(t.Context(), t, func() error {
		if both.Patch(t.Context(), own.DeepCopy(), patch, client.DryRunAll) == nil {
			return errors.New("the policy is not in force yet")
		}
		return nil
	})
	for _, route := range routes(t) {
		err := route.write(t.Context(), both, own, map[string]any{first: approve})
		want := fmt.Sprintf(`user "author" may not approve: in namespace %q a Run must be approved by somebody other than its known creator`, strict)
		if diff := cmp.Diff(want, forbidden(t, err, dutiesPolicy)); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", route.name, diff)
		}
	}
	if err := approver(t).Patch(t.Context(), own, patch); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	if err := both.Patch(t.Context(), free, patch); err != nil {
		t.Errorf("a namespace that did not opt in: %v", err)
	}
	// A subagent's Run has the creator of its parent, or is nobody's and nobody's to decide.
	for run, edits := range map[string]edits{"known": nil, "unknown": {"spec.createdBy": absent, "spec.createdByGroups": absent}} {
		r := subagentsRun(t, strict, run, edits)
		suspend(t, r, first)
		err := both.Patch(t.Context(), r.DeepCopy(), patch)
		want := fmt.Sprintf(`user "author" may not approve: in namespace %q a Run must be approved by somebody other than its known creator`, strict)
		if diff := cmp.Diff(want, forbidden(t, err, dutiesPolicy)); diff != "" {
			t.Errorf("%s subagent's Run: message (-want +got):\n%s", run, diff)
		}
		if err := approver(t).Patch(t.Context(), r, patch); (err == nil) != (run == "known") {
			t.Errorf("%s subagent's Run, by somebody else: %v", run, err)
		}
	}
}
