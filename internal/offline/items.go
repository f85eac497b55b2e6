// SPDX-License-Identifier: Apache-2.0

package offline

import (
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

// items are the document's object, or those of a List. kubectl applies them like
// objects of their own.
func (d *document) items() []item {
	whole := item{object: d.object}
	list, ok := d.object["items"].([]any)
	if !ok || !strings.HasSuffix(whole.gvk().Kind, "List") {
		return []item{whole}
	}
	var items []item
	for i, element := range list {
		if object, ok := element.(map[string]any); ok {
			items = append(items, item{object: object, prefix: "items[" + strconv.Itoa(i) + "]"})
		}
	}
	return items
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
