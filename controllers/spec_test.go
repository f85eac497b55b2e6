// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

func makeSpec(namespace, name, instructions string) *v1alpha1.Spec {
	return &v1alpha1.Spec{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.AgentSpec{
			Instructions: instructions,
			Models:       []v1alpha1.Model{{Grant: "openai", Model: "gpt"}},
		},
	}
}

func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// update changes an object until nobody else does at the same time.
func update[T client.Object](t *testing.T, object T, change func(T)) {
	t.Helper()
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return admin.Update(ctx, object)
	})
}

// updateStatus is update for the status.
func updateStatus(t *testing.T, spec *v1alpha1.Spec, change func(*v1alpha1.Spec)) {
	t.Helper()
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(spec), spec); err != nil {
			return err
		}
		change(spec)
		return admin.Status().Update(ctx, spec)
	})
}

// awaitReady waits until the status is about the present content and Ready has
// the reason.
func awaitReady(t *testing.T, spec *v1alpha1.Spec, reason string) {
	t.Helper()
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(spec), spec); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(spec.Status.Conditions, v1alpha1.ConditionReady)
		if spec.Status.ObservedGeneration != spec.Generation || ready == nil || ready.Reason != reason {
			return fmt.Errorf("not %s: %+v", reason, spec.Status)
		}
		return nil
	})
}

func versionOf(t *testing.T, spec *v1alpha1.Spec) *v1alpha1.Version {
	t.Helper()
	version := &v1alpha1.Version{}
	key := client.ObjectKey{Namespace: spec.Namespace, Name: spec.Status.Version}
	if err := admin.Get(t.Context(), key, version); err != nil {
		t.Fatal(err)
	}
	return version
}

func owners(version *v1alpha1.Version) []string {
	var names []string
	for _, o := range version.OwnerReferences {
		names = append(names, fmt.Sprintf("%s %s controller=%t", o.Kind, o.Name, o.Controller != nil))
	}
	slices.Sort(names)
	return names
}

func gone(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%s is there: %w", object.GetName(), err)
	}
}

// kstatusOf is how kubectl wait, Flux and Argo CD read an object.
func kstatusOf(t *testing.T, object runtime.Object) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

func TestPublishing(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.\r\n")
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonPublished)

	want, findings := publish.Publish(spec.Spec, functions)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	version := versionOf(t, spec)
	if spec.Status.Version != want.Name || spec.Status.Hash != want.Hash || version.Spec.Hash != want.Hash {
		t.Errorf("status %+v and spec.hash %s, want %s of %s", spec.Status, version.Spec.Hash, want.Name, want.Hash)
	}
	if digest, err := publish.Digest(version.Spec.Body.Raw); err != nil || digest != want.Hash {
		t.Errorf("the stored body has the digest %s, %v", digest, err)
	}
	if diff := cmp.Diff([]string{"Spec helpdesk controller=false"}, owners(version)); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if s := kstatusOf(t, spec); s != status.CurrentStatus {
		t.Errorf("kstatus reads the Spec as %s", s)
	}
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(version), version); err != nil {
			return err
		}
		if s := kstatusOf(t, version); s != status.CurrentStatus {
			return fmt.Errorf("kstatus reads the Version as %s", s)
		}
		return nil
	})
}

// C1: publishing what is published writes nothing. A change without a meaning is
// noted in the status, and that is all.
func TestRepublishingWritesNothing(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.")
	spec.Spec.Builtins = []v1alpha1.Builtin{"ask_user", "wait_webhook"}
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	version := versionOf(t, spec)
	await(t, verified(version))
	// The cache has to show the operator what it wrote itself.
	await(t, func(ctx context.Context) error { return cached(ctx, spec, version) })

	since := mark(t)
	if _, err := specs.Reconcile(t.Context(), requestFor(spec)); err != nil {
		t.Fatal(err)
	}
	if _, err := versions.Reconcile(t.Context(), requestFor(version)); err != nil {
		t.Fatal(err)
	}
	if writes := operatorWrites(t, since, namespace); len(writes) > 0 {
		t.Errorf("writes without a change: %v", writes)
	}

	published := spec.Status.History[0]
	update(t, spec, func(s *v1alpha1.Spec) { slices.Reverse(s.Spec.Builtins) })
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	if writes := operatorWrites(t, since, namespace); len(writes) != 1 || writes[0].Subresource != "status" {
		t.Errorf("writes after a change without a meaning: %v", writes)
	}
	if diff := cmp.Diff([]v1alpha1.PublishedVersion{published}, spec.Status.History); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// cached says whether the operator's cache shows two objects as they are.
func cached(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		seen := object.DeepCopyObject().(client.Object)
		if err := specs.Get(ctx, client.ObjectKeyFromObject(object), seen); err != nil {
			return err
		}
		if seen.GetResourceVersion() != object.GetResourceVersion() {
			return fmt.Errorf("%s: the cache shows %s, not %s", object.GetName(), seen.GetResourceVersion(), object.GetResourceVersion())
		}
	}
	return nil
}

