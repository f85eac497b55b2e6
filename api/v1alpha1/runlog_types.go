// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunLog is the record of everything that happened in a Run. Its tail is here;
// older parts are sealed into immutable ConfigMaps.
type RunLog struct {
	// sealed are the older parts, the oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Sealed []SealedSegment `json:"sealed,omitempty"`

	// trace says how far the newest calls came in the pipeline, one entry for
	// each step in which a call was judged.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Trace []TraceEntry `json:"trace,omitempty"`

	// records are the newest records, in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Records []Record `json:"records,omitempty"`
}

// Stage is a stage of the pipeline that every call goes through, in this order.
//
// +kubebuilder:validation:Enum=resolve;narrow;decode;validate;classify;policy;approve;dedupe;credential;watermark;execute;envelope;artifact;record
type Stage string

// The stages, in their order.
const (
	// StageResolve finds the tool by its name.
	StageResolve Stage = "resolve"
	// StageNarrow refuses a tool that is not callable now.
	StageNarrow Stage = "narrow"
	// StageDecode reads the arguments.
	StageDecode Stage = "decode"
	// StageValidate checks the arguments against the schema.
	StageValidate Stage = "validate"
	// StageClassify says what the call may do.
	StageClassify Stage = "classify"
	// StagePolicy asks the policy of the Grant.
	StagePolicy Stage = "policy"
	// StageApprove says whether a person must approve.
	StageApprove Stage = "approve"
	// StageDedupe refuses to make one call twice.
	StageDedupe Stage = "dedupe"
	// StageCredential resolves the credential.
	StageCredential Stage = "credential"
	// StageWatermark writes down what is about to be done.
	StageWatermark Stage = "watermark"
	// StageExecute makes the call.
	StageExecute Stage = "execute"
	// StageEnvelope reads the result.
	StageEnvelope Stage = "envelope"
	// StageArtifact puts large content aside.
	StageArtifact Stage = "artifact"
	// StageRecord appends the result to the log.
	StageRecord Stage = "record"
)

// TraceEntry says how far a call came in one step.
type TraceEntry struct {
	// id of the call.
	// +required
	ID CallID `json:"id"`

	// stage is the last one that the call reached. It has passed those before it.
	// +required
	Stage Stage `json:"stage"`

	// error is why the stage refused the call; empty when it did not.
	// +optional
	Error ErrorKind `json:"error,omitempty"`
}

// SealedSegment names an immutable ConfigMap that holds records.
type SealedSegment struct {
	// configMap is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap"`

	// digest of its content.
	// +required
	Digest Digest `json:"digest"`

	// records is how many it holds.
	// +required
	// +kubebuilder:validation:Minimum=1
	Records int32 `json:"records"`
}

// RecordType is the discriminator of a Record.
//
// +kubebuilder:validation:Enum=Message;Watermark;Result;Suspension;Decision;End
type RecordType string

// The types of a record.
const (
	// RecordMessage is a message of the model.
	RecordMessage RecordType = "Message"
	// RecordWatermark is written ahead of a call that may have an effect.
	RecordWatermark RecordType = "Watermark"
	// RecordResult is the outcome of a call.
	RecordResult RecordType = "Result"
	// RecordSuspension lists the calls that wait for people.
	RecordSuspension RecordType = "Suspension"
	// RecordDecision is a person's answer. The model never sees it.
	RecordDecision RecordType = "Decision"
	// RecordEnd is the last record of a log.
	RecordEnd RecordType = "End"
)

// Record is one entry of a Run's log. Exactly the member that type names is set.
type Record struct {
	// sequence counts the records of a Run from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Sequence int64 `json:"sequence"`

	// type names the member that is set.
	// +required
	Type RecordType `json:"type"`

	// time of the record.
	// +required
	Time metav1.Time `json:"time"`

	// digest of the record before this one and of this one's content.
	// +required
	Digest Digest `json:"digest"`

	// message of the model.
	// +optional
	Message *MessageRecord `json:"message,omitempty"`

	// watermark of the calls that are about to be made.
	// +optional
	Watermark *WatermarkRecord `json:"watermark,omitempty"`

	// result of a call.
	// +optional
	Result *ResultRecord `json:"result,omitempty"`

	// suspension of calls.
	// +optional
	Suspension *SuspensionRecord `json:"suspension,omitempty"`

	// decision of a person.
	// +optional
	Decision *DecisionRecord `json:"decision,omitempty"`

	// end of the Run.
	// +optional
	End *EndRecord `json:"end,omitempty"`
}

