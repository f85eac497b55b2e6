// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"remit.dev/remit/api/v1alpha1"
)

// C2, P5: what means the same has one hash, and what does not has two.
func TestOneSpelling(t *testing.T) {
	withParameters := func(parameters *apiextensionsv1.JSON) func(*agent) {
		return func(a *agent) { a.Models[0].Parameters = parameters }
	}
	withHeaders := func(headers map[string]string) func(*agent) {
		return func(a *agent) {
			tool := httpTool("find", "GET")
			tool.HTTP.Headers = headers
			a.Tools = []v1alpha1.Tool{tool}
		}
	}
	withBody := func(body *apiextensionsv1.JSON) func(*agent) {
		return func(a *agent) {
			tool := httpTool("find", "POST")
			tool.HTTP.Body = body
			a.Tools = []v1alpha1.Tool{tool}
		}
	}
	withAnnotations := func(annotations *v1alpha1.ToolAnnotations) func(*agent) {
		return func(a *agent) {
			tool := httpTool("find", "GET")
			tool.Annotations = annotations
			a.Tools = []v1alpha1.Tool{tool}
		}
	}
	withCron := func(cron string) func(*agent) {
		return func(a *agent) { a.Schedules = []v1alpha1.Schedule{{Name: "daily", Cron: cron}} }
	}
	tests := map[string]struct {
		same  []func(*agent)
		other func(*agent)
	}{
		"P5 no parameters": {
			same:  []func(*agent){withParameters(nil), withParameters(raw(`{}`)), withParameters(raw(` { } `)), withParameters(raw(`null`))},
			other: withParameters(raw(`{"seed": 0}`)),
		},
		"P5 no annotations": {
			same:  []func(*agent){withAnnotations(nil), withAnnotations(&v1alpha1.ToolAnnotations{})},
			other: withAnnotations(&v1alpha1.ToolAnnotations{ReadOnlyHint: new(false)}),
		},
		// The body itself is free-form: an empty object is sent.
		"P5 no body":    {same: []func(*agent){withBody(nil), withBody(raw(`null`))}, other: withBody(raw(`{}`))},
		"P5 no headers": {same: []func(*agent){withHeaders(nil), withHeaders(map[string]string{})}, other: withHeaders(map[string]string{"A": ""})},
		"names of headers": {
			same: []func(*agent){
				withHeaders(map[string]string{"X-Shop-Id": "1", "Accept": "b"}), withHeaders(map[string]string{"x-shop-id": "1", "ACCEPT": "b"}),
			},
			other: withHeaders(map[string]string{"X-Shop-Id": "1", "Accept": "B"}),
		},
		"blanks in a schedule": {
			same:  []func(*agent){withCron("0 9 * * MON"), withCron("\t0  9 * \t*   MON ")},
			other: withCron("0 9 * * 1"),
		},
	}
	hashOf := func(t *testing.T, change func(*agent)) v1alpha1.Digest {
		result, findings := publishAgent(minimal(change))
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		return result.Hash
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := hashOf(t, test.same[0])
			for i, change := range test.same[1:] {
				if got := hashOf(t, change); got != want {
					t.Errorf("spelling %d has the hash %s, the first %s", i+1, got, want)
				}
			}
			if hashOf(t, test.other) == want {
				t.Error("another meaning has the same hash")
			}
		})
	}
}