func verified(version *v1alpha1.Version) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(version), version); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(version.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("not verified: %+v", version.Status)
		}
		return nil
	}
}

// C1: one content is one Version, whichever Specs publish it.
func TestTwoSpecsOneVersion(t *testing.T) {
	namespace := env.Namespace(t)
	first, second := makeSpec(namespace, "first", "You help."), makeSpec(namespace, "second", "You help.\n\n")
	create(t, first)
	create(t, second)
	awaitReady(t, first, v1alpha1.ReasonPublished)
	awaitReady(t, second, v1alpha1.ReasonPublished)
	if first.Status.Version != second.Status.Version {
		t.Fatalf("%s and %s", first.Status.Version, second.Status.Version)
	}
	var all v1alpha1.VersionList
	if err := admin.List(t.Context(), &all, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if len(all.Items) != 1 {
		t.Fatalf("%d Versions", len(all.Items))
	}
	want := []string{"Spec first controller=false", "Spec second controller=false"}
	if diff := cmp.Diff(want, owners(&all.Items[0])); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// Findings are all reported at once, and the last good Version stays current.
func TestValidationFailed(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.")
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	good := spec.Status.DeepCopy()

	update(t, spec, func(s *v1alpha1.Spec) {
		s.Spec.Instructions = "See [[skill:pay]]."
		s.Spec.Builtins = []v1alpha1.Builtin{"run_code"}
	})
	awaitReady(t, spec, v1alpha1.ReasonValidationFailed)
	want := []v1alpha1.Finding{
		{Rule: "sandbox_disabled", Path: "spec.builtins[0]", Message: `builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`},
		{Rule: "dangling_skill_link", Path: "spec.instructions", Message: `line 1 links to "[[skill:pay]]", and there is no skill of this name: correct the link, or add the skill`},
	}
	if diff := cmp.Diff(want, spec.Status.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	ready := meta.FindStatusCondition(spec.Status.Conditions, v1alpha1.ConditionReady)
	message := `2 findings: spec.builtins[0]: ` + want[0].Message + ` (sandbox_disabled); spec.instructions: ` + want[1].Message +
		` (dangling_skill_link). Version ` + good.Version + ` stays current`
	if ready.Status != metav1.ConditionFalse || ready.Message != message {
		t.Errorf("Ready is %s: %s", ready.Status, ready.Message)
	}
	if spec.Status.Version != good.Version || spec.Status.Hash != good.Hash || !cmp.Equal(spec.Status.History, good.History) {
		t.Errorf("the last good Version is not current: %+v", spec.Status)
	}
	if s := kstatusOf(t, spec); s != status.FailedStatus {
		t.Errorf("kstatus reads the Spec as %s", s)
	}

	update(t, spec, func(s *v1alpha1.Spec) { s.Spec.Instructions, s.Spec.Builtins = "You do.", nil })
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	if len(spec.Status.Findings) > 0 || spec.Status.Version == good.Version || meta.IsStatusConditionTrue(spec.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("status after the correction: %+v", spec.Status)
	}
}

// The history is bounded; what falls out of it is given up, and what another Spec
// publishes stays. Going back in Git gives the old Version back.
func TestHistory(t *testing.T) {
	namespace := env.Namespace(t)
	spec, other := makeSpec(namespace, "helpdesk", "Text 0"), makeSpec(namespace, "other", "Text 1")
	create(t, other)
	create(t, spec)
	var published []string
	publishAs := func(text string) {
		update(t, spec, func(s *v1alpha1.Spec) { s.Spec.Instructions = text })
		awaitReady(t, spec, v1alpha1.ReasonPublished)
	}
	for i := range v1alpha1.HistoryLimit + 2 {
		publishAs(fmt.Sprintf("Text %d", i))
		published = append(published, spec.Status.Version)
	}
	historyOf := func() (names []string) {
		for _, h := range spec.Status.History {
			names = append(names, h.Version)
		}
		return names
	}
	newestFirst := slices.Clone(published[2:])
	slices.Reverse(newestFirst)
	if diff := cmp.Diff(newestFirst, historyOf()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	await(t, gone(&v1alpha1.Version{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: published[0]}}))
	awaitReady(t, other, v1alpha1.ReasonPublished)
	await(t, func(ctx context.Context) error {
		shared := &v1alpha1.Version{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(versionOf(t, other)), shared); err != nil {
			return err
		}
		if got := owners(shared); !slices.Equal(got, []string{"Spec other controller=false"}) {
			return fmt.Errorf("owners: %v", got)
		}
		return nil
	})

	before := versionOf(t, spec)
	publishAs("Text 5")
	want := append([]string{published[5]}, slices.DeleteFunc(newestFirst, func(name string) bool { return name == published[5] })...)
	if diff := cmp.Diff(want, historyOf()); diff != "" {
		t.Errorf("history after going back (-want +got):\n%s", diff)
	}
	if first := spec.Status.History[0]; first.Generation != spec.Generation || spec.Status.Version != published[5] {
		t.Errorf("current Version %s, published as of generation %d of %d", spec.Status.Version, first.Generation, spec.Generation)
	}
	if again := versionOf(t, spec); again.CreationTimestamp.After(before.CreationTimestamp.Time) {
		t.Error("the old Version was made anew")
	}
}

// A name that is taken by another content is a loud error, never an overwrite.
func TestDigestCollision(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.")
	result, _ := publish.Publish(spec.Spec, functions)
	foreign := &v1alpha1.Version{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: result.Name},
		Spec: v1alpha1.VersionSpec{
			Hash: result.Hash, Canonicalization: v1alpha1.CanonicalizationV1,
			Body: apiextensionsv1.JSON{Raw: []byte(`{"instructions":"Do harm."}`)},
		},
	}
	create(t, foreign)
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foreign), foreign); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(foreign.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != v1alpha1.ReasonDigestMismatch || kstatusOf(t, foreign) != status.FailedStatus {
			return fmt.Errorf("the mismatch is not seen: %+v", foreign.Status)
		}
		return nil
	})
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonDigestCollision)
	if s := kstatusOf(t, spec); s != status.FailedStatus || spec.Status.Version != "" {
		t.Errorf("kstatus reads the Spec as %s, its Version is %q", s, spec.Status.Version)
	}
	message := meta.FindStatusCondition(spec.Status.Conditions, v1alpha1.ConditionReady).Message
	if want := "has the hash of this Spec, " + string(result.Hash) + ", and another body"; !strings.Contains(message, want) {
		t.Errorf("the condition says %s", message)
	}
	if len(owners(versionOfName(t, namespace, result.Name))) > 0 {
		t.Error("the Spec owns a Version that is not its own")
	}
	if err := admin.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, spec, v1alpha1.ReasonPublished)
}

