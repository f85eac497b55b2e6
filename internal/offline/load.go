// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"remit.dev/remit/api/v1alpha1"
)

// Manifests are objects as a cluster would hold them, their status included.
type Manifests struct {
	Specs      []v1alpha1.Spec
	Grants     []v1alpha1.Grant
	Servers    []v1alpha1.MCPServer
	Namespaces []corev1.Namespace
}

// Load adds the Specs, Grants, MCPServers and Namespaces of a source. What the API
// server would refuse, and what cannot be read, are *ReadErrors.
func (c *Checker) Load(ctx context.Context, source Source, into *Manifests) error {
	all := parseDocuments(source)
	if len(all.failed) > 0 {
		return joined(all.failed)
	}
	for _, d := range all.objects {
		items, err := d.items()
		if err != nil {
			return &ReadError{source.Name, d.line, err}
		}
		for _, item := range items {
			if err := c.loadItem(ctx, item, into); err != nil {
				return &ReadError{source.Name, d.locate(item.prefix).line, err}
			}
		}
	}
	return nil
}

func (c *Checker) loadItem(ctx context.Context, i item, into *Manifests) error {
	switch gvk := i.gvk(); gvk {
	case corev1.SchemeGroupVersion.WithKind("Namespace"):
		return add(&into.Namespaces, i.object)
	case v1alpha1.GroupVersion.WithKind(SpecKind):
		return c.loadAs(ctx, gvk, i, func(object map[string]any) error { return add(&into.Specs, object) })
	case v1alpha1.GroupVersion.WithKind("Grant"):
		return c.loadAs(ctx, gvk, i, func(object map[string]any) error { return add(&into.Grants, object) })
	case v1alpha1.GroupVersion.WithKind("MCPServer"):
		return c.loadAs(ctx, gvk, i, func(object map[string]any) error { return add(&into.Servers, object) })
	}
	return nil
}

// loadAs gives the object its defaults. Its status, which nobody can create, is
// what a cluster once showed.
func (c *Checker) loadAs(ctx context.Context, gvk schema.GroupVersionKind, i item, add func(map[string]any) error) error {
	status, shown := i.object["status"]
	findings := c.kinds[gvk].admit(ctx, i.object).findings
	if refused := slices.IndexFunc(findings, func(f v1alpha1.Finding) bool { return f.Rule != RuleUnknownField }); refused >= 0 {
		_, name := i.names()
		return fmt.Errorf("%s %q: %s: %s", gvk.Kind, name, strings.TrimPrefix(findings[refused].Path, "."), findings[refused].Message)
	}
	if shown {
		i.object["status"] = status
	}
	return add(i.object)
}

func add[T any](list *[]T, object map[string]any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var typed T
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &typed); err != nil {
		return err
	}
	*list = append(*list, typed)
	return nil
}
