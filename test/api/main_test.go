// SPDX-License-Identifier: Apache-2.0

// Package api tests on a real API server what the five kinds accept and refuse, who may write
// them, and who may decide on pending calls.
package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/test/testenv"
)

var (
	env    *testenv.Env
	scheme = runtime.NewScheme()
	admin  client.Client
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctrllog.SetLogger(logr.Discard())
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	if err == nil {
		env, err = testenv.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	if admin, err = newClient(env.Config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func newClient(config *rest.Config) (client.Client, error) {
	options := client.Options{Scheme: scheme}
	if admin != nil {
		// Asking again what is served is slow, and not everybody is told.
		options.Mapper = admin.RESTMapper()
	}
	return client.New(config, options)
}

// as is a client of a user.
func as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	c, err := newClient(env.As(user, groups...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parse reads one object from YAML.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	// Through JSON, as numbers become int64 on that way.
	data, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// edits maps paths such as spec.tools to the YAML that is put there.
type edits map[string]string

// absent takes away what is at a path.
const absent = "<absent>"

// apply returns a copy of an object with the edits made, in the order of their paths.
func (e edits) apply(t *testing.T, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	u = u.DeepCopy()
	paths := make([]string, 0, len(e))
	for path := range e {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		fields := strings.Split(path, ".")
		if e[path] == absent {
			unstructured.RemoveNestedField(u.Object, fields...)
			continue
		}
		var value struct{ V any }
		if err := yaml.Unmarshal([]byte("v: "+e[path]), &value); err != nil {
			t.Fatalf("%s: %s: %v", path, e[path], err)
		}
		if err := unstructured.SetNestedField(u.Object, wholeNumbers(value.V), fields...); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// wholeNumbers turns the numbers of YAML into the int64 of unstructured objects.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	}
	return v
}

// repeat is a flow sequence of n items made from a format with one number.
func repeat(n int, format string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// text is n characters of YAML text.
func text(n int) string { return strconv.Quote(strings.Repeat("a", n)) }

// notChecked stands beside every violation of the schema itself.
const notChecked = "some validation rules were not checked because the object was invalid; " +
	"correct the existing errors to complete validation"

// causes lists what the API server has against an object, as FIELD: MESSAGE, sorted. A failure
// that is no verdict on the object ends the test.
func causes(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		t.Fatalf("want a verdict on the object, got %v", err)
	}
	var found []string
	for _, cause := range status.Status().Details.Causes {
		if !strings.HasSuffix(cause.Message, notChecked) {
			found = append(found, cause.Field+": "+cause.Message)
		}
	}
	slices.Sort(found)
	return found
}

// verdict is one object and what the API server has against it.
type verdict struct {
	name  string
	edits edits
	want  []string
}

// judge tries, without keeping anything, to create the edited object of each case.
func judge(t *testing.T, base string, cases []verdict) {
	t.Helper()
	ns := env.Namespace(t)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			u := tc.edits.apply(t, parse(t, base))
			u.SetNamespace(ns)
			err := admin.Create(t.Context(), u, client.DryRunAll)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, causes(t, err)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// forbidden is the message of a refusal by an admission policy, without the part that names the
// object and the policy; it fails the test when err is anything else.
func forbidden(t *testing.T, err error, policy string) string {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Fatalf("want Forbidden by %s, got %v", policy, err)
	}
	_, message, ok := strings.Cut(err.Error(),
		fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: ", policy, policy))
	if !ok {
		t.Fatalf("want Forbidden by %s, got %v", policy, err)
	}
	return message
}
