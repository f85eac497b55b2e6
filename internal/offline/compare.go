// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"remit.dev/remit/api/v1alpha1"
)

// Comparison is one Spec on two sides. A hash is empty where a side lacks it.
type Comparison struct {
	Name    string          `json:"name"`
	OldHash v1alpha1.Digest `json:"oldHash,omitempty"`
	NewHash v1alpha1.Digest `json:"newHash,omitempty"`
	Changes []Change        `json:"changes"`
}

// Same says whether both sides are one Version.
func (c *Comparison) Same() bool { return c.OldHash == c.NewHash }

// Comparisons are all Specs of two sides.
type Comparisons struct {
	Specs []Comparison `json:"specs"`
	// Unusable says why nothing was compared, and is nil if it was.
	Unusable *Report `json:"unusable,omitempty"`
}

// Same says whether nothing differs.
func (c *Comparisons) Same() bool {
	return !slices.ContainsFunc(c.Specs, func(c Comparison) bool { return !c.Same() })
}

// Compare pairs the Specs of two sides by namespace and name, or whatever their
// names if there is one on each. The objects must have no findings. It is an error if
// one side has two Specs of one name that differ.
func Compare(old, updated []Object) (*Comparisons, error) {
	a, err := specsByName(old)
	if err != nil {
		return nil, err
	}
	b, err := specsByName(updated)
	if err != nil {
		return nil, err
	}
	names := namesOf(old)
	for _, name := range namesOf(updated) {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	if len(a) == 1 && len(b) == 1 && len(names) == 2 {
		joint := names[0] + " -> " + names[1]
		a, b = map[string]Object{joint: a[names[0]]}, map[string]Object{joint: b[names[1]]}
		names = []string{joint}
	}
	all := &Comparisons{Specs: []Comparison{}}
	for _, name := range names {
		c, err := compareSpec(name, a[name], b[name])
		if err != nil {
			return nil, err
		}
		all.Specs = append(all.Specs, c)
	}
	return all, nil
}

func compareSpec(name string, old, updated Object) (Comparison, error) {
	c := Comparison{Name: name, OldHash: old.Hash, NewHash: updated.Hash, Changes: []Change{}}
	if old.Hash == "" || updated.Hash == "" {
		c.Changes = append(c.Changes, Change{Path: "spec", Old: old.Body, New: updated.Body})
		return c, nil
	}
	changes, err := Diff(old.Body, updated.Body)
	c.Changes = append(c.Changes, changes...)
	return c, err
}

func specsByName(objects []Object) (map[string]Object, error) {
	specs := map[string]Object{}
	for _, o := range objects {
		if o.Kind != SpecKind {
			continue
		}
		if other, ok := specs[o.fullName()]; ok && other.Hash != o.Hash {
			return nil, fmt.Errorf("%s is in %s:%d and, with another content, in %s:%d: name one of the two", &o, other.Source, other.Line, o.Source, o.Line)
		}
		specs[o.fullName()] = o
	}
	return specs, nil
}

// namesOf keeps the order of the sources.
func namesOf(objects []Object) []string {
	var names []string
	for _, o := range objects {
		if name := o.fullName(); o.Kind == SpecKind && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// WriteJSON writes the comparisons as one JSON object.
func (c *Comparisons) WriteJSON(w io.Writer) error {
	written := Comparisons{Specs: append([]Comparison{}, c.Specs...)} // [], not null
	if c.Unusable != nil {
		written.Unusable = c.Unusable.listed()
	}
	return writeJSON(w, written)
}

// WriteText writes what differs for people.
func (c *Comparisons) WriteText(w io.Writer) error {
	var text strings.Builder
	for i := range c.Specs {
		spec := &c.Specs[i]
		if spec.Same() {
			fmt.Fprintf(&text, "%s: same hash %s\n", spec.Name, spec.NewHash)
			continue
		}
		fmt.Fprintf(&text, "%s: %s\n- %s\n+ %s\n", spec.Name, count(len(spec.Changes), "change"), orNone(spec.OldHash), orNone(spec.NewHash))
		for _, change := range spec.Changes {
			fmt.Fprintf(&text, "\n%s\n", change.Path)
			writeChange(&text, change)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func orNone(hash v1alpha1.Digest) string {
	if hash == "" {
		return "none"
	}
	return string(hash)
}

// writeChange shows two texts without the lines that they begin and end with
// together.
func writeChange(w io.Writer, change Change) {
	old, updated := shownLines(change.Old, change.New)
	common := 0
	for common < min(len(old), len(updated)) && old[common] == updated[common] {
		common++
	}
	old, updated = old[common:], updated[common:]
	for len(old) > 0 && len(updated) > 0 && old[len(old)-1] == updated[len(updated)-1] {
		old, updated = old[:len(old)-1], updated[:len(updated)-1]
	}
	if common > 0 {
		fmt.Fprintf(w, "@ line %d\n", common+1)
	}
	for _, line := range old {
		fmt.Fprintf(w, "- %s\n", line)
	}
	for _, line := range updated {
		fmt.Fprintf(w, "+ %s\n", line)
	}
}

// shownLines shows text of several lines as it is, anything else as JSON.
func shownLines(old, updated json.RawMessage) (oldLines, newLines []string) {
	var a, b string
	if json.Unmarshal(old, &a) == nil && json.Unmarshal(updated, &b) == nil && strings.Contains(a+b, "\n") {
		return strings.Split(printable(a), "\n"), strings.Split(printable(b), "\n")
	}
	return jsonLine(old), jsonLine(updated)
}

func jsonLine(value json.RawMessage) []string {
	if value == nil {
		return nil
	}
	return []string{printable(string(value))}
}
