// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunPhase is where a Run stands.
//
// +kubebuilder:validation:Enum=Pending;Running;Suspended;Complete;Failed;Cancelled;Abandoned
type RunPhase string

// The phases of a Run. The last four are final.
const (
	// RunPending has no Version yet.
	RunPending RunPhase = "Pending"
	// RunRunning takes steps.
	RunRunning RunPhase = "Running"
	// RunSuspended waits for people.
	RunSuspended RunPhase = "Suspended"
	// RunComplete ended as it should, or stopped with an explanation.
	RunComplete RunPhase = "Complete"
	// RunFailed cannot go on.
	RunFailed RunPhase = "Failed"
	// RunCancelled was cancelled.
	RunCancelled RunPhase = "Cancelled"
	// RunAbandoned waited for people until its suspension expired.
	RunAbandoned RunPhase = "Abandoned"
)

// RunStatus is folded from the log; people and user interfaces read it.
type RunStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is where the Run stands.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`

	// version is the name of the pinned Version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// holder is the replica that takes the steps.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Holder string `json:"holder,omitempty"`

	// startedAt is when the Version was pinned.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// completedAt is when the Run ended, in whichever way.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`

	// steps is the number of model calls so far.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Steps int32 `json:"steps,omitempty"`

	// usage sums what the model calls took.
	// +optional
	Usage Usage `json:"usage,omitempty,omitzero"`

	// waitedSeconds is how long the Run has waited for people, and for its subagents
	// while those did, up to its newest record.
	// +optional
	// +kubebuilder:validation:Minimum=0
	WaitedSeconds int64 `json:"waitedSeconds,omitempty"`

	// pending are the calls that wait for a decision.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	Pending []PendingCall `json:"pending,omitempty"`

	// waitingFor names the tools of the pending calls, or of those that other Runs
	// answer, in one line.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	WaitingFor string `json:"waitingFor,omitempty"`

	// children are the Runs that answer calls of the newest message.
	// +optional
	// +listType=map
	// +listMapKey=callID
	// +kubebuilder:validation:MaxItems=64
	Children []ChildRun `json:"children,omitempty"`

	// decided are the calls that were decided, the newest last; the log holds
	// those that no longer fit.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Decided []DecidedCall `json:"decided,omitempty"`

	// failureStreaks are the tools that failed last, with how often in a row.
	// +optional
	// +listType=map
	// +listMapKey=tool
	// +kubebuilder:validation:MaxItems=128
	FailureStreaks []FailureStreak `json:"failureStreaks,omitempty"`

	// output is the last text of the model.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Output string `json:"output,omitempty"`

	// log is the record of everything that happened.
	// +optional
	Log RunLog `json:"log,omitempty,omitzero"`

	// conditions of the Run: Accepted, Approved, Complete, Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ChildRun is a Run that answers a call.
type ChildRun struct {
	// callID is the call that waits.
	// +required
	// +kubebuilder:validation:MinLength=1
	CallID CallID `json:"callID"`

	// name of the Run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid of the Run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
}

// Usage sums what model calls took, as their providers report it.
type Usage struct {
	// inputTokens read by the models.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InputTokens int64 `json:"inputTokens,omitempty"`

	// outputTokens written by the models.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OutputTokens int64 `json:"outputTokens,omitempty"`
}

// PendingKind says what a pending item asks for.
//
// +kubebuilder:validation:Enum=Tool;Question;Webhook;Run
type PendingKind string

// The kinds of a pending item.
const (
	// PendingTool asks whether a tool call may go ahead.
	PendingTool PendingKind = "Tool"
	// PendingQuestion asks for an answer, which the model reads.
	PendingQuestion PendingKind = "Question"
	// PendingWebhook waits for a request to a URL of its own, whose body the model
	// reads. A person may answer or deny it, too.
	PendingWebhook PendingKind = "Webhook"
	// PendingRun asks whether the Run may begin.
	PendingRun PendingKind = "Run"
)

