// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"remit.dev/remit/api/v1alpha1"
)

// item is one object within a document.
type item struct {
	object map[string]any
	prefix string // the path to it, empty if it is the document
}

// items are the document's object, or those of a List, and of a List within one.
// kubectl applies them like objects of their own.
func (d *document) items() ([]item, error) {
	return item{object: d.object}.expand(nil)
}

func (i item) expand(into []item) ([]item, error) {
	kind, isList := strings.CutSuffix(i.gvk().Kind, "List")
	list, hasItems := i.object["items"].([]any)
	if !isList || !hasItems {
		return append(into, i), nil
	}
	for n, element := range list {
		path := strings.TrimPrefix(i.prefix+".items["+strconv.Itoa(n)+"]", ".")
		object, ok := element.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: %w", path, errNoKind)
		}
		// A list of one kind need not repeat it.
		if object["kind"] == nil && kind != "" {
			object["apiVersion"], object["kind"] = i.object["apiVersion"], kind
		}
		var err error
		if into, err = (item{object: object, prefix: path}).expand(into); err != nil {
			return nil, err
		}
	}
	return into, nil
}

func (i item) gvk() schema.GroupVersionKind {
	u := unstructured.Unstructured{Object: i.object}
	return u.GroupVersionKind()
}

// names are those of the metadata, as far as there are any.
func (i item) names() (namespace, name string) {
	u := unstructured.Unstructured{Object: i.object}
	return u.GetNamespace(), u.GetName()
}

// own are those findings of the document that are about the item, with paths
// that begin in it.
func (i item) own(findings []v1alpha1.Finding) []v1alpha1.Finding {
	var own []v1alpha1.Finding
	for _, f := range findings {
		if i.prefix == "" {
			own = append(own, f)
		} else if path, ok := strings.CutPrefix(f.Path, i.prefix+"."); ok {
			f.Path = path
			own = append(own, f)
		}
	}
	return own
}

// ownerless are the findings that are about none of the items, but about the List
// that they are in.
func ownerless(items []item, findings []v1alpha1.Finding) []v1alpha1.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f v1alpha1.Finding) bool {
		return slices.ContainsFunc(items, func(i item) bool { return i.prefix == "" || strings.HasPrefix(f.Path, i.prefix+".") })
	})
}
