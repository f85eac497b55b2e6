// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

// TestDescriptors: HTTP and code tools are held to the rules of descriptors, as
// advice that refuses nothing (J55 to J58, J44 to J52).
func TestDescriptors(t *testing.T) {
	const good = "Tracks a parcel. Do not use it for letters. It returns where the parcel is."
	const strict = `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string"}}}`
	for name, test := range map[string]struct {
		description, schema string
		want                map[string]string // rule to path
	}{
		"J57 a good description and a strict schema": {good, strict, nil},
		"J57 one sentence":                           {"Tracks a parcel.", strict, map[string]string{"description_sentences": "spec.tools[0].description"}},
		"J57 five sentences":                         {"A. B. C. D. E.", strict, map[string]string{"description_sentences": "spec.tools[0].description"}},
		"J45 an open object":                         {good, `{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}`, map[string]string{"additional_properties": "spec.tools[0].inputSchema"}},
		"J47 a bound": {good, `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string","maxLength":9}}}`,
			map[string]string{"keyword": "spec.tools[0].inputSchema.properties.id.maxLength"}},
		"J49 an optional field": {good, `{"type":"object","additionalProperties":false,"properties":{"id":{"type":"string"}}}`,
			map[string]string{"optional_field": "spec.tools[0].inputSchema.properties.id"}},
	} {
		t.Run(name, func(t *testing.T) {
			tool := httpTool("track", "GET")
			tool.Description, tool.InputSchema = test.description, &apiextensionsv1.JSON{Raw: []byte(test.schema)}
			result, findings := publish.Publish(minimal(func(a *agent) { a.Tools = []v1alpha1.Tool{tool} }), functions)
			var got map[string]string
			for _, f := range findings {
				if f.Severity != v1alpha1.SeverityWarning {
					t.Errorf("%s refuses", f.Rule)
				}
				if got == nil {
					got = map[string]string{}
				}
				got[f.Rule] = f.Path
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if publish.Refused(findings) || result.Name == "" {
				t.Error("advice kept the Spec from being published")
			}
		})
	}
}
