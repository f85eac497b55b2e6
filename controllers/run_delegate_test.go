// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/tools"
)

var delegated = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// reconcilerOf has an API server with these objects. What creates one may be replaced.
func reconcilerOf(t *testing.T, create func() error, objects ...client.Object) *RunReconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Run{}).
		WithIndex(&v1alpha1.Run{}, RunParentField, parentUID).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if create != nil {
					return create()
				}
				object.SetUID("uid-of-child") // as the API server would
				return c.Create(ctx, object, options...)
			}}).Build()
	return &RunReconciler{Client: api, Reader: api, Now: func() time.Time { return delegated },
		Options: RunOptions{ApprovalExpiry: 24 * time.Hour, MaxApprovalExpiry: 24 * time.Hour},
		written: newWrittenVersions(), segments: newSegmentCache(), schemas: pipeline.NewSchemas()}
}

// delegating is a Run whose model has just called a subagent, ten minutes after it began.
func delegating(t *testing.T, create func() error, objects ...client.Object) *runScope {
	t.Helper()
	run, _ := parentAndChild()
	run.Status.Children, run.Status.Log = nil, v1alpha1.RunLog{}
	run.Spec = v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "agent"}, CreatedBy: "author", CreatedByGroups: []string{"team"},
		Limits: &v1alpha1.RunLimits{ApprovalExpiry: &metav1.Duration{Duration: time.Hour}}}
	run.Status.StartedAt = &metav1.Time{Time: delegated.Add(-10 * time.Minute)}
	r := reconcilerOf(t, create, append(objects, run)...)
	s := &runScope{RunReconciler: r, run: &v1alpha1.Run{}, body: &v1alpha1.AgentSpec{
		Subagents: []v1alpha1.Subagent{{Name: "refunds", Description: "Pays back."}},
		Limits:    v1alpha1.Limits{Steps: 9, Deadline: metav1.Duration{Duration: time.Hour}, FailureStreak: 5}}}
	load(t, s)
	call := engine.ModelCall{Tool: v1alpha1.RunSubagent, Arguments: `{"name":"refunds","input":"Pay it back."}`, Definition: s.tools.Definition(v1alpha1.RunSubagent)}
	if err := s.state.Append(delegated, s.state.MessageEntry(engine.ModelMessage{Grant: "model", Model: "small", Calls: []engine.ModelCall{call}})); err != nil {
		t.Fatal(err)
	}
	return s
}

// load begins a step on the Run as it is stored.
func load(t *testing.T, s *runScope) {
	t.Helper()
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "run"}, s.run); err != nil {
		t.Fatal(err)
	}
	s.stored = s.run.Status.DeepCopy()
	s.tools, _ = pipeline.NewToolSet([]pipeline.Tool{tools.RunSubagent(s.body.Subagents)}, s.schemas, 40)
	for _, phase := range []runPhase{loadLog, findChildren} {
		if done, err := phase(t.Context(), s); done || err != nil {
			t.Fatal(done, err)
		}
	}
}

