// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
)

func reference(name, key string) v1alpha1.SecretKeyReference {
	return v1alpha1.SecretKeyReference{Name: name, Key: key}
}

// A variable is what the Secret holds, byte for byte, and its fingerprint follows the value and nothing
// else.
func TestVariables(t *testing.T) {
	good := makeSecret("good", map[string]string{"token": canary + "\n", "same": canary + "\n", "empty": ""})
	good.UID = "one"
	resolver := newResolver(good)
	read := func() []Variable {
		t.Helper()
		variables, err := resolver.Variables(t.Context(), "team", []v1alpha1.SecretKeyReference{reference("good", "token"), reference("good", "empty")})
		if err != nil {
			t.Fatal(err)
		}
		return variables
	}
	variables := read()
	var values []string
	for _, variable := range variables {
		values = append(values, variable.Reveal())
	}
	if diff := cmp.Diff([]string{canary + "\n", ""}, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if variables[0].Fingerprint() != read()[0].Fingerprint() || variables[0].Fingerprint() == variables[1].Fingerprint() {
		t.Errorf("fingerprints: %q, %q", variables[0].Fingerprint(), variables[1].Fingerprint())
	}
	text, err := json.Marshal(variables)
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s %q %s", variables, variables[0], variables[0], variables[0], variables[0], text); strings.Contains(shown, canary) {
		t.Errorf("shown: %s", shown)
	}

	// One value in two Secrets looks different, so that nobody tries values against a fingerprint.
	other := makeSecret("good", map[string]string{"token": canary + "\n"})
	other.UID = types.UID("two")
	again, err := newResolver(other).Variables(t.Context(), "team", []v1alpha1.SecretKeyReference{reference("good", "token")})
	if err != nil || again[0].Fingerprint() == variables[0].Fingerprint() {
		t.Errorf("the fingerprint is that of the value alone: %v", err)
	}
}

func TestVariablesAreRefused(t *testing.T) {
	unlabelled := makeSecret("unlabelled", map[string]string{"token": canary})
	unlabelled.Labels = nil
	limited := makeSecret("limited", map[string]string{"token": canary})
	limited.Annotations = map[string]string{v1alpha1.HostsAnnotation: "api.example"}
	resolver := newResolver(unlabelled, limited,
		makeSecret("good", map[string]string{"nul": canary + "\x00", "large": strings.Repeat("x", MaxValue+1)}))
	for name, row := range map[string]struct {
		reference v1alpha1.SecretKeyReference
		reason    string
		detail    string
	}{
		"no Secret":  {reference("none", "token"), v1alpha1.ReasonCredentialMissing, `Secret "none" in namespace "team" does not exist`},
		"no key":     {reference("good", "token"), v1alpha1.ReasonCredentialMissing, `has no key "token"`},
		"no label":   {reference("unlabelled", "token"), v1alpha1.ReasonCredentialRefused, "is not labelled remit.dev/credential=true"},
		"hosts":      {reference("limited", "token"), v1alpha1.ReasonCredentialRefused, "is limited to hosts by its annotation remit.dev/hosts"},
		"a NUL byte": {reference("good", "nul"), v1alpha1.ReasonCredentialRefused, "holds a NUL byte"},
		"too large":  {reference("good", "large"), v1alpha1.ReasonCredentialRefused, "has more than 16384 bytes"},
	} {
		_, err := resolver.Variables(t.Context(), "team", []v1alpha1.SecretKeyReference{row.reference})
		problem, ok := errors.AsType[*Error](err)
		if !ok || problem.Reason != row.reason || !strings.Contains(problem.Detail, row.detail) || strings.Contains(problem.Detail, canary) {
			t.Errorf("%s: got %v, want %s: %s", name, err, row.reason, row.detail)
		}
	}
}
