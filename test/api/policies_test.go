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

	"remit.dev/remit/api/v1alpha1"
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

// Where the mutating policy is missing, as before Kubernetes 1.36, the validating one lets nobody
// write anything but the truth.
func TestWithoutStamps(t *testing.T) {
	ns := env.Namespace(t)
	waiting := suspended(t, ns, "waiting", first)
	create := func(ctx context.Context, createdBy string) error {
		return author(t).Create(ctx, &v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "run-", Namespace: ns},
			Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "helpdesk"}, CreatedBy: createdBy},
		}, client.DryRunAll)
	}

	kubectl(t, "delete", "-k", "../../config/admission/stamps")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if _, err := env.Kubectl(ctx, "apply", "--server-side", "-k", "../../config/admission/stamps"); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func() error { return create(ctx, "") })
	})
	eventually(t.Context(), t, func() error {
		if create(t.Context(), "") == nil {
			return errors.New("createdBy is still stamped")
		}
		return nil
	})

	for _, createdBy := range []string{"", "eve"} {
		message := forbidden(t, create(t.Context(), createdBy), decisionsPolicy)
		if diff := cmp.Diff(`spec.createdBy must be "author", the user who creates the Run`, message); diff != "" {
			t.Errorf("createdBy %q: message (-want +got):\n%s", createdBy, diff)
		}
	}
	if err := create(t.Context(), "author"); err != nil {
		t.Errorf("the true creator: %v", err)
	}

	decide := routes(t)[0].write
	for _, decision := range []map[string]any{{"approved": true}, {"approved": true, "by": "eve"}} {
		err := decide(t.Context(), approver(t), waiting, map[string]any{first: decision})
		if diff := cmp.Diff(`by of every new decision must be "approver", the user who decides`, forbidden(t, err, decisionsPolicy)); diff != "" {
			t.Errorf("%v: message (-want +got):\n%s", decision, diff)
		}
	}
	err := decide(t.Context(), approver(t), waiting, map[string]any{first: map[string]any{"approved": true, "by": "approver"}})
	if err != nil {
		t.Errorf("the true approver: %v", err)
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
}