// MessageRecord is a message of the model: text, calls, or both.
type MessageRecord struct {
	// grant and model that gave the message; empty for a message that the
	// operator wrote itself.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Grant string `json:"grant,omitempty"`

	// model that gave the message.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model,omitempty"`

	// text of the message.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Text string `json:"text,omitempty"`

	// truncated says that the model's length limit cut the message off.
	// +optional
	Truncated bool `json:"truncated,omitempty"`

	// calls that the model asks for, in its order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Calls []CallRecord `json:"calls,omitempty"`

	// usage of the model call.
	// +optional
	Usage Usage `json:"usage,omitempty,omitzero"`

	// attempts that failed before this message came.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Attempts []ModelAttempt `json:"attempts,omitempty"`
}

// ModelAttempt is a model call that gave nothing usable.
type ModelAttempt struct {
	// grant of the model.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Grant string `json:"grant"`

	// model that was called.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model"`

	// kind of the failure.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Kind string `json:"kind"`

	// detail of the failure, bounded, without secrets.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Detail string `json:"detail,omitempty"`
}

// CallRecord is one call that the model, or a step of the workflow, asks for, as it
// wrote it.
type CallRecord struct {
	// id of the call.
	// +required
	ID CallID `json:"id"`

	// tool is the name that the model wrote, cut to fit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Tool string `json:"tool"`

	// arguments as the model wrote them; not necessarily JSON.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Arguments string `json:"arguments,omitempty"`

	// via is call_tool where the model named the tool and its arguments inside a
	// call of that tool. The call is judged as what it names.
	// +optional
	Via CallVia `json:"via,omitempty"`

	// definitionDigest is the digest of the tool's definition when the model
	// was shown it; empty when it was not.
	// +optional
	DefinitionDigest Digest `json:"definitionDigest,omitempty"`

	// stepID is the step of the workflow that makes the call.
	// +optional
	StepID StepID `json:"stepID,omitempty"`

	// whole says that the call stands for the whole Run, which a person must let
	// begin. The operator writes it, and the model never sees it.
	// +optional
	Whole bool `json:"whole,omitempty"`
}

// CallVia is the tool through which a deferred tool is called.
//
// +kubebuilder:validation:Enum=call_tool
type CallVia string

// ViaCallTool is a call that the model made through call_tool.
const ViaCallTool CallVia = "call_tool"

// WatermarkRecord is durable before anything of its calls is sent.
type WatermarkRecord struct {
	// calls that are about to be made.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Calls []WatermarkedCall `json:"calls"`
}

// WatermarkedCall is one call of a watermark.
type WatermarkedCall struct {
	// id of the call.
	// +required
	ID CallID `json:"id"`

	// tool is the qualified name of the tool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Tool string `json:"tool"`

	// argumentsDigest is the digest of the arguments in canonical form.
	// +required
	ArgumentsDigest Digest `json:"argumentsDigest"`

	// parent is the call whose program makes this one; empty for a call of the model.
	// +optional
	Parent CallID `json:"parent,omitempty"`

	// idempotencyKey is sent along where the protocol has a place for it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	IdempotencyKey string `json:"idempotencyKey"`
}

// ErrorKind says why a call failed; the model reads it.
//
// +kubebuilder:validation:Enum=unknown_tool;tool_unavailable;tool_changed;invalid_arguments;denied;tool_error;timeout;cancelled;server_unavailable;unauthorized;outcome_unknown;bad_result;approval_required_in_program
type ErrorKind string

// The kinds of a failed call.
const (
	// ErrorUnknownTool: there is no tool of that name.
	ErrorUnknownTool ErrorKind = "unknown_tool"
	// ErrorToolUnavailable: the tool was revoked while the call waited.
	ErrorToolUnavailable ErrorKind = "tool_unavailable"
	// ErrorToolChanged: the tool's definition changed while the call waited.
	ErrorToolChanged ErrorKind = "tool_changed"
	// ErrorInvalidArguments: the arguments are not JSON or do not fit the schema.
	ErrorInvalidArguments ErrorKind = "invalid_arguments"
	// ErrorDenied: a person or a policy said no.
	ErrorDenied ErrorKind = "denied"
	// ErrorTool: the tool itself reported a failure.
	ErrorTool ErrorKind = "tool_error"
	// ErrorTimeout: the tool did not answer in time, and had no effect.
	ErrorTimeout ErrorKind = "timeout"
	// ErrorCancelled: the Run was cancelled while the call was made.
	ErrorCancelled ErrorKind = "cancelled"
	// ErrorServerUnavailable: the tool's server cannot be reached.
	ErrorServerUnavailable ErrorKind = "server_unavailable"
	// ErrorUnauthorized: the tool's server refused the credential.
	ErrorUnauthorized ErrorKind = "unauthorized"
	// ErrorOutcomeUnknown: the call may or may not have had its effect, and is
	// not made again.
	ErrorOutcomeUnknown ErrorKind = "outcome_unknown"
	// ErrorBadResult: what the tool answered cannot be used.
	ErrorBadResult ErrorKind = "bad_result"
	// ErrorApprovalRequiredInProgram: a program called a tool that a person must
	// approve, and a program cannot wait.
	ErrorApprovalRequiredInProgram ErrorKind = "approval_required_in_program"
)

