// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func decode(t *testing.T, text []byte) agent {
	t.Helper()
	var spec agent
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}
