// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sameCells compares cells by what they hold.
var sameCells = cmp.AllowUnexported(Cell{})

// dumpable is what the three envelopes have in common.
type dumpable interface{ MarshalJSON() ([]byte, error) }

// read is a reader of one of the envelopes, strict or tolerant.
type read func(data []byte) (dumpable, []Notice, error)

// readers are the readers of each envelope.
var readers = map[EnvelopeKind]struct{ parse, read read }{
	EnvelopeRecords: {
		parse: func(data []byte) (dumpable, []Notice, error) {
			e, err := ParseRecords[json.RawMessage](data)
			return e, nil, err
		},
		read: func(data []byte) (dumpable, []Notice, error) {
			return ReadRecords[json.RawMessage](data)
		},
	},
	EnvelopeTabular: {
		parse: func(data []byte) (dumpable, []Notice, error) {
			e, err := ParseTabular(data)
			return e, nil, err
		},
		read: func(data []byte) (dumpable, []Notice, error) {
			return ReadTabular(data)
		},
	},
	EnvelopeArtifact: {
		parse: func(data []byte) (dumpable, []Notice, error) {
			e, err := ParseArtifact(data)
			return e, nil, err
		},
		read: func(data []byte) (dumpable, []Notice, error) {
			return ReadArtifact(data)
		},
	},
}

// wantError checks that an error is an *Error at a path that says something.
func wantError(t *testing.T, err error, path, message string) {
	t.Helper()
	found, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v, want an *Error at %q", err, path)
	}
	if found.Path != path || !strings.Contains(found.Message, message) {
		t.Errorf("got %q: %s\nwant %q: …%s…", found.Path, found.Message, path, message)
	}
}

func mustDump(t *testing.T, e json.Marshaler) string {
	t.Helper()
	dump, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(dump)
}

// readCase is one document and what each reader makes of it.
type readCase struct {
	document string
	// strict and tolerant are where each refuses it, and message what both say.
	// Accepted is the path of a document that is not refused.
	strict, tolerant string
	message          string
	// dump is what the tolerant reader's envelope is as JSON; empty is document.
	dump    string
	notices []Notice
}

const accepted = "accepted"

func checkReads(t *testing.T, kind EnvelopeKind, cases map[string]readCase) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			e, _, err := readers[kind].parse([]byte(test.document))
			if test.strict == accepted {
				checkDump(t, "strict", e, err, test)
			} else {
				wantError(t, err, test.strict, test.message)
			}
			e, notices, err := readers[kind].read([]byte(test.document))
			if test.tolerant != accepted {
				wantError(t, err, test.tolerant, test.message)
				return
			}
			checkDump(t, "tolerant", e, err, test)
			if diff := cmp.Diff(test.notices, notices); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

func checkDump(t *testing.T, reader string, e dumpable, err error, test readCase) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", reader, err)
	}
	want := test.dump
	if want == "" {
		want = test.document
	}
	if got := mustDump(t, e); got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", reader, got, want)
	}
}
