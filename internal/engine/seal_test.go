// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// sealAll seals as the controller does: until there is nothing more to seal.
func (s *scenario) sealAll(limit int) []*Segment {
	s.Helper()
	var segments []*Segment
	for {
		segment, err := s.state.Seal(limit)
		if err != nil {
			s.Fatal(err)
		}
		if segment == nil {
			return segments
		}
		s.state.Sealed(segment)
		segments = append(segments, segment)
		records, err := Open(segment.Content, sealedBy(segment))
		if err != nil {
			s.Fatal(err)
		}
		if len(records) != int(segment.Records) {
			s.Fatalf("a segment of %d records says %d", len(records), segment.Records)
		}
		s.sealed = append(s.sealed, records...)
	}
}

func sealedBy(segment *Segment) v1alpha1.SealedSegment {
	return v1alpha1.SealedSegment{ConfigMap: "run-log-1", Digest: segment.Digest, Records: segment.Records}
}

// turns takes turns whose results have that many bytes.
func (s *scenario) turns(n, size int) {
	s.Helper()
	s.limits.Steps = 1000
	for range n {
		s.model("", "lookup a")
		s.expect("execute lookup")
		s.outcomes("ok " + strings.Repeat("a", size))
	}
}

func TestSealKeepsTheNewestTurn(t *testing.T) {
	s := play(t)
	s.turns(3, 1000)
	before := s.state.Records()
	if segments := s.sealAll(1 << 20); segments != nil {
		t.Errorf("a small log was sealed")
	}
	segments := s.sealAll(2000)
	if len(segments) != 1 || segments[0].Records != 4 {
		t.Fatalf("%d segments", len(segments))
	}
	if diff := cmp.Diff(before[4:], s.state.Records()); diff != "" {
		t.Errorf("inline (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before[:4], s.sealed); diff != "" {
		t.Errorf("sealed (-want +got):\n%s", diff)
	}
	expectSame(t, s.state, s.fold(roundTrip(s, s.state.Records())))
	s.turns(1, 10) // and the Run goes on
	if segments := s.sealAll(0); len(segments) != 1 || segments[0].Records != 2 {
		t.Errorf("%d segments", len(segments))
	}
}

// TestSealOneTurn: a turn that is larger than the limit all by itself stays.
func TestSealOneTurn(t *testing.T) {
	s := play(t)
	if segments := s.sealAll(0); segments != nil {
		t.Error("an empty log was sealed")
	}
	s.turns(1, 10000)
	if segments := s.sealAll(0); segments != nil {
		t.Error("the newest turn was sealed")
	}
}

// TestSealByNumber: many small records are sealed too, as the API bounds them.
func TestSealByNumber(t *testing.T) {
	s := play(t)
	s.unchecked = true
	s.limits.Steps = 1000
	s.turns(sealAboveRecords/2, 1)
	if segments := s.sealAll(SealAbove); segments != nil {
		t.Fatal("sealed too early")
	}
	s.turns(1, 1)
	segments := s.sealAll(SealAbove)
	if len(segments) != 1 || segments[0].Records != sealAboveRecords {
		t.Fatalf("%d segments", len(segments))
	}
}

// TestSegmentFitsIntoConfigMap: however large the turns, a segment does not exceed
// what a ConfigMap holds, and nothing is lost.
func TestSegmentFitsIntoConfigMap(t *testing.T) {
	const configMap = 1 << 20
	s := play(t)
	s.unchecked = true
	s.limits.Steps = 1000
	s.turns(20, 128<<10)
	before := len(s.state.Records())
	segments := s.sealAll(SealAbove)
	sealed := 0
	for _, segment := range segments {
		if len(segment.Content) > configMap || len(segment.Content) > MaxSegment {
			t.Errorf("a segment has %d bytes", len(segment.Content))
		}
		sealed += int(segment.Records)
	}
	if len(segments) < 3 || sealed+len(s.state.Records()) != before {
		t.Errorf("%d segments of %d records, %d inline, of %d", len(segments), sealed, len(s.state.Records()), before)
	}
	expectSame(t, s.state, s.fold(roundTrip(s, s.state.Records())))
}

// TestSegmentContentIsJSON of the records, the same whoever seals.
func TestSegmentContentIsJSON(t *testing.T) {
	s := play(t)
	s.model("<&>\u2028", "lookup a")
	s.expect("execute lookup")
	s.outcomes("ok")
	s.model("", "lookup a")
	want, err := json.Marshal(s.state.Records()[:2])
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.state.Seal(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(first.Content)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	second, err := s.fold(roundTrip(t, s.state.Records())).Seal(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("sealed again (-want +got):\n%s", diff)
	}
}

func TestTamperedSegment(t *testing.T) {
	s := play(t)
	s.turns(2, 10)
	segment, err := s.state.Seal(0)
	if err != nil {
		t.Fatal(err)
	}
	reference := sealedBy(segment)
	other := reference
	other.Digest = digest("another")
	tests := map[string]struct {
		content []byte
		sealed  v1alpha1.SealedSegment
	}{
		"changed":         {bytes.Replace(segment.Content, []byte("lookup"), []byte("lookdn"), 1), reference},
		"a space more":    {append(bytes.Clone(segment.Content), ' '), reference},
		"cut off":         {segment.Content[:len(segment.Content)-1], reference},
		"empty":           {nil, reference},
		"another segment": {segment.Content, other},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Open(test.content, test.sealed)
			expectCorrupt(t, err, "segment run-log-1 of the log: its content has digest sha256:")
		})
	}
	t.Run("not JSON", func(t *testing.T) {
		garbage := []byte(`{"records":`)
		_, err := Open(garbage, v1alpha1.SealedSegment{ConfigMap: "run-log-1", Digest: digest(segmentDomain, string(garbage))})
		expectCorrupt(t, err, "segment run-log-1 of the log: unexpected end of JSON input")
	})
	t.Run("segments in another order", func(t *testing.T) {
		records := wholeLog(t)
		_, err := Fold(uid, append(append([]v1alpha1.Record{}, records[2:4]...), records[:2]...), records[4:])
		expectCorrupt(t, err, "its sequence should be 1")
	})
	t.Run("a segment missing", func(t *testing.T) {
		_, err := Fold(uid, nil, wholeLog(t)[4:])
		expectCorrupt(t, err, "its sequence should be 1")
	})
}
