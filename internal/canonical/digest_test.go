// SPDX-License-Identifier: Apache-2.0

package canonical

import "testing"

// P8. The digests are those that sha256sum prints.
func TestHash(t *testing.T) {
	digest := Hash(VersionDomain, []byte(`{}`))
	if got, want := digest.String(), "sha256:8b13eac48abce9cde3ad497e8960ab838acbff38073b9fa14a960252812d1aa6"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := VersionName(digest), "v-8b13eac48abce9cde3ad"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// P8.
func TestHashSeparatesDomains(t *testing.T) {
	if Hash("a", []byte(`1`)) == Hash("b", []byte(`1`)) {
		t.Error("one digest in two domains")
	}
	if Hash("a", []byte(`b1`)) == Hash("ab", []byte(`1`)) {
		t.Error("domain and bytes run together")
	}
}
