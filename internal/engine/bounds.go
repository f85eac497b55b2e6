// SPDX-License-Identifier: Apache-2.0

package engine

// Bounds on what a model, a tool or a person can put into a log. Text is measured
// as it is stored, in bytes of JSON, where one character takes up to six. Together
// the bounds keep the largest possible status well under etcd's limit of 1.5 MiB,
// which the Run's spec and metadata share.
const (
	// MaxText bounds the text of one message.
	MaxText = 128 << 10
	// MaxCalls bounds the calls of one message.
	MaxCalls = 64
	// MaxArguments bounds the arguments of one call.
	MaxArguments = 64 << 10
	// MaxMessageArguments bounds the arguments of all calls of one message.
	MaxMessageArguments = 192 << 10
	// MaxResult bounds the content of one result.
	MaxResult = 128 << 10
	// MaxTurnResults bounds the content of all results of one message.
	MaxTurnResults = 384 << 10
	// MaxToolName bounds the name of a tool as a model writes it.
	MaxToolName = 128

	// SealAbove is the size of a log's inline tail above which everything
	// before the newest message is sealed.
	SealAbove = 256 << 10
	// MaxSegment bounds the content of one sealed segment. A ConfigMap holds at
	// most 1 MiB.
	MaxSegment = 896 << 10
	// MaxSegments bounds the sealed segments of one log.
	MaxSegments = 128
	// MaxInlineRecords bounds the records of the inline tail.
	MaxInlineRecords = 1024

	// sealAboveRecords is the number of inline records above which the tail is
	// sealed whatever its size. One message leads to far fewer than the rest.
	sealAboveRecords = MaxInlineRecords / 2

	// maxShownArguments bounds the arguments that one pending call shows, and
	// maxPendingArguments those that all of them show.
	maxShownArguments   = 16 << 10
	maxPendingArguments = 128 << 10
	// maxAnswer bounds the answer of one decision, and maxAnswers those of all
	// decisions of one message.
	maxAnswer  = 16 << 10
	maxAnswers = 64 << 10
	// maxReason bounds a reason, a user's name and the detail of an attempt.
	maxReason = 1024
	// maxAttempts bounds the attempts that one message records, and maxName the
	// names in them.
	maxAttempts = 16
	maxName     = 128
	// maxTokens bounds what one message can claim to have used, so that no sum
	// of them overflows.
	maxTokens   = 1 << 40
	maxDecided  = 32
	maxStreaks  = 128
	maxMessage  = 4096
	maxToolView = 64
)

// share is the part of a budget that each of a number of calls gets, and at most
// the bound on a single one.
func share(bound, budget, calls int) int {
	return min(bound, budget/max(calls, 1))
}
