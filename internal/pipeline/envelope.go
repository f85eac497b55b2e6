// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"strconv"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/octool"
)

// What a record shows of an envelope.
const (
	maxWarnings    = 16
	maxWarningText = 512
)

// withheldResult stands for a text of a tool that declares an object with secrets.
const withheldResult = octool.RedactedMarker + " The result is not the object that the tool declares, so nobody knows what of it is secret."

// list is one of the two envelopes that have pages.
type list interface {
	size() int
	page() *octool.Page
	// add appends the items of the next page.
	add(next list) error
	json() (json.RawMessage, error)
}

// envelope reads the result of a call through the tolerant reader: it goes on to
// further pages within the tool's bound, takes out what the output schema marks as
// secret, and notes what kind of envelope it is for those who show it.
func (p *passage) envelope(ctx context.Context, answer *Answer, invocation Invocation) {
	p.reached = v1alpha1.StageEnvelope
	value := answer.Structured
	if len(value) == 0 && isObject(answer.Content) {
		value = json.RawMessage(answer.Content)
	}
	if answer.Error == "" {
		value = p.readResult(ctx, answer, value, invocation)
	}
	if marks := p.tool.marks; marks != nil && marks.Marked() {
		p.redact(answer, value)
	} else if answer.Envelope != nil && answer.Envelope.Kind != v1alpha1.EnvelopeUnreadable || answer.Content == "" || p.computedWith(answer, value) {
		answer.Content = string(value) // what was read is what is shown, not a text beside it
	}
}

// computedWith says whether later steps of a workflow compute with the value.
func (p *passage) computedWith(answer *Answer, value json.RawMessage) bool {
	return p.call.StepID != "" && answer.Error == "" && len(value) > 0
}

// readResult notes the envelope and gives the result with all of its pages.
func (p *passage) readResult(ctx context.Context, answer *Answer, value json.RawMessage, invocation Invocation) json.RawMessage {
	if p.tool.detect(value) == octool.EnvelopeArtifact {
		answer.Envelope = artifactEnvelope(value)
		return value
	}
	first, notices, err := p.tool.readList(value)
	switch {
	case err != nil:
		answer.Envelope = &v1alpha1.ResultEnvelope{Kind: v1alpha1.EnvelopeUnreadable, Warnings: warnings([]string{err.Error()})}
	case first != nil:
		answer.Envelope = listEnvelope(first, notices)
		if !p.follow(ctx, first, len(value), invocation) {
			return value
		}
		whole, err := first.json()
		if err != nil { // the first page stands as it was
			answer.Envelope.Warnings = warnings(append(answer.Envelope.Warnings, "further pages could not be joined: "+err.Error()))
			return value
		}
		answer.Envelope = listEnvelope(first, notices)
		return whole
	}
	return value
}

// redact puts the marker in the place of what the output schema marks as secret,
// before anything is logged or shown. What the schema does not describe, as a text, a
// picture or the words of a failure, is left out: nobody knows what is in it.
func (p *passage) redact(answer *Answer, value json.RawMessage) {
	answer.Blobs = nil
	if answer.Error != "" && answer.Error != v1alpha1.ErrorTool {
		return // the operator's own words
	}
	answer.Content = withheldResult
	if len(value) > 0 {
		value = p.tool.marks.Redact(value, octool.RedactPolicy{})
		answer.Content = string(value)
	}
	if answer.Envelope == nil {
		return
	}
	// Warnings and reasons may be marked too, so they are read again.
	shown := &v1alpha1.ResultEnvelope{Kind: answer.Envelope.Kind, Count: answer.Envelope.Count,
		Truncated: answer.Envelope.Truncated, Resumable: answer.Envelope.Resumable, Notices: answer.Envelope.Notices}
	if read, _, err := p.tool.readList(value); err == nil && read != nil {
		again := listEnvelope(read, nil)
		shown.Warnings, shown.StopReason = again.Warnings, again.StopReason
	}
	answer.Envelope = shown
}

// detect says which envelope a result is to be read as.
func (t *Tool) detect(value json.RawMessage) octool.EnvelopeKind {
	if t.declared != octool.EnvelopeNone || len(value) == 0 {
		return t.declared
	}
	return octool.DetectValue(value)
}

// readList reads a list envelope. It gives nil for what is none, and an error for
// what its tool declares to be one and is not.
func (t *Tool) readList(value json.RawMessage) (list, []octool.Notice, error) {
	if len(value) == 0 {
		return nil, nil, nil
	}
	var read list
	var notices []octool.Notice
	var err error
	switch t.detect(value) {
	case octool.EnvelopeRecords:
		var e *octool.RecordsEnvelope[json.RawMessage]
		e, notices, err = octool.ReadRecords[json.RawMessage](value)
		read = &recordsList{e}
	case octool.EnvelopeTabular:
		var e *octool.TabularEnvelope
		e, notices, err = octool.ReadTabular(value)
		read = &tableList{e}
	default:
		return nil, nil, nil
	}
	if err == nil {
		return read, notices, nil
	}
	if t.declared == octool.EnvelopeNone {
		return nil, nil, nil // it only looks like one
	}
	return nil, nil, err
}

func listEnvelope(read list, notices []octool.Notice) *v1alpha1.ResultEnvelope {
	page := read.page()
	envelope := &v1alpha1.ResultEnvelope{
		Kind:      v1alpha1.EnvelopeRecords,
		Count:     int64(read.size()),
		Truncated: page.Truncated,
		Resumable: page.Resumable(),
		Warnings:  warnings(page.Warnings),
		Notices:   int32(len(notices)),
	}
	if _, ok := read.(*tableList); ok {
		envelope.Kind = v1alpha1.EnvelopeTabular
	}
	if page.StopReason != nil {
		envelope.StopReason = shorten(*page.StopReason, maxStopReason)
	}
	return envelope
}

const maxStopReason = 64

func artifactEnvelope(value json.RawMessage) *v1alpha1.ResultEnvelope {
	read, notices, err := octool.ReadArtifact(value)
	if err != nil {
		return &v1alpha1.ResultEnvelope{Kind: v1alpha1.EnvelopeUnreadable, Warnings: warnings([]string{err.Error()})}
	}
	return &v1alpha1.ResultEnvelope{
		Kind: v1alpha1.EnvelopeArtifact, Count: int64(1 + len(read.Artifacts)),
		Warnings: warnings(read.Warnings), Notices: int32(len(notices)),
	}
}

// warnings are bounded; the last one says how many more there are.
func warnings(all []string) []string {
	var shown []string
	for i, warning := range all {
		if i == maxWarnings-1 && len(all) > maxWarnings {
			return append(shown, strconv.Itoa(len(all)-i)+" more warnings")
		}
		shown = append(shown, shorten(warning, maxWarningText))
	}
	return shown
}

// isObject says whether a text is one JSON object.
func isObject(text string) bool {
	return len(text) > 0 && text[0] == '{' && json.Valid([]byte(text))
}
