// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/octool"
)

const (
	// MaxInline is how many bytes of a result stay in the log; more are put aside.
	MaxInline = 64 << 10
	// MaxArtifact bounds one artifact, in bytes, so that a ConfigMap holds it.
	MaxArtifact = 700 << 10
	// maxArtifacts bounds the artifacts of one call.
	maxArtifacts = 8
	// excerpt is how much of a text that was put aside the model reads at once.
	excerpt = 8 << 10
)

// Keep stores one artifact of the Run and gives its reference: an opaque name that
// tells neither a path nor a tenant, and the same for the same content.
type Keep func(ctx context.Context, blob Blob) (reference string, err error)

// artifact puts aside what is too large for the log or no text, and leaves a
// reference. What cannot be kept is named, and a text is cut where it is recorded.
func (p *passage) artifact(ctx context.Context, answer *Answer) {
	p.reached = v1alpha1.StageArtifact
	for i, blob := range answer.Blobs {
		answer.Content = strings.TrimPrefix(answer.Content+"\n"+p.keepBlob(ctx, answer, i, blob), "\n")
	}
	if len(answer.Content) <= MaxInline || answer.Error != "" {
		return
	}
	blob := Blob{MediaType: "text/plain; charset=utf-8", Data: []byte(answer.Content)}
	if isObject(answer.Content) {
		blob.MediaType = "application/json"
	}
	ref, err := p.keep(ctx, answer, blob)
	if err != nil {
		return
	}
	begin := strings.ToValidUTF8(answer.Content[:excerpt], "")
	envelope, err := octool.NewArtifact(octool.ArtifactEnvelope{Artifact: ref})
	if err != nil {
		return
	}
	text, err := json.Marshal(envelope)
	if err != nil {
		return
	}
	answer.Content = fmt.Sprintf("%s\n\nThe result was put aside whole as that artifact. It begins:\n%s", text, begin)
}

func (p *passage) keepBlob(ctx context.Context, answer *Answer, index int, blob Blob) string {
	mediaType := shorten(blob.MediaType, maxMediaType)
	if index >= maxArtifacts {
		return fmt.Sprintf("[%s, %d bytes, left out: a call keeps %d artifacts at most]", mediaType, len(blob.Data), maxArtifacts)
	}
	ref, err := p.keep(ctx, answer, blob)
	if err != nil {
		return fmt.Sprintf("[%s, %d bytes, left out: %v]", mediaType, len(blob.Data), err)
	}
	return fmt.Sprintf("[%s, %d bytes, put aside as artifact %s]", mediaType, len(blob.Data), ref.Reference)
}

const maxMediaType = 128

func (p *passage) keep(ctx context.Context, answer *Answer, blob Blob) (octool.ArtifactRef, error) {
	switch {
	case p.set.Keep == nil:
		return octool.ArtifactRef{}, fmt.Errorf("it is not text")
	case len(blob.Data) > MaxArtifact:
		return octool.ArtifactRef{}, fmt.Errorf("an artifact has %d bytes at most", MaxArtifact)
	}
	reference, err := p.set.Keep(ctx, blob)
	if err != nil {
		return octool.ArtifactRef{}, err
	}
	mediaType := shorten(blob.MediaType, maxMediaType)
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	answer.Artifacts = append(answer.Artifacts, v1alpha1.ArtifactReference{
		Reference: reference, MediaType: mediaType, Bytes: int64(len(blob.Data))})
	return octool.ArtifactRef{Reference: reference, MediaType: mediaType, Bytes: int64(len(blob.Data))}, nil
}

// shorten cuts what comes from outside at a character's boundary.
func shorten(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
