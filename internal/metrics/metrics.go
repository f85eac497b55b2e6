// SPDX-License-Identifier: Apache-2.0

// Package metrics gives Prometheus what other packages count. No label names a tenant, a
// server or a host, whose number nobody bounds: those are in the log.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/mcp"
)

// Egress registers a counter of the decisions on connections, and gives the function that
// counts one.
func Egress(registry prometheus.Registerer) (func(egress.Decision), error) {
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "remit_egress_decisions_total",
		Help: "Decisions on connections, by what was decided (allowed or denied) and by the rule that decided.",
	}, []string{"decision", "reason"})
	return func(decision egress.Decision) {
		decided := "denied"
		if decision.Allowed {
			decided = "allowed"
		}
		decisions.WithLabelValues(decided, string(decision.Rule)).Inc()
	}, registry.Register(decisions)
}

var (
	sessions = prometheus.NewDesc("remit_mcp_sessions",
		"MCP sessions in the pool, those being opened included.", nil, nil)
	opened = prometheus.NewDesc("remit_mcp_sessions_opened_total",
		"MCP handshakes begun.", nil, nil)
	evicted = prometheus.NewDesc("remit_mcp_sessions_evicted_total",
		"MCP sessions that left the pool, for whatever reason.", nil, nil)
	reinitialised = prometheus.NewDesc("remit_mcp_sessions_reinitialised_total",
		"Requests that were made once more on a new MCP session, as the one before was lost.", nil, nil)
	renewals = prometheus.NewDesc("remit_mcp_credential_renewals_total",
		"Renewals of a credential that an MCP server refused, by result (renewed, unchanged or failed).", []string{"result"}, nil)
	tokens = prometheus.NewDesc("remit_oauth2_tokens",
		"OAuth 2.0 access tokens held in memory.", nil, nil)
	tokenRequests = prometheus.NewDesc("remit_oauth2_token_requests_total",
		"Requests for OAuth 2.0 access tokens, by result (issued or failed).", []string{"result"}, nil)
)

// Collector reads the statistics of the MCP client and of the credentials when it is
// asked for them.
type Collector struct {
	Sessions    func() mcp.Stats
	Credentials func() credentials.Stats
}

// Describe implements [prometheus.Collector].
func (c Collector) Describe(descriptions chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, descriptions)
}

// Collect implements [prometheus.Collector].
func (c Collector) Collect(metrics chan<- prometheus.Metric) {
	pool, held := c.Sessions(), c.Credentials()
	gauge := func(description *prometheus.Desc, value int) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, float64(value))
	}
	count := func(description *prometheus.Desc, value int64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.CounterValue, float64(value), labels...)
	}
	gauge(sessions, pool.Sessions)
	count(opened, pool.Opened)
	count(evicted, pool.Evicted)
	count(reinitialised, pool.Recovered)
	count(renewals, pool.Renewed, "renewed")
	count(renewals, pool.Unchanged, "unchanged")
	count(renewals, pool.RenewalsFailed, "failed")
	gauge(tokens, held.Tokens)
	count(tokenRequests, held.TokenRequests-held.TokenFailures, "issued")
	count(tokenRequests, held.TokenFailures, "failed")
}
