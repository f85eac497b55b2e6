// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// C9, P3: no list of a Spec is left undecided.
func TestAgentSpecHasACanonicalForm(t *testing.T) {
	if err := Check(reflect.TypeFor[v1alpha1.AgentSpec]()); err != nil {
		t.Error(err)
	}
}

// C2: every part of a Spec counts. Each leaf of a Spec in which everything is set
// is changed, alone, and each time the canonical form is another.
func TestEveryPartOfAnAgentSpecCounts(t *testing.T) {
	var spec v1alpha1.AgentSpec
	fill(reflect.ValueOf(&spec).Elem(), new(0))
	seen := map[string]string{string(mustTyped(t, &spec)): "the Spec itself"}
	leaves := 0
	eachLeaf(reflect.ValueOf(&spec).Elem(), "", func(path string, leaf reflect.Value) {
		leaves++
		old := reflect.ValueOf(leaf.Interface())
		for i, changed := range changes(leaf) {
			leaf.Set(changed)
			got := string(mustTyped(t, &spec))
			// A workflow without steps is none.
			if other, ok := seen[got]; ok && (other != ".Workflow" || path != ".Workflow.Steps") {
				t.Errorf("%s, change %d: the same canonical form as %s", path, i, other)
			}
			seen[got] = path
		}
		leaf.Set(old)
	})
	if leaves < 100 {
		t.Errorf("only %d leaves", leaves)
	}
}

// C9, P3: reversing a list changes the canonical form if its order carries
// meaning, and else does not.
func TestOrderOfAgentSpecLists(t *testing.T) {
	var spec v1alpha1.AgentSpec
	fill(reflect.ValueOf(&spec).Elem(), new(0))
	want := string(mustTyped(t, &spec))
	orderedLists := []string{".Models", ".Workflow.Steps"}
	eachList(reflect.ValueOf(&spec).Elem(), "", func(path string, list reflect.Value) {
		swap := reflect.Swapper(list.Interface())
		swap(0, 1)
		same := string(mustTyped(t, &spec)) == want
		swap(0, 1)
		if same == slices.Contains(orderedLists, path) {
			t.Errorf("%s: reversed, the same canonical form: %t", path, same)
		}
	})
}

// C12: what has three states keeps them.
func TestTriStatesOfAnAgentSpec(t *testing.T) {
	with := func(idempotent, readOnly *bool) string {
		tool := v1alpha1.Tool{Name: "t", Idempotent: idempotent}
		if readOnly != nil {
			tool.Annotations = &v1alpha1.ToolAnnotations{ReadOnlyHint: readOnly}
		}
		return string(mustTyped(t, v1alpha1.AgentSpec{Tools: []v1alpha1.Tool{tool}}))
	}
	seen := map[string]bool{}
	states := []*bool{nil, new(false), new(true)}
	for _, idempotent := range states {
		for _, readOnly := range states {
			seen[with(idempotent, readOnly)] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d forms of nine states", len(seen))
	}
}

func mustTyped(t failer, v any) []byte {
	t.Helper()
	got, err := Typed(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return got
}

// fill sets everything in v, each leaf to another value and each list and map to
// two elements.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case apiextensionsv1.JSON:
		v.Set(reflect.ValueOf(apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"n":%d}`, *n)}))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprint(*n))))
		return
	case metav1.Duration:
		v.Set(reflect.ValueOf(metav1.Duration{Duration: time.Duration(*n) * time.Second}))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.String:
		v.SetString(fmt.Sprintf("s%04d", *n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			elem := reflect.New(v.Type().Elem()).Elem()
			fill(elem, n)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("k%04d", *n)).Convert(v.Type().Key()), elem)
		}
	case reflect.Struct:
		for _, value := range v.Fields() {
			fill(value, n)
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

func isLeaf(v reflect.Value) bool {
	switch v.Interface().(type) {
	case apiextensionsv1.JSON, json.RawMessage, metav1.Duration:
		return true
	}
	return v.Kind() != reflect.Struct && v.Kind() != reflect.Slice && v.Kind() != reflect.Pointer
}

// eachLeaf visits everything that can be changed on its own: scalars, maps,
// free-form JSON, and pointers and lists as a whole.
func eachLeaf(v reflect.Value, path string, visit func(string, reflect.Value)) {
	switch {
	case isLeaf(v):
		visit(path, v)
	case v.Kind() == reflect.Pointer:
		visit(path, v)
		eachLeaf(v.Elem(), path, visit)
	case v.Kind() == reflect.Slice:
		visit(path, v)
		for i := range v.Len() {
			eachLeaf(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	default:
		for field, value := range v.Fields() {
			eachLeaf(value, path+"."+field.Name, visit)
		}
	}
}

func eachList(v reflect.Value, path string, visit func(string, reflect.Value)) {
	eachLeaf(v, path, func(path string, leaf reflect.Value) {
		if leaf.Kind() == reflect.Slice && !isLeaf(leaf) {
			visit(path, leaf)
		}
	})
}

// changes gives values that mean something else than the one in v.
func changes(v reflect.Value) []reflect.Value {
	zero := reflect.Zero(v.Type())
	switch old := v.Interface().(type) {
	case apiextensionsv1.JSON:
		return []reflect.Value{reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte(`{"n":0}`)})}
	case metav1.Duration:
		return []reflect.Value{reflect.ValueOf(metav1.Duration{Duration: old.Duration + 1}), zero}
	}
	changed := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Bool:
		return []reflect.Value{zero}
	case reflect.Int32, reflect.Int64:
		changed.SetInt(v.Int() + 1)
	case reflect.String:
		// Not "": an empty name is no name, and no object without one.
		changed.SetString(v.String() + "x")
		return []reflect.Value{changed}
	case reflect.Slice:
		changed.Set(v.Slice(0, 1))
	case reflect.Map:
		first := v.MapKeys()[0]
		changed.Set(reflect.MakeMap(v.Type()))
		changed.SetMapIndex(first, v.MapIndex(first))
	default:
		return []reflect.Value{zero}
	}
	return []reflect.Value{changed, zero}
}