// ResultRecord is the outcome of one call.
type ResultRecord struct {
	// id of the call.
	// +required
	ID CallID `json:"id"`

	// content is what the model reads: the tool's text, or the message of the
	// failure.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Content string `json:"content,omitempty"`

	// error is the kind of the failure; empty on success.
	// +optional
	Error ErrorKind `json:"error,omitempty"`

	// workedSeconds is how long the Run worked that answered the call of a subagent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	WorkedSeconds *int64 `json:"workedSeconds,omitempty"`

	// envelope says in which form the content is, where it has one.
	// +optional
	Envelope *ResultEnvelope `json:"envelope,omitempty"`

	// inner are the calls that the call's own program made or tried to make.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Inner []InnerCall `json:"inner,omitempty"`

	// artifacts are what was put aside of the result.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=9
	Artifacts []ArtifactReference `json:"artifacts,omitempty"`
}

// InnerCall is a call that a program made: its parent is the call whose result it
// is in.
type InnerCall struct {
	// id of the call.
	// +required
	ID CallID `json:"id"`

	// tool is the name that the program gave, cut to fit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Tool string `json:"tool"`

	// arguments as JSON, cut to fit.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Arguments string `json:"arguments,omitempty"`

	// error is the kind of the failure; empty on success.
	// +optional
	Error ErrorKind `json:"error,omitempty"`

	// content is what the program read, cut to fit.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Content string `json:"content,omitempty"`
}

// EnvelopeKind is a form of results.
//
// +kubebuilder:validation:Enum=Records;Tabular;Artifact;Unreadable
type EnvelopeKind string

// The forms of results.
const (
	// EnvelopeRecords is a list of records whose shape the tool declares.
	EnvelopeRecords EnvelopeKind = "Records"
	// EnvelopeTabular is a table that brings its columns along.
	EnvelopeTabular EnvelopeKind = "Tabular"
	// EnvelopeArtifact is a reference to what the tool has put aside.
	EnvelopeArtifact EnvelopeKind = "Artifact"
	// EnvelopeUnreadable is a result that is not what its tool declares.
	EnvelopeUnreadable EnvelopeKind = "Unreadable"
)

// ResultEnvelope is what the envelope of a result says beside its items.
type ResultEnvelope struct {
	// kind of the envelope.
	// +required
	Kind EnvelopeKind `json:"kind"`

	// count of the records, rows or artifacts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count int64 `json:"count,omitempty"`

	// truncated says that the list was cut short.
	// +optional
	Truncated bool `json:"truncated,omitempty"`

	// resumable says that a truncated list goes on with its next_cursor.
	// +optional
	Resumable bool `json:"resumable,omitempty"`

	// stopReason is why the read ended early, in the tool's words.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	StopReason string `json:"stopReason,omitempty"`

	// warnings of the tool, to be passed on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Warnings []string `json:"warnings,omitempty"`

	// notices is how many places of the envelope were read otherwise than they
	// were written.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Notices int32 `json:"notices,omitempty"`
}

// How the ConfigMap of an artifact is written.
const (
	// ArtifactLabel is on every artifact, with the value "true".
	ArtifactLabel = "remit.dev/artifact"
	// MediaTypeAnnotation is the media type as the tool gave it.
	MediaTypeAnnotation = "remit.dev/media-type"
	// ArtifactKey is the key of the content in binaryData.
	ArtifactKey = "content"
)

// ArtifactReference names something that was put aside: the ConfigMap of that name
// holds it.
type ArtifactReference struct {
	// reference is an opaque name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Reference string `json:"reference"`

	// mediaType as the tool gave it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	MediaType string `json:"mediaType"`

	// bytes is its size.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes,omitempty"`
}

// SuspensionRecord lists the calls that wait for people; what they are is read
// from the message.
type SuspensionRecord struct {
	// message is the sequence of the message that asks for the calls.
	// +required
	// +kubebuilder:validation:Minimum=1
	Message int64 `json:"message"`

	// calls that wait.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Calls []CallID `json:"calls"`
}

// DecisionRecord is a person's answer to one call.
type DecisionRecord struct {
	// id of the call.
	// +required
	ID CallID `json:"id"`

	// approved as decided.
	// +required
	Approved *bool `json:"approved"`

	// answer as the user gave it.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Answer string `json:"answer,omitempty"`

	// reason as the user gave it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// by is the user who decided, as the API server stamped it; empty when the
	// request to a webhook did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by,omitempty"`
}

// EndRecord says how the Run ended.
type EndRecord struct {
	// phase is the final phase.
	// +required
	Phase RunPhase `json:"phase"`

	// reason of the end: a reason of the Complete condition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// message says what happened and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}
