// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// P32: a Grant reports the names that are shortened, and those that would be
// ambiguous, which no Run can call.
func TestGrantReportsNames(t *testing.T) {
	one, two := int32(1), int32(2)
	for name, test := range map[string]struct {
		tools     []v1alpha1.PermittedTool
		permitted *int32
		want      string
	}{
		"plain":     {[]v1alpha1.PermittedTool{{Name: "a", QualifiedName: "desk__a"}}, &one, "permits 1 of 2 tools"},
		"shortened": {[]v1alpha1.PermittedTool{{Name: "a.b", QualifiedName: "desk__a_b_01234567"}}, &one, "permits 1 of 2 tools; some names are shortened, see status.tools"},
		"shared": {[]v1alpha1.PermittedTool{
			{Name: "a.b", QualifiedName: "desk__a_b_01234567"}, {Name: "a_b_01234567", QualifiedName: "desk__a_b_01234567"},
		}, &two, "permits 2 of 2 tools; some names are shortened, see status.tools; " +
			"several tools would be called desk__a_b_01234567, so none of them is callable"},
	} {
		t.Run(name, func(t *testing.T) {
			grant := &v1alpha1.Grant{Status: v1alpha1.GrantStatus{Tools: test.tools, Offered: &two, Permitted: test.permitted}}
			grant.Name = "desk"
			if diff := cmp.Diff(test.want, (&grantScope{grant: grant}).summary()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
