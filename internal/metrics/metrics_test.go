// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/mcp"
)

func TestEgress(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	count, err := Egress(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, decision := range []egress.Decision{
		{Tenant: "a", Host: "x.test", Allowed: true, Rule: egress.RulePublic},
		{Tenant: "b", Host: "y.test", Allowed: true, Rule: egress.RulePublic},
		{Tenant: "a", Host: "169.254.169.254", Rule: egress.RuleMetadata},
	} {
		count(decision)
	}
	want := map[string]float64{
		"remit_egress_decisions_total allowed public": 2, "remit_egress_decisions_total denied metadata": 1,
	}
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Egress(registry); err == nil {
		t.Error("it can be registered twice")
	}
}

func TestCollector(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(Collector{
		Sessions: func() mcp.Stats {
			return mcp.Stats{Sessions: 1, Opened: 2, Evicted: 3, Recovered: 4, Renewed: 5, Unchanged: 6, RenewalsFailed: 7}
		},
		Credentials: func() credentials.Stats { return credentials.Stats{Tokens: 8, TokenRequests: 11, TokenFailures: 2} },
	})
	want := map[string]float64{
		"remit_mcp_sessions": 1, "remit_mcp_sessions_opened_total": 2, "remit_mcp_sessions_evicted_total": 3,
		"remit_mcp_sessions_reinitialised_total": 4, "remit_mcp_credential_renewals_total renewed": 5,
		"remit_mcp_credential_renewals_total unchanged": 6, "remit_mcp_credential_renewals_total failed": 7,
		"remit_oauth2_tokens": 8, "remit_oauth2_token_requests_total issued": 9, "remit_oauth2_token_requests_total failed": 2,
	}
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// gather gives the value of each metric by its name and the values of its labels.
func gather(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	metrics, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range metrics {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return got
}
