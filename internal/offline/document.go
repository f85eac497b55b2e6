// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"unicode/utf8"

	yamlnode "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/publish"
)

// document is one object of a source, as it was written.
type document struct {
	line   int    // at which text begins in its source, from 1
	text   []byte // YAML or JSON
	json   []byte // what kubectl would send
	isJSON bool   // text is what kubectl would send
	object map[string]any
	err    error // that was seen when the source was split

	tree *yamlnode.Node // parsed from text when it is first needed
}

// documents are those of a source.
type documents struct {
	objects []*document
	// failed are those that cannot be read.
	failed []*ReadError
	// skipped are those that may be anything, as they were found in a directory.
	skipped []Notice
}

var (
	errNoKind   = errors.New("an object is needed, with apiVersion, kind and metadata")
	errNoObject = errors.New("there is no object in it")
	errUTF16    = errors.New("the text is UTF-16: save it as UTF-8")
)

// parseDocuments splits a stream of YAML documents, or of JSON values, as kubectl
// does. Empty documents are left out. Each is read whatever the others are.
func parseDocuments(source Source) documents {
	var all documents
	if source.Skipped != "" {
		all.skipped = append(all.skipped, Notice{source.Name, 0, source.Skipped})
		return all
	}
	if bytes.HasPrefix(source.Content, []byte("\xff\xfe")) || bytes.HasPrefix(source.Content, []byte("\xfe\xff")) {
		all.fail(source, &document{line: 1, text: bytes.ReplaceAll(source.Content, []byte{0}, nil)}, errUTF16)
		return all
	}
	some := isKustomization(source.Name)
	for _, part := range splitYAML(source.Content) {
		values, ok := splitJSON(part)
		if !ok {
			values = []*document{part}
		}
		for _, d := range values {
			some = all.add(source, d) || some
		}
	}
	if !some && !source.Found {
		all.failed = append(all.failed, &ReadError{Source: source.Name, Err: errNoObject})
	}
	return all
}

// add parses a document, and reports whether there is anything in it.
func (all *documents) add(source Source, d *document) bool {
	if len(bytes.TrimSpace(d.text)) == 0 && d.err == nil {
		return false
	}
	err := d.parse()
	if err == nil && d.object != nil && d.kind() == "" && (d.claims() || !source.Found && !isKustomization(source.Name)) {
		err = errNoKind
	}
	switch {
	case err != nil:
		all.fail(source, d, err)
	case d.kind() != "":
		all.objects = append(all.objects, d)
	}
	return err != nil || d.object != nil
}

// fail: what was found in a directory may be a template or any other file, unless
// it says that it is one of ours.
func (all *documents) fail(source Source, d *document, err error) {
	failed := d.readError(source.Name, err)
	if source.Found && !d.claims() {
		all.skipped = append(all.skipped, Notice{failed.Source, failed.Line, "left out, as it names no apiVersion of remit.dev: " + failed.Err.Error()})
		return
	}
	all.failed = append(all.failed, failed)
}

// isKustomization: what names the resources of kustomize needs no kind.
func isKustomization(path string) bool {
	switch filepath.Base(path) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	default:
		return false
	}
}

// claim is how an object of the project begins, in YAML, JSON and templates of them.
var claim = regexp.MustCompile(`apiVersion["']?\s*:\s*["']?` + regexp.QuoteMeta(v1alpha1.GroupVersion.Group) + `/`)

// claims says whether the text says that it is an object of the project.
func (d *document) claims() bool { return claim.Match(d.text) }

// yamlLine is how the YAML library says where an error is.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// readError shows the line within the source, not within the document.
func (d *document) readError(source string, err error) *ReadError {
	line := d.line
	if match := yamlLine.FindStringSubmatch(err.Error()); match != nil {
		if n, convErr := strconv.Atoi(match[1]); convErr == nil && n > 0 {
			line += n - 1
			err = errors.New("yaml: " + err.Error()[len(match[0]):])
		}
	} else if at := unprintable(d.text); at >= 0 && !d.isJSON {
		line += bytes.Count(d.text[:at], []byte("\n"))
	}
	return &ReadError{source, line, err}
}

// unprintable finds the first byte that no YAML can hold, which the library refuses
// without saying where it is. It returns -1 if there is none.
func unprintable(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\x7f' {
			return at
		}
		at += size
	}
	return -1
}

