// SPDX-License-Identifier: Apache-2.0

package octool

// SourceRef says what a result was read from, in words that its reader may see:
// never a path of the host, never another tenant.
type SourceRef struct {
	Instance *string
	Snapshot *string
}

func (s *SourceRef) dump(w *objectWriter) {
	if s == nil {
		return
	}
	inner := objectWriter{at: w.at + "/source"}
	inner.optionalString("instance", s.Instance)
	inner.optionalString("snapshot", s.Snapshot)
	w.object("source", &inner)
}

// source reads an optional SourceRef. The tolerant reader drops a malformed one.
func (d *document) source(at string) (*SourceRef, error) {
	text, err := d.value()
	if err != nil || text == "null" {
		return nil, err
	}
	inner := newDocument([]byte(text), d.mode)
	inner.notices = d.notices
	var source SourceRef
	err = inner.object(at, func(key string) (known bool, err error) {
		switch key {
		case "instance":
			source.Instance, err = inner.optionalString(at + "/instance")
		case "snapshot":
			source.Snapshot, err = inner.optionalString(at + "/snapshot")
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil && d.mode == tolerantly {
		d.notices.add(at, "malformed: "+jsonTypeOf(text), "dropped")
		return nil, nil // as if it had not been there
	}
	d.notices = inner.notices
	return &source, err
}
