// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"testing"
)

// K3, K57 to K59, K61 to K63, K66 to K69: what both readers make of an artifact.
func TestReadArtifact(t *testing.T) {
	const (
		ref   = `{"reference":"r1","media_type":"text/csv","bytes":12}`
		start = `{"artifact":` + ref
		rest  = `,"artifacts":[],"warnings":[],"sensitivity":"inherits_input"}`
	)
	checkReads(t, EnvelopeArtifact, map[string]readCase{
		"K57 K58 what is always there": {document: start + rest, strict: accepted, tolerant: accepted},
		"K57 K62 what is filled in":    {document: start + `}`, strict: accepted, tolerant: accepted, dump: start + rest},
		"K2 null is absent": {
			document: start + `,"artifacts":null,"warnings":null,"sensitivity":null,"source":null}`, strict: accepted, tolerant: accepted, dump: start + rest,
		},
		"K59 K61 all keys": {
			document: `{"artifact":{"reference":"p/1.png","media_type":"image/png","bytes":9007199254740991,"width":1,"height":0,"role":"plan","uri":"https://x/1"},` +
				`"artifacts":[` + ref + `,` + ref + `],"warnings":["w"],"sensitivity":"inherits_input","source":{"instance":"i"}}`,
			strict: accepted, tolerant: accepted,
		},
		"K58 no artifact": {document: `{"warnings":[]}`, strict: "/artifact", tolerant: "/artifact", message: "missing"},
		"K59 no reference": {
			document: `{"artifact":{"media_type":"a/b","bytes":1}}`, strict: "/artifact/reference", tolerant: "/artifact/reference", message: "missing",
		},
		"K59 no media type": {
			document: `{"artifact":{"reference":"a","bytes":1}}`, strict: "/artifact/media_type", tolerant: "/artifact/media_type", message: "missing",
		},
		"K59 no size": {
			document: start + `,"artifacts":[{"reference":"a","media_type":"b"}]}`, strict: "/artifacts/0/bytes", tolerant: "/artifacts/0/bytes", message: "missing",
		},
		"K60 a reference that finds nothing": {
			document: `{"artifact":{"reference":"","media_type":"a","bytes":1}}`, strict: "/artifact/reference", tolerant: "/artifact/reference", message: "empty",
		},
		"K69 a negative size": {
			document: `{"artifact":{"reference":"a","media_type":"a","bytes":-1}}`, strict: "/artifact/bytes", tolerant: "/artifact/bytes", message: "-1",
		},
		"K69 a width that is no integer": {
			document: `{"artifact":{"reference":"a","media_type":"a","bytes":1,"width":1.5}}`, strict: "/artifact/width", tolerant: "/artifact/width", message: "1.5",
		},
		"K69 an artifact that is text": {document: `{"artifact":"r1"}`, strict: "/artifact", tolerant: "/artifact", message: "a string"},
		"K69 a role that is no text": {
			document: `{"artifact":{"reference":"a","media_type":"a","bytes":1,"role":1}}`, strict: "/artifact/role", tolerant: "/artifact/role", message: "a number",
		},
		"K62 K67 an unknown sensitivity": {
			document: start + `,"sensitivity":"public"}`, strict: "/sensitivity", tolerant: accepted, message: `"public" is unknown`,
			dump:    start + rest,
			notices: []Notice{{"/sensitivity", `"public"`, "inherits_input"}},
		},
		"K69 a sensitivity that is no word": {document: start + `,"sensitivity":1}`, strict: "/sensitivity", tolerant: "/sensitivity", message: "a number"},
		"K3 K66 unknown keys, in references too": {
			document: `{"artifact":{"reference":"r1","media_type":"text/csv","bytes":12,"sha256":"00"},"artifacts":[{"pages":3,"reference":"r1","media_type":"text/csv","bytes":12}],"expires":1}`,
			strict:   "/artifact/sha256", tolerant: accepted, message: "unknown",
			dump:    start + `,"artifacts":[` + ref + `],"warnings":[],"sensitivity":"inherits_input"}`,
			notices: []Notice{{"/artifact/sha256", "unknown key", "dropped"}, {"/artifacts/0/pages", "unknown key", "dropped"}, {"/expires", "unknown key", "dropped"}},
		},
		"K68 a malformed source": {
			document: start + `,"source":[]}`, strict: "/source", tolerant: accepted, message: "an array",
			dump:    start + rest,
			notices: []Notice{{"/source", "malformed: an array", "dropped"}},
		},
	})
}

// K60: references that a host gives out.
func TestNewArtifact(t *testing.T) {
	giveOut := func(reference string) (*ArtifactEnvelope, error) {
		return NewArtifact(ArtifactEnvelope{
			Artifact:  ArtifactRef{Reference: "first", MediaType: "text/csv", Bytes: 1},
			Artifacts: []ArtifactRef{{Reference: reference, MediaType: "text/csv", Bytes: 1}},
		})
	}
	for _, reference := range []string{"a", "0b6f", "runs/1/table.csv", "a..b", "..a/b", "a:b", "urn:x:1", "~a"} {
		e, err := giveOut(reference)
		if err != nil || e.Sensitivity != SensitivityInheritsInput {
			t.Errorf("%s: %v", reference, err)
		}
	}
	for _, reference := range []string{
		"/var/lib/x", `\\host\share`, `C:\x`, "c:/x", "file:///x", "FILE:x", "../x", "a/../../b", `a\..\b`, "~/x", "..",
	} {
		_, err := giveOut(reference)
		wantError(t, err, "/artifacts/0/reference", "path of the host")
	}
	_, err := NewArtifact(ArtifactEnvelope{})
	wantError(t, err, "/artifact/reference", "empty")
	_, err = NewArtifact(ArtifactEnvelope{Artifact: ArtifactRef{Reference: "a", Height: new(int64(-1))}})
	wantError(t, err, "/artifact/height", "-1")
	_, err = NewArtifact(ArtifactEnvelope{Artifact: ArtifactRef{Reference: "a", Width: new(int64(1 << 53))}})
	wantError(t, err, "/artifact/width", "9007199254740992")
	_, err = NewArtifact(ArtifactEnvelope{Artifact: ArtifactRef{Reference: "a", Bytes: -1}})
	wantError(t, err, "/artifact/bytes", "-1")
	_, err = NewArtifact(ArtifactEnvelope{Artifact: ArtifactRef{Reference: "a"}, Sensitivity: "none"})
	wantError(t, err, "/sensitivity", `"none"`)
}

// K57 to K59: no inconsistent envelope is dumped.
func TestDumpArtifact(t *testing.T) {
	_, err := json.Marshal(ArtifactEnvelope{})
	if err == nil {
		t.Error("the zero envelope was dumped")
	}
	ref := ArtifactRef{Reference: "a", MediaType: "b"}
	_, err = ArtifactEnvelope{Artifact: ref, Artifacts: []ArtifactRef{{Reference: "a", MediaType: "\xff"}}}.MarshalJSON()
	wantError(t, err, "/artifacts/0/media_type", "UTF-8")
	var e ArtifactEnvelope
	if err := json.Unmarshal([]byte(`{"artifact":{"reference":"a","media_type":"b","bytes":0}}`), &e); err != nil || e.Artifact != ref {
		t.Error(e, err)
	}
	wantError(t, json.Unmarshal([]byte(`{}`), &e), "/artifact", "missing")
}
