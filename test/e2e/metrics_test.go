// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// metrics are those of one operator.
type metrics struct{ url string }

// ownOperatorWithMetrics is ownOperator with its metrics served.
func ownOperatorWithMetrics(t *testing.T) (*operator, metrics) {
	t.Helper()
	address := freeAddress(t)
	return ownOperator(t, "--metrics-bind-address", address), metrics{"http://" + address + "/metrics"}
}

// counts are how often each controller has reconciled, and what it has yet to do.
type counts struct {
	total map[string]int
	busy  map[string]int
}

// idle says that no controller works, or has something to work on.
func (c counts) idle() bool {
	for _, n := range c.busy {
		if n > 0 {
			return false
		}
	}
	return true
}

var sample = regexp.MustCompile(`^(controller_runtime_reconcile_total|controller_runtime_active_workers|workqueue_depth)\{(.*)\} (\S+)$`)
var controllerLabel = regexp.MustCompile(`(?:^|,)controller="([^"]*)"`)

// reconciles reads the counts. Until the operator serves them there are none.
func (m metrics) reconciles(t *testing.T) counts {
	t.Helper()
	c := counts{total: map[string]int{}, busy: map[string]int{}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return c
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		found := sample.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		controller := controllerLabel.FindStringSubmatch(found[2])
		value, err := strconv.ParseFloat(found[3], 64)
		if controller == nil || err != nil {
			t.Fatalf("metric without a controller or a value: %s", lines.Text())
		}
		if found[1] == "controller_runtime_reconcile_total" {
			c.total[controller[1]] += int(value)
		} else {
			c.busy[controller[1]] += int(value)
		}
	}
	return c
}

func (m metrics) await(t *testing.T, what string, holds func(counts) bool) {
	t.Helper()
	var last counts
	eventually(t, what, func() bool { last = m.reconciles(t); return holds(last) })
}

// awaitAllReconciled waits until the operator has looked at every object that there is, and is done.
func (m metrics) awaitAllReconciled(t *testing.T) {
	t.Helper()
	want := map[string]int{}
	for controller, list := range map[string]client.ObjectList{
		"spec": &v1alpha1.SpecList{}, "version": &v1alpha1.VersionList{}, "mcpserver": &v1alpha1.MCPServerList{},
		"grant": &v1alpha1.GrantList{}, "run": &v1alpha1.RunList{},
	} {
		if err := env.users[admin].List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		want[controller] = items(list)
	}
	m.await(t, fmt.Sprintf("the operator reconciles %v and is idle", want), func(now counts) bool {
		for controller, n := range want {
			if now.total[controller] < n {
				return false
			}
		}
		return now.idle()
	})
}

func items(list client.ObjectList) int {
	switch list := list.(type) {
	case *v1alpha1.SpecList:
		return len(list.Items)
	case *v1alpha1.VersionList:
		return len(list.Items)
	case *v1alpha1.MCPServerList:
		return len(list.Items)
	case *v1alpha1.GrantList:
		return len(list.Items)
	case *v1alpha1.RunList:
		return len(list.Items)
	default:
		return 0
	}
}
