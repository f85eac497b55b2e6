// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/test/testenv"
)

// Other tests count writes with it: each is there once, as soon as its answer is, and reads are not.
func TestWritesAreCounted(t *testing.T) {
	ns := env.Namespace(t)
	mark, err := env.Mark()
	if err != nil {
		t.Fatal(err)
	}
	r := suspended(t, ns, "teapot", first)
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(r), &v1alpha1.Run{}); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, decisions(t, map[string]any{first: approve}))
	forbidden(t, author(t).Patch(t.Context(), r.DeepCopy(), patch), decisionsPolicy)
	if err := author(t).Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got, err := env.Writes(mark)
	if err != nil {
		t.Fatal(err)
	}
	want := []testenv.Write{
		{User: "author", Verb: "create"},
		{User: "admin", Verb: "update", Subresource: "status", Name: "teapot"},
		{User: "author", Verb: "patch", Name: "teapot"},
		{User: "author", Verb: "delete", Name: "teapot"},
	}
	for i := range want {
		want[i].Group, want[i].Resource, want[i].Namespace = "remit.dev", "runs", ns
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(testenv.Write{}, "UserAgent")); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
