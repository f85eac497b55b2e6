// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"remit.dev/remit/internal/canonical"
)

// document is one object of a source, as it was written.
type document struct {
	line   int    // at which text begins in its source, from 1
	text   []byte // YAML or JSON
	json   []byte // what kubectl would send
	isJSON bool   // text is what kubectl would send
	object map[string]any

	tree *yamlnode.Node // parsed from text when it is first needed
}

// parseDocuments splits a stream of YAML documents, or of JSON values, as kubectl
// does. Empty documents are left out.
func parseDocuments(source Source) ([]*document, error) {
	var all []*document
	for _, part := range splitYAML(source.Content) {
		if len(bytes.TrimSpace(part.text)) == 0 {
			continue
		}
		values, ok := splitJSON(part)
		if !ok {
			values = []*document{part}
		}
		for _, d := range values {
			err := d.parse()
			if err == nil && d.object != nil && d.kind() == "" && !source.Found {
				err = errNoKind
			}
			if err != nil {
				return nil, d.readError(source.Name, err)
			}
			if d.kind() != "" {
				all = append(all, d)
			}
		}
	}
	return all, nil
}

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
	}
	return &ReadError{source, line, err}
}

var errNoKind = errors.New("an object is needed, with apiVersion, kind and metadata")

// kind is empty for what is no object.
func (d *document) kind() string {
	kind, _ := d.object["kind"].(string)
	return kind
}

// splitYAML splits at lines that begin with "---". What follows it on the line
// belongs to the next document.
func splitYAML(content []byte) []*document {
	var parts []*document
	start, startLine, line := 0, 1, 0
	for at := 0; at < len(content); {
		end := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line++
		if rest, ok := bytes.CutPrefix(content[at:end], []byte("---")); ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0) {
			parts = append(parts, &document{line: startLine, text: content[start:at]})
			start, startLine = at+len("---"), line
		}
		at = end
	}
	return append(parts, &document{line: startLine, text: content[start:]})
}

// splitJSON splits a part that is JSON values, one after the other.
func splitJSON(part *document) ([]*document, bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(part.text), []byte("{")) {
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
	return kjson.UnmarshalCaseSensitivePreserveInts(d.json, &d.object)
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

// root is the top node of the document, or nil.
func (d *document) root() *yamlnode.Node {
	if d.tree == nil { // JSON is YAML, as far as the places of things go
		d.tree = new(yamlnode.Node)
		if yamlnode.Unmarshal(d.text, d.tree) != nil {
			return nil
		}
	}
	if len(d.tree.Content) == 0 {
		return nil
	}
	return d.tree.Content[0]
}
