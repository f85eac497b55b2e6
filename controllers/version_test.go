// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"remit.dev/remit/api/v1alpha1"
)

func makeRun(namespace, name string, change func(*v1alpha1.RunSpec)) *v1alpha1.Run {
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	change(&run.Spec)
	return run
}

func ofSpec(name string) func(*v1alpha1.RunSpec) {
	return func(s *v1alpha1.RunSpec) { s.SpecRef = &v1alpha1.NamedReference{Name: name} }
}

func ofVersion(name string) func(*v1alpha1.RunSpec) {
	return func(s *v1alpha1.RunSpec) { s.VersionRef = &v1alpha1.NamedReference{Name: name} }
}

// hold does what the Run controller does before it pins a Version.
func hold(t *testing.T, version *v1alpha1.Version) {
	t.Helper()
	update(t, version, func(v *v1alpha1.Version) { controllerutil.AddFinalizer(v, v1alpha1.VersionFinalizer) })
}

// settle writes a Run's status, as the Run controller does.
func settle(t *testing.T, run *v1alpha1.Run, version string, phase v1alpha1.RunPhase) {
	t.Helper()
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
			return err
		}
		run.Status.Version, run.Status.Phase = version, phase
		return admin.Status().Update(ctx, run)
	})
}

func held(version *v1alpha1.Version, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(version), version); err != nil {
			return err
		}
		if got := controllerutil.ContainsFinalizer(version, v1alpha1.VersionFinalizer); got != want {
			return fmt.Errorf("the finalizer is there: %t", got)
		}
		return nil
	}
}

// reconciled asks the Version controller now, so that what it leaves alone has
// been looked at.
func reconciled(t *testing.T, version *v1alpha1.Version) {
	t.Helper()
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(version), version); err != nil {
			return err
		}
		if err := cached(ctx, version); err != nil {
			return err
		}
		_, err := versions.Reconcile(ctx, requestFor(version))
		return err // a conflict with the one in the background, perhaps
	})
}

// The Version stays until the Run ends, though both of its Specs are gone.
func TestPinnedVersionOutlivesItsSpecs(t *testing.T) {
	namespace := env.Namespace(t)
	first, second := makeSpec(namespace, "first", "You help."), makeSpec(namespace, "second", "You help.")
	create(t, first)
	create(t, second)
	awaitReady(t, first, v1alpha1.ReasonPublished)
	awaitReady(t, second, v1alpha1.ReasonPublished)
	version := versionOf(t, first)

	run := makeRun(namespace, "run", ofSpec("first"))
	create(t, run)
	hold(t, version)
	settle(t, run, version.Name, v1alpha1.RunSuspended)

	for _, spec := range []*v1alpha1.Spec{first, second} {
		if err := admin.Delete(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		await(t, gone(spec))
	}
	// No garbage collector runs here: this is what it does once all owners are gone.
	uid := version.UID
	await(t, func(ctx context.Context) error { return admin.Delete(ctx, version, client.Preconditions{UID: &uid}) })
	await(t, held(version, true))
	reconciled(t, version)
	await(t, held(version, true))

	// The same content again, while the old Version is on its way out.
	again := makeSpec(namespace, "first", "You help.")
	create(t, again)
	awaitReady(t, again, v1alpha1.ReasonVersionTerminating)
	if s := kstatusOf(t, again); s != status.InProgressStatus {
		t.Errorf("kstatus reads the Spec as %s", s)
	}

	// Those that wait for the Spec wait for the old Version to go, so they do not hold it.
	create(t, makeRun(namespace, "waits-for-the-spec", ofSpec("first")))
	create(t, makeRun(namespace, "waits-for-the-version", ofVersion(version.Name)))

	settle(t, run, version.Name, v1alpha1.RunComplete)
	awaitReady(t, again, v1alpha1.ReasonPublished)
	if published := versionOf(t, again); published.UID == uid || published.Name != version.Name {
		t.Errorf("%s of uid %s is not the Version made anew", published.Name, published.UID)
	}
}

// Without a Run in the way the finalizer is gone as soon as the last Run ends.
func TestFinalizerGoesWithTheLastRun(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.")
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	version := versionOf(t, spec)
	one, two := makeRun(namespace, "one", ofSpec("helpdesk")), makeRun(namespace, "two", ofVersion(version.Name))
	create(t, one)
	create(t, two)
	hold(t, version)
	settle(t, one, version.Name, v1alpha1.RunRunning)
	settle(t, two, version.Name, v1alpha1.RunRunning)

	settle(t, one, version.Name, v1alpha1.RunFailed)
	await(t, held(version, true))
	reconciled(t, version)
	await(t, held(version, true))

	since := mark(t)
	settle(t, two, version.Name, v1alpha1.RunCancelled)
	await(t, held(version, false))
	if writes := operatorWrites(t, since, namespace); len(writes) != 1 {
		t.Errorf("writes: %v", writes)
	}
}

// A Run adds the finalizer before its status names the Version. In between it is
// known by what it is to execute.
func TestFinalizerWaitsForRunsAboutToPin(t *testing.T) {
	for name, ref := range map[string]func(*v1alpha1.Version) func(*v1alpha1.RunSpec){
		"by their Spec":    func(*v1alpha1.Version) func(*v1alpha1.RunSpec) { return ofSpec("helpdesk") },
		"by their Version": func(v *v1alpha1.Version) func(*v1alpha1.RunSpec) { return ofVersion(v.Name) },
	} {
		t.Run(name, func(t *testing.T) {
			namespace := env.Namespace(t)
			spec := makeSpec(namespace, "helpdesk", "You help.")
			create(t, spec)
			awaitReady(t, spec, v1alpha1.ReasonPublished)
			version := versionOf(t, spec)
			run := makeRun(namespace, "run", ref(version))
			create(t, run)
			elsewhere := makeRun(namespace, "elsewhere", ofSpec("another"))
			create(t, elsewhere)
			hold(t, version)
			reconciled(t, version)
			await(t, held(version, true))

			// It ends before it has pinned anything.
			settle(t, run, "", v1alpha1.RunCancelled)
			await(t, held(version, false))
		})
	}
}

// A pin without the finalizer gets it back.
func TestFinalizerIsRepaired(t *testing.T) {
	namespace := env.Namespace(t)
	spec := makeSpec(namespace, "helpdesk", "You help.")
	create(t, spec)
	awaitReady(t, spec, v1alpha1.ReasonPublished)
	version := versionOf(t, spec)
	run := makeRun(namespace, "run", ofSpec("helpdesk"))
	create(t, run)
	settle(t, run, version.Name, v1alpha1.RunRunning)
	await(t, held(version, true))
}
