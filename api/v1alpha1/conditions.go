// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types. Ready is on every kind but Run. Reconciling and Stalled have
// negative polarity, are present only while true, and follow kstatus.
const (
	// ConditionReady is True when the object does what its spec says.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator still works towards the
	// spec without anybody's help.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when somebody has to change something first.
	ConditionStalled = "Stalled"
	// ConditionReachable is on MCPServer: the last discovery reached the server.
	ConditionReachable = "Reachable"
	// ConditionAuthenticated is on MCPServer: the server took the credential. It is
	// on a Grant that names one from the first call of a Run on that the server
	// refuses for its credential.
	ConditionAuthenticated = "Authenticated"
	// ConditionAccepted is on Run: it names a Version that can be executed.
	ConditionAccepted = "Accepted"
	// ConditionApproved is on Run: False while calls wait for a person and when one
	// of the last that waited was denied, True when all of those were approved.
	ConditionApproved = "Approved"
	// ConditionComplete is on Run: True when it ended as it should, False with
	// the reason while it has not or when it never will.
	ConditionComplete = "Complete"
)

// Reasons of Spec's conditions.
const (
	// ReasonPublished: the Spec's content is the Version named in status.
	ReasonPublished = "Published"
	// ReasonValidationFailed: status.findings says what to change; the last good
	// Version stays current.
	ReasonValidationFailed = "ValidationFailed"
	// ReasonDigestCollision: a Version of this name holds another digest.
	ReasonDigestCollision = "DigestCollision"
	// ReasonVersionTerminating: the Version of this content is being deleted, and
	// is published again once the Runs that pin it have ended.
	ReasonVersionTerminating = "VersionTerminating"
)

// Reasons of Version's conditions.
const (
	// ReasonVerified: the body hashes to spec.hash.
	ReasonVerified = "Verified"
	// ReasonDigestMismatch: the body does not hash to spec.hash, and no Run will
	// execute it.
	ReasonDigestMismatch = "DigestMismatch"
)

// Reasons of MCPServer's conditions.
const (
	// ReasonDiscovered: the catalogue in status is what the server offers.
	ReasonDiscovered = "Discovered"
	// ReasonConnecting: no discovery has ended yet.
	ReasonConnecting = "Connecting"
	// ReasonUnreachable: no connection; check the URL and that the server runs.
	ReasonUnreachable = "Unreachable"
	// ReasonTimeout: the server did not answer in time.
	ReasonTimeout = "Timeout"
	// ReasonUnauthorized: the server refused the credential, or wants one.
	ReasonUnauthorized = "Unauthorized"
	// ReasonProtocolError: what the server answered is not MCP.
	ReasonProtocolError = "ProtocolError"
	// ReasonServerUnavailable: the server lost a session again right after it was
	// initialised anew; replicas that do not share sessions do so.
	ReasonServerUnavailable = "ServerUnavailable"
	// ReasonEgressDenied: the operator's egress rules refuse the address.
	ReasonEgressDenied = "EgressDenied"
	// ReasonDeploying: the Pods of a server that the operator runs are not ready.
	ReasonDeploying = "Deploying"
	// ReasonDeployFailed: the Pods of a server that the operator runs will not get
	// ready unless somebody changes something.
	ReasonDeployFailed = "DeployFailed"
	// ReasonNameTaken: an object that somebody else made has the name that the
	// server's Deployment, Service or NetworkPolicy would have.
	ReasonNameTaken = "NameTaken"
	// ReasonBridgeImageMissing: the operator knows no image with the bridge, which
	// a stdio server needs.
	ReasonBridgeImageMissing = "BridgeImageMissing"
)

// Reasons shared by MCPServer and Grant.
const (
	// ReasonCredentialMissing: the Secret or its key does not exist.
	ReasonCredentialMissing = "CredentialMissing"
	// ReasonCredentialRefused: the Secret lacks the label that opts it in, names
	// other hosts, or holds what cannot be sent.
	ReasonCredentialRefused = "CredentialRefused"
	// ReasonTokenRefused: the token endpoint does not give this client a token.
	ReasonTokenRefused = "TokenRefused"
	// ReasonTokenUnavailable: no usable answer came from the token endpoint; it is
	// asked again.
	ReasonTokenUnavailable = "TokenUnavailable"
)

// Reasons of Grant's conditions.
const (
	// ReasonGranted: the target exists and what is permitted is in status.
	ReasonGranted = "Granted"
	// ReasonServerNotFound: no such MCPServer, or none that this namespace may
	// see; the two are not told apart.
	ReasonServerNotFound = "ServerNotFound"
	// ReasonServerNotReady: the MCPServer has never been discovered.
	ReasonServerNotReady = "ServerNotReady"
	// ReasonPolicyInvalid: an expression of the policy cannot be used, and every call
	// is denied until it is corrected.
	ReasonPolicyInvalid = "PolicyInvalid"
	// ReasonScriptNotFound: the ConfigMap of a scripted model does not exist.
	ReasonScriptNotFound = "ScriptNotFound"
	// ReasonScriptInvalid: the ConfigMap of a scripted model cannot be read.
	ReasonScriptInvalid = "ScriptInvalid"
)

// Reasons of Run's conditions.
const (
	// ReasonVersionPinned: the Run has its Version and goes on with it.
	ReasonVersionPinned = "VersionPinned"
	// ReasonWaitingForVersion: what the Run names is not there yet.
	ReasonWaitingForVersion = "WaitingForVersion"
	// ReasonWaitingForGrant: a Grant that the Version asks for is not there yet.
	ReasonWaitingForGrant = "WaitingForGrant"
	// ReasonWaitingForServer: an MCPServer that the Version asks for cannot be
	// read yet.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonUnsupported: the Version holds something that this release
	// publishes but does not execute.
	ReasonUnsupported = "Unsupported"
	// ReasonInProgress: a step is being taken.
	ReasonInProgress = "InProgress"
	// ReasonApprovalRequired: calls wait for a decision; status.pending lists them.
	ReasonApprovalRequired = "ApprovalRequired"
	// ReasonDecided: every call that waited was approved.
	ReasonDecided = "Decided"
	// ReasonDenied: a call that waited was denied, and was not made; or a person did
	// not let the Run begin.
	ReasonDenied = "Denied"
	// ReasonPolicyDenied: the policy of a Grant does not let the Run begin.
	ReasonPolicyDenied = "PolicyDenied"
	// ReasonParentEnded: the Run whose subagent this is has ended without it.
	ReasonParentEnded = "ParentEnded"
	// ReasonSucceeded: the model ended with an answer.
	ReasonSucceeded = "Succeeded"
	// ReasonFailureStreak: a tool failed too often in a row and the Run stopped
	// with an explanation.
	ReasonFailureStreak = "FailureStreak"
	// ReasonCancelled: somebody set spec.cancel.
	ReasonCancelled = "Cancelled"
	// ReasonSuspensionExpired: nobody decided in time.
	ReasonSuspensionExpired = "SuspensionExpired"
	// ReasonStepLimit: the model was called as often as the limits allow.
	ReasonStepLimit = "StepLimit"
	// ReasonDeadlineExceeded: the Run took longer than the limits allow.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonModelUnavailable: no model of the list gave a usable completion.
	ReasonModelUnavailable = "ModelUnavailable"
	// ReasonLogCorrupt: the log does not fold; it was changed by somebody else.
	ReasonLogCorrupt = "LogCorrupt"
	// ReasonLogTooLarge: the Run's log reached its bound.
	ReasonLogTooLarge = "LogTooLarge"
)
