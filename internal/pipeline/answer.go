// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// Answer is what an executor gives back of one call.
type Answer struct {
	engine.Outcome
	// Structured is the result as a JSON object, beside its text or instead of it.
	Structured json.RawMessage
	// Blobs are the parts of the result that are not text, in their order.
	Blobs []Blob
}

// Blob is content that no model reads as text.
type Blob struct {
	MediaType string
	Data      []byte
}

// Text is the answer of a tool that gives nothing but text.
func Text(content string) Answer { return Answer{Outcome: engine.Outcome{Content: content}} }

// Failure is the answer of a call that failed.
func Failure(kind v1alpha1.ErrorKind, message string) Answer {
	return Answer{Outcome: engine.Outcome{Error: kind, Content: message}}
}
