// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Every field that is a duration, and a way to set it.
var durations = map[string]struct {
	base string
	set  func(value string) edits
}{
	"spec.refreshInterval": {mcpServer, func(v string) edits { return edits{"spec.refreshInterval": v} }},
	"spec.limits.deadline of a Spec": {spec, func(v string) edits {
		return edits{"spec.limits": "{deadline: " + v + "}"}
	}},
	"spec.tools[0].timeout": {spec, func(v string) edits {
		return edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + ", timeout: " + v + "}]"}
	}},
	"spec.limits.deadline":       {aRun, func(v string) edits { return edits{"spec.limits": "{deadline: " + v + "}"} }},
	"spec.limits.approvalExpiry": {aRun, func(v string) edits { return edits{"spec.limits": "{approvalExpiry: " + v + "}"} }},
}

// A duration that the API server lets in is one that every client in Go can read: the format
// "duration" alone also takes days and weeks, and one such object stops every informer of its kind.
func TestDurationsAreReadableInGo(t *testing.T) {
	ns := env.Namespace(t)
	for field, d := range durations {
		path := strings.TrimSuffix(field, " of a Spec")
		t.Run(field, func(t *testing.T) {
			refuse := func(value, complaint string) {
				t.Helper()
				u := d.set(value).apply(t, parse(t, d.base))
				u.SetNamespace(ns)
				want := fmt.Sprintf("%s: Invalid value: %q: %s in body %s", path, strings.Trim(value, "'"), path, complaint)
				if got := causes(t, admin.Create(t.Context(), u, client.DryRunAll)); !slices.Contains(got, want) {
					t.Errorf("%s: want among the causes\n%s\ngot\n%s", value, want, strings.Join(got, "\n"))
				}
			}
			for _, value := range []string{"3 days", "1w", "1d", "1.5h", "-1m", "+1m", "1 m", "'10'", "1m1h", "1us", "P1D"} {
				refuse(value, `should match '^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$'`)
			}
			for _, value := range []string{"''", "m", "∞"} {
				refuse(value, "should be at least 2 chars long")
			}
			for _, good := range []string{"30s", "1m", "1m30s", "0h1m0s", "60000ms"} {
				u := d.set(good).apply(t, parse(t, d.base))
				u.SetNamespace(ns)
				err := admin.Create(t.Context(), u, client.DryRunAll)
				if diff := cmp.Diff([]string(nil), causes(t, err)); diff != "" {
					t.Errorf("%s: causes (-want +got):\n%s", good, diff)
				}
				if _, err := time.ParseDuration(good); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
