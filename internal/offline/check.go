// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/config/crd"
	"remit.dev/remit/internal/publish"
)

// Finding is a finding with its place in the source. Lines and columns count
// from 1.
type Finding struct {
	v1alpha1.Finding
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Object is one object of remit.dev, as it was found in a source.
type Object struct {
	Source    string `json:"source"`
	Line      int    `json:"line"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Version and Hash are those of a Spec without findings.
	Version string          `json:"version,omitempty"`
	Hash    v1alpha1.Digest `json:"hash,omitempty"`
	// Findings are in the order of publish.SortFindings.
	Findings []Finding `json:"findings"`

	// Body is the canonical form of a Spec without findings.
	Body []byte `json:"-"`
}

// SpecKind is the kind of the objects that are published.
const SpecKind = "Spec"

// String names the object as people do.
func (o *Object) String() string { return o.Kind + " " + o.fullName() }

func (o *Object) fullName() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// Checker checks objects. It can be used by several goroutines.
type Checker struct {
	kinds     map[schema.GroupVersionKind]*kind
	functions publish.Functions
}

// NewChecker makes a Checker with the CRDs that the operator is installed with.
// Functions are those that the operator registers.
func NewChecker(functions publish.Functions) (*Checker, error) {
	kinds, err := loadKinds(crd.Bases)
	if err != nil {
		return nil, fmt.Errorf("the embedded CRDs: %w", err)
	}
	return &Checker{kinds: kinds, functions: functions}, nil
}

// Check checks every object of remit.dev in a source, those in a List included.
// Objects of other groups are left out. It returns a *ReadError if the source
// cannot be read.
func (c *Checker) Check(ctx context.Context, source Source) ([]Object, error) {
	documents, err := parseDocuments(source)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, d := range documents {
		literals := d.checkLiterals()
		for _, item := range d.items() {
			object, err := c.checkItem(ctx, d, item, literals)
			if err != nil {
				return nil, &ReadError{source.Name, d.line, err}
			}
			if object != nil {
				object.Source = source.Name
				objects = append(objects, *object)
			}
		}
	}
	return objects, nil
}

// checkItem checks one object of a document. It returns nil for one of another
// group.
func (c *Checker) checkItem(ctx context.Context, d *document, i item, literals []v1alpha1.Finding) (*Object, error) {
	gvk := i.gvk()
	if gvk.Group != v1alpha1.GroupVersion.Group {
		return nil, nil
	}
	object := &Object{Kind: gvk.Kind, Line: d.locate(i.prefix).line}
	object.Namespace, object.Name = i.names()
	k, ok := c.kinds[gvk]
	if !ok {
		object.Findings = d.place(i, []v1alpha1.Finding{{
			Rule: RuleSchema, Path: "kind", Message: fmt.Sprintf("%s has no kind %q: correct kind or apiVersion", gvk.GroupVersion(), gvk.Kind),
		}})
		return object, nil
	}
	findings := append(i.own(literals), k.admit(ctx, i.object)...)
	// What the schema refuses never reaches the operator.
	if gvk.Kind == SpecKind && !slices.ContainsFunc(findings, refusedByServer) {
		result, more, err := c.publish(i.object)
		if err != nil {
			return nil, err
		}
		findings = append(findings, more...)
		if len(findings) == 0 {
			object.Version, object.Hash, object.Body = result.Name, result.Hash, result.Body
		}
	}
	object.Findings = d.place(i, publish.SortFindings(findings))
	return object, nil
}

func refusedByServer(f v1alpha1.Finding) bool { return f.Rule == RuleSchema || f.Rule == RuleMetadata }

// publish takes the object through JSON, as the operator gets it.
func (c *Checker) publish(object map[string]any) (publish.Result, []v1alpha1.Finding, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return publish.Result{}, nil, err
	}
	var spec v1alpha1.Spec
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &spec); err != nil {
		return publish.Result{}, nil, err
	}
	result, findings := publish.Publish(spec.Spec, c.functions)
	return result, findings, nil
}

// place adds to findings where they are in the source.
func (d *document) place(i item, findings []v1alpha1.Finding) []Finding {
	placed := make([]Finding, len(findings)) // [] in JSON, not null
	for n, f := range findings {
		at := d.locate(i.prefix + "." + f.Path)
		placed[n] = Finding{Finding: f, Line: at.line, Column: at.column}
	}
	return placed
}