// next is what the engine asks for.
func next(t *testing.T, s *runScope) engine.Action {
	t.Helper()
	action, err := engine.Next(s.input(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return action
}

func (s *runScope) delegateNow(t *testing.T) error {
	t.Helper()
	action, ok := next(t, s).(engine.Delegate)
	if !ok {
		t.Fatalf("the engine asks for %T", action)
	}
	return s.delegate(t.Context(), action)
}

// The Run of a subagent has its parent's Version, creator and expiry, and what is left of its time; the
// parent waits, also after a restart.
func TestDelegate(t *testing.T) {
	s := delegating(t, nil)
	if err := s.delegateNow(t); err != nil {
		t.Fatal(err)
	}
	listed := s.run.Status.Children[0]
	child := &v1alpha1.Run{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: listed.Name}, child); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.RunSpec{
		VersionRef: &v1alpha1.NamedReference{Name: "agent-1"}, Subagent: "refunds", Input: "Pay it back.",
		ParentRef: &v1alpha1.RunParent{Name: "run", UID: "uid-of-parent", CallID: listed.CallID},
		CreatedBy: "author", CreatedByGroups: []string{"team"},
		Limits: &v1alpha1.RunLimits{Deadline: &metav1.Duration{Duration: 50 * time.Minute}, ApprovalExpiry: &metav1.Duration{Duration: time.Hour}},
	}
	if diff := cmp.Diff(want, child.Spec); diff != "" {
		t.Errorf("the child (-want +got):\n%s", diff)
	}
	load(t, s)
	if wait, ok := next(t, s).(engine.Wait); !ok || !wait.Until.Equal(delegated.Add(50*time.Minute)) {
		t.Errorf("the engine asks for %T %v", wait, wait)
	}
	if standing := standingTo(s.run, child); standing != awaited {
		t.Errorf("the child stands %d to its parent", standing)
	}
	if s.run.Status.WaitingFor != v1alpha1.RunSubagent {
		t.Errorf("the Run waits for %q", s.run.Status.WaitingFor)
	}
}

// A step that broke off after it had created the Run finds it again; a Run of somebody else in its place
// is left alone.
func TestDelegateMeetsARunOfItsName(t *testing.T) {
	first := delegating(t, nil)
	call := next(t, first).(engine.Delegate).Calls[0].ID
	taken := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: childName("run", call), UID: "uid-of-other"}}
	taken.Spec.ParentRef = &v1alpha1.RunParent{Name: "run", UID: "uid-of-parent", CallID: call}

	s := delegating(t, nil, taken.DeepCopy())
	if err := s.delegateNow(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]v1alpha1.ChildRun{{CallID: call, Name: taken.Name, UID: "uid-of-other"}}, s.run.Status.Children); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}

	for name, parent := range map[string]*v1alpha1.RunParent{
		"no parent": nil, "another parent": {Name: "run", UID: "uid-of-earlier", CallID: call}, "another call": {Name: "run", UID: "uid-of-parent", CallID: "call-1111111111111111"},
	} {
		t.Run(name, func(t *testing.T) {
			other := taken.DeepCopy()
			other.Spec.ParentRef = parent
			s := delegating(t, nil, other)
			if err := s.delegateNow(t); err != nil {
				t.Fatal(err)
			}
			outcome := s.children[call].Outcome
			if outcome == nil || outcome.Error != v1alpha1.ErrorTool || !strings.Contains(outcome.Content, "another Run has its name") || len(s.run.Status.Children) > 0 {
				t.Errorf("the outcome is %+v, and listed are %+v", outcome, s.run.Status.Children)
			}
		})
	}
}

// What the API server will never take is an answer for the model; while it is away the message of the model
// is kept, so that the next try costs no other one.
func TestDelegateIsRefused(t *testing.T) {
	runs := v1alpha1.GroupVersion.WithResource("runs").GroupResource()
	s := delegating(t, func() error { return apierrors.NewForbidden(runs, "run", errors.New("exceeded quota")) })
	if err := s.delegateNow(t); err != nil {
		t.Fatal(err)
	}
	added, ok := next(t, s).(engine.Append)
	if !ok || added.Entries[0].Result.Error != v1alpha1.ErrorTool || !strings.Contains(added.Entries[0].Result.Content, "exceeded quota") {
		t.Errorf("the model reads %+v", added)
	}

	away := apierrors.NewServiceUnavailable("away")
	s = delegating(t, func() error { return away })
	if err := s.delegateNow(t); !errors.Is(err, away) {
		t.Errorf("the step ends with %v", err)
	}
	load(t, s)
	if again, ok := next(t, s).(engine.Delegate); !ok || len(again.Calls) != 1 {
		t.Errorf("after the restart the engine asks for %T", next(t, s))
	}
}

