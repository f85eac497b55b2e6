// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"net/textproto"
	"strings"

	"remit.dev/remit/api/v1alpha1"
)

// spellOneWay writes in one way what has several spellings of one meaning that
// neither the schema nor the canonical form knows of. It must keep what the rules
// accepted acceptable.
func spellOneWay(spec *v1alpha1.AgentSpec) {
	for i := range spec.Tools {
		if http := spec.Tools[i].HTTP; http != nil {
			http.Headers = spellHeaders(http.Headers)
		}
	}
	for i := range spec.Schedules {
		spec.Schedules[i].Cron = strings.Join(strings.Fields(spec.Schedules[i].Cron), " ")
	}
}

// spellHeaders writes the names of headers, whose case means nothing (RFC 9110,
// 5.1), as most write them. Two spellings of one name are kept: they have a finding.
func spellHeaders(headers map[string]string) map[string]string {
	spelled := make(map[string]string, len(headers))
	for name, value := range headers {
		spelled[textproto.CanonicalMIMEHeaderKey(name)] = value
	}
	if len(spelled) < len(headers) {
		return headers
	}
	return spelled
}
