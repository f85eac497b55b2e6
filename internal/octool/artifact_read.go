// SPDX-License-Identifier: Apache-2.0

package octool

func readArtifact(data []byte, mode readMode) (*ArtifactEnvelope, []Notice, error) {
	e := &ArtifactEnvelope{Sensitivity: SensitivityInheritsInput}
	var artifact bool
	d, err := readDocument(data, mode, func(d *document, key string) (_ bool, err error) {
		switch key {
		case "artifact":
			artifact = true
			e.Artifact, err = d.artifact("/artifact")
		case "artifacts":
			e.Artifacts, err = d.artifacts("/artifacts")
		case "warnings":
			e.Warnings, err = d.warnings("/warnings")
		case "sensitivity":
			e.Sensitivity, err = d.sensitivity("/sensitivity")
		case "source":
			e.Source, err = d.source("/source")
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return nil, nil, err
	}
	if !artifact {
		return nil, nil, missing("artifact")
	}
	if err := e.Validate(); err != nil {
		return nil, nil, err
	}
	return e, d.notices.all(), nil
}

func (d *document) artifacts(at string) ([]ArtifactRef, error) {
	if d.decoder.PeekKind() == 'n' {
		return nil, d.skip()
	}
	var list []ArtifactRef
	err := d.array(at, func(i int) error {
		ref, err := d.artifact(indexed(at, i))
		list = append(list, ref)
		return err
	})
	return list, err
}

func (d *document) artifact(at string) (ArtifactRef, error) {
	var ref ArtifactRef
	var reference, mediaType bool
	var bytes *int64
	err := d.object(at, func(key string) (_ bool, err error) {
		within := at + "/" + key
		switch key {
		case "reference":
			reference = true
			ref.Reference, err = d.string(within)
		case "media_type":
			mediaType = true
			ref.MediaType, err = d.string(within)
		case "bytes":
			bytes, err = d.size(within)
		case "width":
			ref.Width, err = d.optionalSize(within)
		case "height":
			ref.Height, err = d.optionalSize(within)
		case "role":
			ref.Role, err = d.optionalString(within)
		case "uri":
			ref.URI, err = d.optionalString(within)
		default:
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return ref, err
	case !reference:
		return ref, &Error{at + "/reference", "it is missing, and required"}
	case !mediaType:
		return ref, &Error{at + "/media_type", "it is missing, and required"}
	case bytes == nil:
		return ref, &Error{at + "/bytes", "it is missing, and required"}
	}
	ref.Bytes = *bytes
	return ref, nil
}

// sensitivity reads what an artifact may hold. The tolerant reader takes a value
// that it does not know for the most restrictive one.
func (d *document) sensitivity(at string) (Sensitivity, error) {
	value, err := d.optionalString(at)
	switch {
	case err != nil || value == nil:
		return SensitivityInheritsInput, err
	case d.mode == tolerantly && Sensitivity(*value) != SensitivityInheritsInput:
		d.notices.add(at, quoted(*value), string(SensitivityFallback))
		return SensitivityFallback, nil
	default:
		return Sensitivity(*value), nil
	}
}