// The time that a child waits for people is not counted as work of its parent, which no clock wakes then.
func TestDeadlineStandsStillWhileAChildWaitsForPeople(t *testing.T) {
	s := delegating(t, nil)
	if err := s.delegateNow(t); err != nil {
		t.Fatal(err)
	}
	child := &v1alpha1.Run{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: s.run.Status.Children[0].Name}, child); err != nil {
		t.Fatal(err)
	}
	at := func(minutes int) metav1.Time {
		return metav1.NewTime(delegated.Add(time.Duration(minutes) * time.Minute))
	}
	child.CreationTimestamp = at(0)
	if err := s.Update(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	child.Status.Phase = v1alpha1.RunSuspended
	child.Status.Pending = []v1alpha1.PendingCall{{ID: "call-3333333333333333", RequestedAt: at(5)}}
	update := func() {
		t.Helper()
		if err := s.Status().Update(t.Context(), child); err != nil {
			t.Fatal(err)
		}
		load(t, s)
	}
	s.Now = func() time.Time { return delegated.Add(20 * time.Hour) }
	update()
	wait, ok := next(t, s).(engine.Wait)
	if left := s.input(t.Context()).Left(); !ok || left != 45*time.Minute {
		t.Errorf("the engine asks for %T with %s left, want 45m", wait, left)
	}
	if result := s.wakeAt(wait.Until); result != (ctrl.Result{}) {
		t.Errorf("the Run is taken up again by the clock: %+v", result)
	}

	child.Status.Phase = v1alpha1.RunRunning
	child.Status.Pending, child.Status.WaitedSeconds = nil, (20*60-5)*60
	s.Now = func() time.Time { return delegated.Add(20*time.Hour + 46*time.Minute) }
	update()
	if ended, ok := next(t, s).(engine.Append); !ok || ended.Entries[0].End == nil || ended.Entries[0].End.Reason != v1alpha1.ReasonDeadlineExceeded {
		t.Errorf("46 minutes later the engine asks for %+v", next(t, s))
	}
}

// A Run whose parent is gone, has ended, or does not list it takes no step.
func TestFollowParent(t *testing.T) {
	for name, test := range map[string]struct {
		change func(parent, child *v1alpha1.Run)
		age    time.Duration
		reason string
	}{
		"the parent waits":               {func(_, _ *v1alpha1.Run) {}, 0, ""},
		"the parent was deleted":         {func(p, _ *v1alpha1.Run) { p.Name = "other" }, 0, `Run "run", whose subagent this is, was deleted`},
		"the parent was made again":      {func(p, _ *v1alpha1.Run) { p.UID = "another" }, 0, `Run "run", whose subagent this is, was deleted`},
		"the parent has ended":           {func(p, _ *v1alpha1.Run) { p.Status.Phase = v1alpha1.RunFailed }, 0, `Run "run", whose subagent this is, has ended`},
		"the parent is being cancelled":  {func(p, _ *v1alpha1.Run) { p.Spec.Cancel = true }, 0, `Run "run", whose subagent this is, has ended`},
		"the parent is about to list it": {func(p, _ *v1alpha1.Run) { p.Status.Children = nil }, 100 * listingPatience, "(when the parent changes)"},
		"the parent may come to it":      {func(p, _ *v1alpha1.Run) { p.Status.Children, p.Status.Log.Records = nil, nil }, time.Second, "(later)"},
		"the parent never comes to it":   {func(p, _ *v1alpha1.Run) { p.Status.Children, p.Status.Log.Records = nil, nil }, listingPatience, `Run "run" does not wait for call call-0123456789abcdef`},
		"it is another's":                {func(_, c *v1alpha1.Run) { c.Spec.Input = "Pay me." }, 0, `Run "run" does not wait for call call-0123456789abcdef`},
	} {
		t.Run(name, func(t *testing.T) {
			parent, child := parentAndChild()
			child.CreationTimestamp = metav1.NewTime(delegated.Add(-test.age))
			test.change(parent, child)
			s := &runScope{RunReconciler: reconcilerOf(t, nil, parent, child), run: child, stored: &v1alpha1.RunStatus{}}
			done, err := followParent(t.Context(), s)
			after := map[string]time.Duration{"(later)": listingPatience - test.age, "(when the parent changes)": 0}
			if later, put := errors.AsType[*deferError](err); put {
				if want, ok := after[test.reason]; !ok || later.after != want {
					t.Errorf("put off by %s, because %q", later.after, test.reason)
				}
				return
			}
			if err != nil || s.orphaned != test.reason || done != (test.reason != "") {
				t.Fatalf("done %t, error %v, because %q", done, err, s.orphaned)
			}
			complete := meta.FindStatusCondition(child.Status.Conditions, v1alpha1.ConditionComplete)
			if done && (s.run.Status.Phase != v1alpha1.RunCancelled || complete.Reason != v1alpha1.ReasonParentEnded || complete.Message != test.reason) {
				t.Errorf("the Run is %s: %+v", s.run.Status.Phase, complete)
			}
		})
	}
}
