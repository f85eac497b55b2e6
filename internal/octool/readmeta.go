// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The bounds on what is read of one tool's _meta.
const (
	// MaxTags bounds the tags, of MaxTagBytes each. What is beyond is dropped.
	MaxTags     = 32
	MaxTagBytes = 64
	// MaxTargetBytes bounds the target; a longer one is dropped.
	MaxTargetBytes = 256
	// MaxMetaBytes bounds the text of the library's facts; more are dropped.
	MaxMetaBytes = 16 << 10
)

// Described is what the _meta of an MCP tool says of it.
type Described struct {
	// Present says that the tool has a key of this format at all.
	Present bool
	// SpecVersion is that of the writer, or empty.
	SpecVersion string
	// Access is AccessFallback, and ResultKind ResultKindFallback, where nothing
	// that is known here was said.
	Access     Access
	ResultKind ResultKind
	// Target is a label of what is accessed, or empty.
	Target     string
	Deprecated bool
	Tags       []string
	Meta       map[string]json.RawMessage
}

// ReadMeta reads a descriptor back from the _meta of an MCP tool, whoever wrote it.
// Whatever is malformed, unknown or beyond the bounds is read as if it had not been
// there, which is its most cautious reading, with a notice; so is all of it when
// the major of the format is another. Keys that are not known here are ignored. The
// paths of the notices are JSON pointers into _meta.
func ReadMeta(meta map[string]json.RawMessage) (Described, []Notice) {
	r := metaReader{meta: meta, described: Described{Access: AccessFallback, ResultKind: ResultKindFallback}}
	for key := range meta {
		r.described.Present = r.described.Present || strings.HasPrefix(key, MetaPrefix)
	}
	if !r.specVersion() {
		return r.described, r.notices.all()
	}
	for _, read := range []func(){r.access, r.resultKind, r.deprecated, r.target, r.tags, r.facts} {
		read()
	}
	return r.described, r.notices.all()
}

type metaReader struct {
	meta      map[string]json.RawMessage
	described Described
	notices   noticeList
}

// value reads the value of a key of that kind. A value of another kind, one that
// cannot be read and one that is too long are noted, with what they are read as.
func (r *metaReader) value(key string, kind nodeKind, limit int, readAs string) (*node, bool) {
	text, ok := r.meta[key]
	if !ok {
		return nil, false
	}
	if len(text) > limit {
		r.note(key, fmt.Sprintf("%d bytes, more than %d", len(text), limit), readAs)
		return nil, false
	}
	value, err := parseNode(text)
	if err != nil {
		r.note(key, "malformed", readAs)
		return nil, false
	}
	if value.kind != kind {
		r.note(key, value.kind.String(), readAs)
		return nil, false
	}
	return value, true
}

func (r *metaReader) note(key, was, readAs string) {
	r.notices.add((*place)(nil).child(key).String(), was, readAs)
}

// maxWordBytes bounds a word of a vocabulary, and the number of a version.
const maxWordBytes = 64

// specVersion says whether the major of the writer is one that is read here.
func (r *metaReader) specVersion() bool {
	if _, ok := r.meta[metaSpecVersion]; !ok {
		return true
	}
	value, ok := r.value(metaSpecVersion, stringNode, maxWordBytes, "another major: all at its fallbacks")
	if !ok {
		return false
	}
	r.described.SpecVersion = value.text
	if majorOf(value.text) != majorOf(SpecVersion) {
		r.note(metaSpecVersion, quoted(value.text), "another major: all at its fallbacks")
		return false
	}
	return true
}

func majorOf(version string) string {
	major, _, _ := strings.Cut(version, ".")
	return major
}

func (r *metaReader) access() {
	if value, ok := r.value(metaAccess, stringNode, maxWordBytes, string(AccessFallback)); ok {
		switch access := Access(value.text); access {
		case AccessLocal, AccessRemote:
			r.described.Access = access
		default:
			r.note(metaAccess, quoted(value.text), string(AccessFallback))
		}
	}
}

func (r *metaReader) resultKind() {
	if value, ok := r.value(metaResultKind, stringNode, maxWordBytes, string(ResultKindFallback)); ok {
		switch kind := ResultKind(value.text); kind {
		case ResultRecords, ResultArtifact:
			r.described.ResultKind = kind
		default:
			r.note(metaResultKind, quoted(value.text), string(ResultKindFallback))
		}
	}
}

func (r *metaReader) deprecated() {
	if value, ok := r.value(metaDeprecated, booleanNode, maxWordBytes, "false"); ok {
		r.described.Deprecated = value.text == "true"
	}
}

func (r *metaReader) target() {
	if value, ok := r.value(metaTarget, stringNode, MaxTargetBytes, "dropped"); ok {
		r.described.Target = value.text
	}
}

// tags keeps those that are words, as many as fit.
func (r *metaReader) tags() {
	list, ok := r.value(metaTags, arrayNode, MaxMetaBytes, "dropped")
	if !ok {
		return
	}
	for i, tag := range list.elements {
		at := (*place)(nil).child(metaTags).index(i).String()
		switch {
		case tag.kind != stringNode:
			r.notices.add(at, tag.kind.String(), "dropped")
		case isBlank(tag.text) || len(tag.text) > MaxTagBytes:
			r.notices.add(at, fmt.Sprintf("a tag of %d bytes", len(tag.text)), "dropped")
		case len(r.described.Tags) == MaxTags:
			r.note(metaTags, fmt.Sprintf("more than %d tags", MaxTags), "the rest dropped")
			return
		default:
			r.described.Tags = append(r.described.Tags, tag.text)
		}
	}
}

func (r *metaReader) facts() {
	facts, ok := r.value(metaMeta, objectNode, MaxMetaBytes, "dropped")
	if !ok {
		return
	}
	r.described.Meta = make(map[string]json.RawMessage, len(facts.members))
	for _, m := range facts.members {
		r.described.Meta[m.name] = m.value.appendJSON(nil)
	}
}
