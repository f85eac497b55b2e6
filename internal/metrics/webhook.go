// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Webhooks registers a counter of the requests to webhooks, and gives the function that
// counts one by the status code of its answer.
func Webhooks(registry prometheus.Registerer) (func(code int), error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "remit_webhook_requests_total",
		Help: "Requests to webhooks, by the status code of their answer.",
	}, []string{"code"})
	return func(code int) { requests.WithLabelValues(strconv.Itoa(code)).Inc() }, registry.Register(requests)
}
