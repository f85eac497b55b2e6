// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestWebhooks(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	count, err := Webhooks(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{202, 404, 404} {
		count(code)
	}
	want := map[string]float64{"remit_webhook_requests_total 202": 1, "remit_webhook_requests_total 404": 2}
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Webhooks(registry); err == nil {
		t.Error("it can be registered twice")
	}
}
