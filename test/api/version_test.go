// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const version = `
apiVersion: remit.dev/v1alpha1
kind: Version
metadata: {name: v-0123456789abcdef0123}
spec:
  hash: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  canonicalization: v1
  body: {instructions: Help., extra: {deep: [1, null]}}
`

const (
	versionNameRule = `metadata: Invalid value: metadata.name must be v- and the first 20 digits of spec.hash`
	immutableRule   = `spec: Invalid value: a Version is immutable: change the Spec, which makes another Version`
)

func TestVersion(t *testing.T) {
	judge(t, version, []verdict{
		{name: "valid"},
		{name: "name of another hash (P8)", edits: edits{"metadata.name": "v-0123456789abcdef0124"}, want: []string{versionNameRule}},
		{name: "name without the prefix", edits: edits{"metadata.name": "0123456789abcdef0123"}, want: []string{versionNameRule}},
		{name: "whole digest in the name", edits: edits{"metadata.name": "v-0123456789abcdef0123456789abcdef"}, want: []string{versionNameRule}},
		{name: "hash of another algorithm", edits: edits{"spec.hash": "'md5:0123456789abcdef0123456789abcdef'"},
			want: []string{versionNameRule, `spec.hash: Invalid value: "md5:0123456789abcdef0123456789abcdef": spec.hash in body should match '^sha256:[0-9a-f]{64}$'`}},
		{name: "hash that is cut off", edits: edits{"spec.hash": "'sha256:0123456789abcdef0123'"},
			want: []string{`spec.hash: Invalid value: "sha256:0123456789abcdef0123": spec.hash in body should match '^sha256:[0-9a-f]{64}$'`}},
		{name: "unknown canonicalization", edits: edits{"spec.canonicalization": "v2"},
			want: []string{`spec.canonicalization: Unsupported value: "v2": supported values: "v1"`}},
		{name: "no body", edits: edits{"spec.body": absent}, want: []string{`spec.body: Required value`}},
		{name: "body that is no object", edits: edits{"spec.body": "[1]"},
			want: []string{`spec.body: Invalid value: "array": spec.body in body must be of type object: "array"`}},
	})
}

func TestVersionIsImmutable(t *testing.T) {
	u := parse(t, version)
	u.SetNamespace(env.Namespace(t))
	if err := admin.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		edits edits
		want  []string
	}{
		"nothing":                  {edits{}, nil},
		"labels and finalizers":    {edits{"metadata.labels": "{a: b}", "metadata.finalizers": "[remit.dev/pinned]"}, nil},
		"text of the body":         {edits{"spec.body.instructions": "Hurt."}, []string{immutableRule}},
		"something new deep down":  {edits{"spec.body.extra.deep": "[1, null, 2]"}, []string{immutableRule}},
		"something left out":       {edits{"spec.body.extra": absent}, []string{immutableRule}},
		"the end of the hash only": {edits{"spec.hash": "'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdee'"}, []string{immutableRule}},
	} {
		t.Run(name, func(t *testing.T) {
			err := admin.Update(t.Context(), tc.edits.apply(t, u), client.DryRunAll)
			if diff := cmp.Diff(tc.want, causes(t, err)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
