// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"remit.dev/remit/api/v1alpha1"
)

const segmentDomain = "remit.dev/run-log-segment/v1\x00"

// SegmentKey is the key of a ConfigMap that holds a segment's content.
const SegmentKey = "records.json"

// Segment is a part of a log that is sealed: its content and its digest.
type Segment struct {
	Content []byte
	Digest  v1alpha1.Digest
	Records int32
}

// Seal splits off records before the newest message when the inline tail is
// larger than limit bytes or has too many records. It returns nil when there is
// nothing to seal. A segment is bounded, so after Sealed there may be more to
// seal: call both until there is nothing. The State keeps the rest as its inline
// records only after Sealed.
func (s *State) Seal(limit int) (*Segment, error) {
	keep := s.inlineFrom()
	if keep == 0 {
		return nil, nil
	}
	contents := make([]json.RawMessage, 0, len(s.records))
	size := 0
	for i := range s.records {
		content, err := json.Marshal(s.records[i])
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", s.records[i].Sequence, err)
		}
		contents = append(contents, content)
		size += len(content)
	}
	if size <= limit && len(s.records) <= sealAboveRecords {
		return nil, nil
	}
	return seal(contents[:keep])
}

// Sealed drops the segment's records from the inline tail, once it is durable.
func (s *State) Sealed(segment *Segment) {
	s.records = s.records[segment.Records:]
}

// inlineFrom is the index of the newest message: its turn stays inline.
func (s *State) inlineFrom() int {
	for i, record := range slices.Backward(s.records) {
		if record.Message != nil {
			return i
		}
	}
	return 0
}

// seal makes a segment of as many records as fit into one.
func seal(contents []json.RawMessage) (*Segment, error) {
	fit, size := 0, 0
	for fit < len(contents) && (fit == 0 || size+len(contents[fit])+fit+len("[]") <= MaxSegment) {
		size += len(contents[fit])
		fit++
	}
	content, err := json.Marshal(contents[:fit])
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return &Segment{Content: content, Digest: digest(segmentDomain, string(content)), Records: int32(fit)}, nil
}

// Open reads a sealed segment back and checks it against its digest. What it
// cannot read is a CorruptError.
func Open(content []byte, sealed v1alpha1.SealedSegment) ([]v1alpha1.Record, error) {
	if actual := digest(segmentDomain, string(content)); actual != sealed.Digest {
		return nil, &CorruptError{Segment: sealed.ConfigMap,
			Detail: fmt.Sprintf("its content has digest %s, not %s", actual, sealed.Digest)}
	}
	var records []v1alpha1.Record
	if err := json.Unmarshal(content, &records); err != nil {
		return nil, &CorruptError{Segment: sealed.ConfigMap, Detail: err.Error()}
	}
	return records, nil
}
