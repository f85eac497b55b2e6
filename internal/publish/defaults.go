// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

// The defaults of the CRD.
const (
	defaultSteps         = 32
	defaultDeadline      = time.Hour
	defaultFailureStreak = 5
	defaultAttempts      = 1
	defaultTimeout       = 30 * time.Second
	defaultTimeZone      = "Etc/UTC"
	defaultMaxPages      = 1
)

// Default fills in the CRD's defaults. An API server has done so already; what
// does not come through one gets the same, as an omitted field and its default
// are one thing. So are, for what is free-form, no parameters or arguments and empty ones.
func Default(spec *v1alpha1.AgentSpec) {
	for i := range spec.Models {
		if parameters := spec.Models[i].Parameters; parameters != nil && saysNothing(parameters.Raw) {
			spec.Models[i].Parameters = nil
		}
	}
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
	for i := range spec.MCP {
		dropDefault(&spec.MCP[i].MaxPages, defaultMaxPages)
	}
	for i := range spec.Subagents {
		for j := range spec.Subagents[i].MCP {
			dropDefault(&spec.Subagents[i].MCP[j].MaxPages, defaultMaxPages)
		}
	}
	for i := range spec.Schedules {
		setDefault(&spec.Schedules[i].TimeZone, defaultTimeZone)
	}
	if spec.Workflow != nil {
		for i := range spec.Workflow.Steps {
			if arguments := spec.Workflow.Steps[i].Arguments; arguments != nil && saysNothing(arguments.Raw) {
				spec.Workflow.Steps[i].Arguments = nil
			}
		}
	}
}

// dropDefault leaves a field out that says what omitting it means.
func dropDefault[T comparable](value *T, byDefault T) {
	if *value == byDefault {
		var zero T
		*value = zero
	}
}

func saysNothing(raw []byte) bool {
	text, err := canonical.JSON(raw)
	return err == nil && (string(text) == "{}" || string(text) == "null")
}

func setDefault[T comparable](value *T, byDefault T) {
	var zero T
	if *value == zero {
		*value = byDefault
	}
}
