// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// approvalWait is how long calls waited for people, by what came of it: approved,
// denied or expired. The buckets go from ten seconds to a week.
var approvalWait = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "remit_approval_wait_seconds",
	Help:    "Time that calls waited for a decision, by decision: approved, denied or expired.",
	Buckets: []float64{10, 30, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600, 168 * 3600},
}, []string{"decision"})

func init() { metrics.Registry.MustRegister(approvalWait) }

func observeWait(decision string, waited time.Duration) {
	approvalWait.WithLabelValues(decision).Observe(max(waited, 0).Seconds())
}