// A status that somebody else wrote, as a backup does, is put right, and that is all
// that is written. While there are findings it is the last good Version that counts.
func TestForeignStatusIsPutRight(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.")
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	await(t, verified(versionOf(t, spec)))
	spoil := func(s *v1alpha1.SpecStatus) {
		s.Version, s.Hash = "v-00000000000000000000", v1alpha1.Digest("sha256:"+strings.Repeat("0", 64))
	}
	spoils := map[string]func(*v1alpha1.SpecStatus){
		"version and hash": spoil,
		"nothing is left":  func(s *v1alpha1.SpecStatus) { s.Version, s.Hash, s.Conditions = "", "", nil },
		"the generation":   func(s *v1alpha1.SpecStatus) { s.ObservedGeneration = -1 },
	}
	for _, state := range []string{v1alpha1.ReasonPublished, v1alpha1.ReasonValidationFailed} {
		if state == v1alpha1.ReasonValidationFailed {
			update(t, spec, func(s *v1alpha1.Spec) { s.Spec.Instructions = "See [[skill:pay]]." })
			awaitReady(t, spec, state)
		}
		for name, spoil := range spoils {
			t.Run(state+", "+name, func(t *testing.T) {
				good := spec.Status.DeepCopy()
				since := mark(t)
				updateStatus(t, spec, func(s *v1alpha1.Spec) { spoil(&s.Status) })
				await(t, func(ctx context.Context) error {
					if err := admin.Get(ctx, client.ObjectKeyFromObject(spec), spec); err != nil {
						return err
					}
					if diff := cmp.Diff(good, &spec.Status, cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
						return fmt.Errorf("status (-good +got):\n%s", diff)
					}
					return cached(ctx, spec)
				})
				if _, err := specs.Reconcile(t.Context(), requestFor(spec)); err != nil {
					t.Fatal(err)
				}
				if writes := operatorWrites(t, since, namespace); len(writes) != 1 || writes[0].Subresource != "status" {
					t.Errorf("writes: %v", writes)
				}
			})
		}
	}
}

func versionOfName(t *testing.T, namespace, name string) *v1alpha1.Version {
	t.Helper()
	return versionOf(t, &v1alpha1.Spec{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Status: v1alpha1.SpecStatus{Version: name}})
}

// A Version that somebody deletes while its Spec is there is published again.
func TestDeletedVersionComesBack(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.")
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	deleted := versionOf(t, spec)
	if err := admin.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		again := &v1alpha1.Version{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(deleted), again); err != nil {
			return err
		}
		if again.UID == deleted.UID {
			return fmt.Errorf("%s is still there", again.Name)
		}
		return nil
	})
}