// RunItem stands for the whole Run where the name of a tool would be: no tool has
// such a name.
const RunItem = "(run)"

// PendingCall is the view of a call that waits for a decision, as it was when
// the Run was suspended.
type PendingCall struct {
	// id of the call: the key of its decision. It is derived from the Run's uid
	// and from what is shown here, so it fits no other call.
	// +required
	ID CallID `json:"id"`

	// kind says what is asked.
	// +required
	Kind PendingKind `json:"kind"`

	// tool is the qualified name of the tool, or "(run)" when kind is Run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Tool string `json:"tool"`

	// stepID is the step of the workflow that makes the call; empty for a call of the
	// model.
	// +optional
	StepID StepID `json:"stepID,omitempty"`

	// class of the tool; empty when kind is Run.
	// +optional
	Class ToolClass `json:"class,omitempty"`

	// arguments are the arguments as indented JSON, cut to fit. Of a Run they are the
	// names of its Spec and its Version and its input.
	// +required
	// +kubebuilder:validation:MaxLength=16384
	Arguments string `json:"arguments"`

	// argumentsDigest is the digest of the whole arguments in canonical form.
	// +required
	ArgumentsDigest Digest `json:"argumentsDigest"`

	// definitionDigest is the digest of the tool's definition, or of the Version when
	// kind is Run.
	// +required
	DefinitionDigest Digest `json:"definitionDigest"`

	// webhook says where the request is awaited, when kind is Webhook.
	// +optional
	Webhook *PendingWebhookStatus `json:"webhook,omitempty"`

	// reason says why a person is asked.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`

	// requestedAt is when the Run was suspended.
	// +required
	RequestedAt metav1.Time `json:"requestedAt"`

	// expiresAt is when the Run is abandoned if nobody has decided.
	// +required
	ExpiresAt metav1.Time `json:"expiresAt"`
}

// PendingWebhookStatus is the request that a pending item of kind Webhook waits for.
type PendingWebhookStatus struct {
	// secretRef names the Secret whose key url holds the URL. Whoever can read it can
	// answer, once.
	// +required
	SecretRef NamedReference `json:"secretRef"`

	// tokenDigest is the digest of the secret part of the URL.
	// +required
	TokenDigest Digest `json:"tokenDigest"`

	// receivedAt is when the request came.
	// +optional
	ReceivedAt *metav1.Time `json:"receivedAt,omitempty"`

	// body of the request, kept until everything that waits with it is decided.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Body string `json:"body,omitempty"`
}

// WebhookSecretType is the type of a Secret that holds the URL of a webhook, and
// WebhookURLKey the key under which it does.
const (
	WebhookSecretType = "remit.dev/webhook"
	WebhookURLKey     = "url"
)

// CallID is the id of a call, made by the operator.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^call-[0-9a-f]{16}$`
type CallID string

// DecidedCall says who decided what, when.
type DecidedCall struct {
	// id of the call.
	// +required
	ID CallID `json:"id"`

	// tool is the qualified name of the tool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Tool string `json:"tool"`

	// kind says what was asked; empty means Tool.
	// +optional
	Kind PendingKind `json:"kind,omitempty"`

	// stepID is the step of the workflow that made the call.
	// +optional
	StepID StepID `json:"stepID,omitempty"`

	// approved as decided.
	// +required
	Approved *bool `json:"approved"`

	// by is the user who decided; empty when the request to a webhook did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by,omitempty"`

	// reason as the user gave it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// decidedAt is when the decision was taken into the log.
	// +required
	DecidedAt metav1.Time `json:"decidedAt"`
}

// FailureStreak counts failures of one tool in a row.
type FailureStreak struct {
	// tool is the name of the tool as the model called it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Tool string `json:"tool"`

	// failures in a row.
	// +required
	// +kubebuilder:validation:Minimum=1
	Failures int32 `json:"failures"`
}
