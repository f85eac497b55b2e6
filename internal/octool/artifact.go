// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"strings"
)

// ArtifactRef points to something that was put aside by a sink.
type ArtifactRef struct {
	// Reference is the sink's name for it, opaque here.
	Reference string
	// MediaType, as in text/csv.
	MediaType string
	// Bytes is its size.
	Bytes int64
	// Width and Height are those of a picture, in pixels.
	Width, Height *int64
	// Role is free text: csv, plan, summary.
	Role *string
	// URI is where a client gets it that cannot resolve the reference.
	URI *string
}

// ArtifactEnvelope is a result that was put aside, with a reference in its place.
type ArtifactEnvelope struct {
	Artifact ArtifactRef
	// Artifacts are further ones.
	Artifacts []ArtifactRef
	// Warnings are problems that the caller passes on, one an entry.
	Warnings []string
	// Sensitivity is what the artifact may hold; empty is inherits_input.
	Sensitivity Sensitivity
	// Source is what was read.
	Source *SourceRef
}

// NewArtifact makes an envelope for the tenants of one host: a reference is an
// opaque id, or a path below the caller's own root, so none may be absolute or
// lead upwards. The error is an *Error.
func NewArtifact(e ArtifactEnvelope) (*ArtifactEnvelope, error) {
	if e.Sensitivity == "" {
		e.Sensitivity = SensitivityInheritsInput
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	for i, ref := range e.all() {
		if leavesRoot(ref.Reference) {
			return nil, &Error{artifactAt(i) + "/reference",
				"it is a path of the host: give an opaque id, or a path below the caller's own root"}
		}
	}
	return &e, nil
}

// ParseArtifact reads an envelope that must be exact: an unknown key or value is an
// error. The error is an *Error.
func ParseArtifact(data []byte) (*ArtifactEnvelope, error) {
	e, _, err := readArtifact(data, strictly)
	return e, err
}

// ReadArtifact reads an envelope that somebody else made, perhaps by a later minor
// of the format. What it does not know it drops or reads at its fallback, and
// notes; what is wrong is an *Error.
func ReadArtifact(data []byte) (*ArtifactEnvelope, []Notice, error) {
	return readArtifact(data, tolerantly)
}

// Validate checks the rules that hold for every envelope. The error is an *Error.
func (e *ArtifactEnvelope) Validate() error {
	for i, ref := range e.all() {
		if err := ref.validate(artifactAt(i)); err != nil {
			return err
		}
	}
	if e.Sensitivity != "" && e.Sensitivity != SensitivityInheritsInput {
		return &Error{"/sensitivity", fmt.Sprintf("%s is unknown: it must be %s", quoted(string(e.Sensitivity)), SensitivityInheritsInput)}
	}
	return nil
}

func (e *ArtifactEnvelope) all() []ArtifactRef {
	return append([]ArtifactRef{e.Artifact}, e.Artifacts...)
}

// artifactAt is the place of the i-th of all artifacts.
func artifactAt(i int) string {
	if i == 0 {
		return "/artifact"
	}
	return indexed("/artifacts", i-1)
}

func (r *ArtifactRef) validate(at string) error {
	switch {
	case r.Reference == "":
		return &Error{at + "/reference", "it is empty: nothing can be found by it"}
	case r.Bytes < 0 || r.Bytes > maxSafeInteger:
		return &Error{at + "/bytes", fmt.Sprintf("it is %d, but must be from 0 to 2^53 - 1", r.Bytes)}
	case r.Width != nil && (*r.Width < 0 || *r.Width > maxSafeInteger):
		return &Error{at + "/width", fmt.Sprintf("it is %d, but must be from 0 to 2^53 - 1", *r.Width)}
	case r.Height != nil && (*r.Height < 0 || *r.Height > maxSafeInteger):
		return &Error{at + "/height", fmt.Sprintf("it is %d, but must be from 0 to 2^53 - 1", *r.Height)}
	default:
		return nil
	}
}

// leavesRoot tells whether a reference is an absolute path of some system, a file
// URI, or a path that leads upwards.
func leavesRoot(reference string) bool {
	path := strings.ReplaceAll(reference, `\`, "/")
	drive := len(path) > 2 && path[1:3] == ":/"
	if drive || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~/") || strings.HasPrefix(strings.ToLower(path), "file:") {
		return true
	}
	for step := range strings.SplitSeq(path, "/") {
		if step == ".." {
			return true
		}
	}
	return false
}

// MarshalJSON writes a valid envelope. Every key but the optional ones is always
// there, warnings too. The error is an *Error.
func (e ArtifactEnvelope) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	w := &objectWriter{}
	w.object("artifact", e.Artifact.dump("/artifact"))
	w.list("artifacts", len(e.Artifacts), func(i int) {
		ref := e.Artifacts[i].dump(indexed("/artifacts", i))
		w.fail("", ref.err)
		w.dst = append(w.dst, ref.end()...)
	})
	w.strings("warnings", e.Warnings)
	w.string("sensitivity", string(SensitivityInheritsInput))
	e.Source.dump(w)
	return w.result()
}

func (r *ArtifactRef) dump(at string) *objectWriter {
	w := &objectWriter{at: at}
	w.string("reference", r.Reference)
	w.string("media_type", r.MediaType)
	w.int("bytes", r.Bytes)
	w.optionalInt("width", r.Width)
	w.optionalInt("height", r.Height)
	w.optionalString("role", r.Role)
	w.optionalString("uri", r.URI)
	return w
}

// UnmarshalJSON is ParseArtifact.
func (e *ArtifactEnvelope) UnmarshalJSON(data []byte) error {
	parsed, err := ParseArtifact(data)
	if err == nil {
		*e = *parsed
	}
	return err
}
