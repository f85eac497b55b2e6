// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is a document of testdata, and the envelope that it is.
type example struct {
	kind EnvelopeKind
	text []byte
}

func examples(t testing.TB) map[string]example {
	t.Helper()
	paths, err := filepath.Glob("testdata/envelopes/*.json")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d examples, %v", len(paths), err)
	}
	found := map[string]example{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		kind, _, _ := strings.Cut(name, "-")
		found[name] = example{EnvelopeKind(kind), bytes.TrimSpace(text)}
	}
	return found
}

// K2, K53, K54: each example comes back byte for byte, is what it is told to be,
// and fits its output schema.
func TestExamplesRoundTrip(t *testing.T) {
	records, err := RecordsSchema([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[EnvelopeKind][]byte{EnvelopeRecords: records, EnvelopeTabular: TabularSchema(), EnvelopeArtifact: ArtifactSchema()}
	for name, e := range examples(t) {
		t.Run(name, func(t *testing.T) {
			if kind := DetectValue(e.text); kind != e.kind {
				t.Errorf("detected as %q", kind)
			}
			parsed, _, err := readers[e.kind].parse(e.text)
			if err != nil {
				t.Fatal(err)
			}
			dump := mustDump(t, parsed)
			if diff := cmp.Diff(string(e.text), dump); diff != "" {
				t.Errorf("the dump differs:\n%s", diff)
			}
			again, notices, err := readers[e.kind].read([]byte(dump))
			if err != nil || len(notices) > 0 {
				t.Fatal(notices, err)
			}
			if diff := cmp.Diff(parsed, again, sameCells, cmp.AllowUnexported(Count{})); diff != "" {
				t.Errorf("read again it differs:\n%s", diff)
			}
			if err := mustCompile(t, schemas[e.kind]).Validate(e.text); err != nil {
				t.Error(err)
			}
			if table, ok := parsed.(*TabularEnvelope); ok && len(ValidateTabular(table)) > 0 {
				t.Error(ValidateTabular(table))
			}
		})
	}
}
