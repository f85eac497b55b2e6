// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// The defaults of the CRD.
const (
	defaultSteps         = 32
	defaultDeadline      = time.Hour
	defaultFailureStreak = 5
	defaultAttempts      = 1
	defaultTimeout       = 30 * time.Second
	defaultTimeZone      = "Etc/UTC"
)

// Default fills in the CRD's defaults. An API server has done so already; what
// does not come through one gets the same, as an omitted field and its default
// are one thing.
func Default(spec *v1alpha1.AgentSpec) {
	setDefault(&spec.Limits.Steps, defaultSteps)
	setDefault(&spec.Limits.Deadline, metav1.Duration{Duration: defaultDeadline})
	setDefault(&spec.Limits.FailureStreak, defaultFailureStreak)
	for i := range spec.Tools {
		tool := &spec.Tools[i]
		setDefault(&tool.Attempts, defaultAttempts)
		setDefault(&tool.Timeout, metav1.Duration{Duration: defaultTimeout})
		if tool.Code != nil {
			setDefault(&tool.Code.Language, v1alpha1.CodeStarlark)
		}
	}
	for i := range spec.Schedules {
		setDefault(&spec.Schedules[i].TimeZone, defaultTimeZone)
	}
}

func setDefault[T comparable](value *T, byDefault T) {
	var zero T
	if *value == zero {
		*value = byDefault
	}
}