// kind is empty for what is no object.
func (d *document) kind() string {
	kind, _ := d.object["kind"].(string)
	return kind
}

var errSeparator = errors.New(`only a comment can follow "---" on its line`)

// splitYAML splits at lines that begin with "---", after which kubectl takes
// nothing but a comment.
func splitYAML(content []byte) []*document {
	var parts []*document
	part := &document{line: 1}
	start, line := 0, 0
	for at := 0; at < len(content); {
		end := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line++
		if rest, ok := bytes.CutPrefix(content[at:end], []byte("---")); ok {
			part.text = content[start:at]
			parts = append(parts, part)
			part = &document{line: line + 1}
			start = end
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				part.line, part.err = line, errSeparator
				start = at
			}
		}
		at = end
	}
	part.text = content[start:]
	return append(parts, part)
}

// splitJSON splits a part that is JSON values, one after the other.
func splitJSON(part *document) ([]*document, bool) {
	if part.err != nil || !bytes.HasPrefix(bytes.TrimSpace(part.text), []byte("{")) {
		return nil, false
	}
	var values []*document
	decoder := json.NewDecoder(bytes.NewReader(part.text))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return values, true
		}
		if err != nil { // YAML in flow style begins with a brace too
			return nil, false
		}
		begin := int(decoder.InputOffset()) - len(raw)
		line := part.line + bytes.Count(part.text[:begin], []byte("\n"))
		values = append(values, &document{line: line, text: raw, isJSON: true})
	}
}

var errTooLarge = fmt.Errorf("the document has more than %d bytes, which no API server takes", canonical.MaxBytes)

// parse fills in object; it stays nil for a document of comments only.
func (d *document) parse() error {
	if d.err != nil {
		return d.err
	}
	if len(d.text) > canonical.MaxBytes {
		return errTooLarge
	}
	d.json = d.text
	if !d.isJSON {
		var err error
		if err = d.onlyDocument(); err != nil {
			return err
		}
		if d.json, err = yaml.YAMLToJSON(d.text); err != nil {
			return err
		}
		if len(d.json) > canonical.MaxBytes { // aliases make it longer
			return errTooLarge
		}
		if bytes.Equal(bytes.TrimSpace(d.json), []byte("null")) {
			return nil
		}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(d.json), []byte("{")) {
		return errNoKind
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.json, &d.object); err != nil {
		return cmp.Or(outOfRange(d.json), err)
	}
	return nil
}

// outOfRange finds a number that Kubernetes cannot read, which its decoder refuses
// without saying where it is.
func outOfRange(text []byte) error {
	joined, ok := canonical.CheckText(text).(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, err := range joined.Unwrap() {
		if located, ok := errors.AsType[*canonical.Error](err); ok && located.Rule == canonical.RuleNumberRange {
			return fmt.Errorf("%s: %s", publish.PointerPath(nil, located.Path), located.Detail)
		}
	}
	return nil
}

// onlyDocument refuses what is after an end marker ("..."): it would be dropped
// without a word.
func (d *document) onlyDocument() error {
	decoder := yamlnode.NewDecoder(bytes.NewReader(d.text))
	var first, next yamlnode.Node
	if err := decoder.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	d.tree = &first
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return errors.New(`begin each document with "---"`)
	}
	return nil
}

// surrogate is half of a surrogate pair in JSON, or any other escape in two
// characters, which may look like the beginning of one.
var surrogate = regexp.MustCompile(`\\(?:u[dD][89a-fA-F][0-9a-fA-F]{2}|.)`)

// root is the top node of the document, or nil.
func (d *document) root() *yamlnode.Node {
	if d.tree == nil { // JSON is YAML, as far as the places of things go
		d.tree = new(yamlnode.Node)
		// But for halves of surrogate pairs.
		text := surrogate.ReplaceAllFunc(d.text, func(escape []byte) []byte {
			if len(escape) > 2 {
				return []byte(`\u0020`)
			}
			return escape
		})
		if yamlnode.Unmarshal(text, d.tree) != nil {
			return nil
		}
	}
	if len(d.tree.Content) == 0 {
		return nil
	}
	return d.tree.Content[0]
}
