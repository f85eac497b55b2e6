// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// L2, L3, L4, K66, K67: a document of a later minor, with an optional field more in
// every object and words that this version does not know, is read as the document
// without them, and says so. What its writer's words mean is lost, and no more.
func TestLaterMinorIsReadable(t *testing.T) {
	for name, test := range map[string]struct {
		kind      EnvelopeKind
		later     string
		asNow     string
		wantPaths []string
	}{
		"records": {
			EnvelopeRecords,
			`{"schema_hint":{"a":[1]},"records":[{"id":1,"new_field":2}],"count":1,"truncated":true,"stop_reason":"quota","source":{"instance":"i","region":"eu"},"total_is_estimate":false,"resumable":false}`,
			`{"records":[{"id":1,"new_field":2}],"count":1,"truncated":true,"stop_reason":"quota","source":{"instance":"i"},"resumable":false}`,
			[]string{"/schema_hint", "/source/region", "/total_is_estimate"},
		},
		"tabular": {
			EnvelopeTabular,
			`{"columns":["a","b"],"rows":[["POINT(1 2)",1]],"row_count":1,"truncated":false,"column_kinds":["geo_point","duration"],"column_scales":["geo","sqrt"],"column_units":["m",null]}`,
			`{"columns":["a","b"],"rows":[["POINT(1 2)",1]],"row_count":1,"truncated":false,"column_kinds":["text","text"],"column_scales":[null,null]}`,
			[]string{"/column_kinds/0", "/column_kinds/1", "/column_scales/0", "/column_scales/1", "/column_units"},
		},
		"artifact": {
			EnvelopeArtifact,
			`{"artifact":{"reference":"r","media_type":"m","bytes":1,"sha256":"00"},"artifacts":[{"reference":"s","media_type":"m","bytes":2,"pages":3}],"warnings":[],"sensitivity":"aggregated","retention":"7d"}`,
			`{"artifact":{"reference":"r","media_type":"m","bytes":1},"artifacts":[{"reference":"s","media_type":"m","bytes":2}],"warnings":[],"sensitivity":"inherits_input"}`,
			[]string{"/artifact/sha256", "/artifacts/0/pages", "/retention", "/sensitivity"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, notices, err := readers[test.kind].read([]byte(test.later))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.asNow, mustDump(t, e)); diff != "" {
				t.Error(diff)
			}
			var paths []string
			for _, notice := range notices {
				paths = append(paths, notice.Path)
			}
			slices.Sort(paths)
			if diff := cmp.Diff(test.wantPaths, paths); diff != "" {
				t.Error(diff)
			}
			// K73: whoever produces it learns of it.
			if _, _, err := readers[test.kind].parse([]byte(test.later)); err == nil {
				t.Error("the strict reader accepts it")
			}
		})
	}
}

// L3, L6, L8: an envelope that uses nothing newer is dumped with the keys of 1.0, so
// that a reader of that time finds what it knows and nothing else.
func TestOlderDumpKeepsItsKeys(t *testing.T) {
	for name, test := range map[string]struct {
		envelope json.Marshaler
		want     []string
	}{
		"records":  {RecordsEnvelope[int]{}, []string{"count", "records", "truncated"}},
		"tabular":  {TabularEnvelope{}, []string{"columns", "row_count", "rows", "truncated"}},
		"artifact": {ArtifactEnvelope{Artifact: ArtifactRef{Reference: "r"}}, []string{"artifact", "artifacts", "sensitivity", "warnings"}},
	} {
		t.Run(name, func(t *testing.T) {
			var keys map[string]json.RawMessage
			if err := json.Unmarshal([]byte(mustDump(t, test.envelope)), &keys); err != nil {
				t.Fatal(err)
			}
			var got []string
			for key := range keys {
				got = append(got, key)
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// L8, L10: fields, values and checks of 1.x, which no minor takes away or tightens.
// A failure here means that a change needs a new major.
func TestFrozenWithinAMajor(t *testing.T) {
	if major, _, _ := strings.Cut(SpecVersion, "."); major != "1" {
		t.Fatalf("version %s", SpecVersion)
	}
	for name, e := range examples(t) {
		if _, notices, err := readers[e.kind].read(e.text); err != nil || len(notices) > 0 {
			t.Errorf("%s: %v, %v", name, notices, err)
		}
	}
	for kind, frozen := range map[EnvelopeKind]struct {
		schema   json.RawMessage
		required []string
	}{
		EnvelopeTabular:  {TabularSchema(), []string{"columns", "rows", "row_count", "truncated"}},
		EnvelopeArtifact: {ArtifactSchema(), []string{"artifact", "artifacts", "warnings", "sensitivity"}},
	} {
		var schema struct{ Required []string }
		if err := json.Unmarshal(frozen.schema, &schema); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(frozen.required, schema.Required); diff != "" {
			t.Errorf("%s: an optional key has become required, or the other way round:\n%s", kind, diff)
		}
	}
}
