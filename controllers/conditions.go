// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"remit.dev/remit/api/v1alpha1"
)

// conditionSet writes conditions that kstatus reads: Ready, and beside a Ready that
// is False either Stalled, when somebody has to act, or Reconciling.
type conditionSet struct {
	conditions *[]metav1.Condition
	generation int64
	now        time.Time
}

func (c conditionSet) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: bounded(message, 4096),
		ObservedGeneration: c.generation, LastTransitionTime: metav1.NewTime(c.now),
	})
}

func (c conditionSet) remove(kind string) { meta.RemoveStatusCondition(c.conditions, kind) }

func (c conditionSet) ready(reason, message string) {
	c.set(v1alpha1.ConditionReady, metav1.ConditionTrue, reason, message)
	c.remove(v1alpha1.ConditionReconciling)
	c.remove(v1alpha1.ConditionStalled)
}

func (c conditionSet) notReady(reason, message string, stalled bool) {
	c.set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	present, absent := v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled
	if stalled {
		present, absent = absent, present
	}
	c.set(present, metav1.ConditionTrue, reason, message)
	c.remove(absent)
}

func condition(conditions []metav1.Condition, kind string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, kind)
}

func workers(count int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: count}
}
