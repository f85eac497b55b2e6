// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/config/crd"
	"remit.dev/remit/internal/canonical"
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
	// Incomplete says that some rules were not checked, because of the findings.
	Incomplete bool `json:"incomplete,omitempty"`

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

// CheckAll checks every object of remit.dev that the paths lead to, as Sources reads
// them.
func (c *Checker) CheckAll(ctx context.Context, paths []string, stdin io.Reader) *Report {
	report := &Report{}
	for source, err := range Sources(ctx, paths, stdin) {
		if failed, ok := errors.AsType[*ReadError](err); ok {
			report.fail(failed)
			continue
		}
		report.Add(c.Check(ctx, source))
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(report.Err(), cause) {
		report.fail(&ReadError{Source: strings.Join(paths, ", "), Err: cause})
	}
	return report
}

// Check checks every object of remit.dev in a source, those in a List included.
// Objects of other groups are left out. What cannot be read is in the report's
// errors, beside what can.
func (c *Checker) Check(ctx context.Context, source Source) *Report {
	all := parseDocuments(source)
	report := &Report{Errors: all.failed, Notices: all.skipped}
	once := oncePerSource{}
	for _, d := range all.objects {
		if err := ctx.Err(); err != nil {
			report.fail(&ReadError{source.Name, d.line, context.Cause(ctx)})
			return report
		}
		c.checkDocument(ctx, report, source.Name, d, once)
	}
	return report
}

func (c *Checker) checkDocument(ctx context.Context, report *Report, source string, d *document, once oncePerSource) {
	items, err := d.items()
	if err != nil {
		report.fail(&ReadError{source, d.line, err})
		return
	}
	literals := d.checkLiterals()
	for _, f := range ownerless(items, literals) {
		report.fail(&ReadError{source, d.locate(f.Path).line, fmt.Errorf("%s: %s", f.Path, f.Message)})
	}
	for _, item := range items {
		object, err := c.checkItem(ctx, d, item, literals, once)
		if err != nil {
			report.fail(&ReadError{source, d.locate(item.prefix).line, err})
		} else if object != nil {
			object.Source = source
			report.Objects = append(report.Objects, *object)
		}
	}
}

// checkItem checks one object of a document. It returns nil for one of another
// group.
func (c *Checker) checkItem(ctx context.Context, d *document, i item, literals []v1alpha1.Finding, once oncePerSource) (*Object, error) {
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
	admitted := k.admit(ctx, i.object)
	object.Incomplete = admitted.incomplete || len(literals) >= canonical.MaxFound
	findings := append(i.own(literals), admitted.findings...)
	findings = append(findings, once.check(object, i.object)...)
	if gvk.Kind == SpecKind {
		var err error
		if findings, err = c.publish(object, i.object, admitted, findings); err != nil {
			return nil, err
		}
	}
	object.Findings = d.place(i, publish.SortFindings(findings))
	return object, nil
}

// publish adds the findings of publication. An object that an API server refuses
// has them too, as far as the rules can be asked: what is no Spec cannot be, and a
// size that is not bounded is too much to ask of them.
func (c *Checker) publish(object *Object, content map[string]any, admitted *admission, findings []v1alpha1.Finding) ([]v1alpha1.Finding, error) {
	if admitted.unbounded {
		object.Incomplete = true
		return findings, nil
	}
	spec, err := decodeSpec(content)
	if err != nil {
		if admitted.refused {
			object.Incomplete = true
			return findings, nil
		}
		return nil, err
	}
	result, more := publish.Publish(spec.Spec, c.functions)
	for _, f := range more {
		if !admitted.says(f) {
			findings = append(findings, f)
		}
	}
	if !publish.Refused(findings) && !object.Incomplete {
		object.Version, object.Hash, object.Body = result.Name, result.Hash, result.Body
	}
	return findings, nil
}

// decodeSpec takes the object through JSON, as the operator gets it.
func decodeSpec(object map[string]any) (*v1alpha1.Spec, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	spec := &v1alpha1.Spec{}
	return spec, kjson.UnmarshalCaseSensitivePreserveInts(text, spec)
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
