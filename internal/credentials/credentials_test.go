// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"remit.dev/remit/api/v1alpha1"
)

const canary = "canary-4f1d"

func secret(name, content string, labelled bool) *corev1.Secret {
	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
		Data:       map[string][]byte{"token": []byte(content)},
	}
	if labelled {
		made.Labels = map[string]string{v1alpha1.CredentialLabel: "true"}
	}
	return made
}

func bearer(name, key string) *v1alpha1.Credential {
	return &v1alpha1.Credential{Type: v1alpha1.CredentialBearer, SecretRef: v1alpha1.SecretKeyReference{Name: name, Key: key}}
}

func TestResolve(t *testing.T) {
	resolver := Resolver{Reader: fake.NewClientBuilder().WithObjects(
		secret("good", canary+"\n", true), secret("unlabelled", canary, false), secret("empty", " \n", true),
		secret("broken", canary+"\r\nHost: evil", true), secret("large", strings.Repeat("a", MaxValue+1), true),
	).Build()}
	header := bearer("good", "token")
	header.Type, header.Header = v1alpha1.CredentialHeader, "x-api-key"
	for name, test := range map[string]struct {
		credential  *v1alpha1.Credential
		header      string
		value       string
		wantsReason string
	}{
		"none":               {nil, "", "", ""},
		"bearer":             {bearer("good", "token"), "Authorization", "Bearer " + canary, ""},
		"header":             {header, "X-Api-Key", canary, ""},
		"no such Secret":     {bearer("gone", "token"), "", "", v1alpha1.ReasonCredentialMissing},
		"no such key":        {bearer("good", "other"), "", "", v1alpha1.ReasonCredentialMissing},
		"an empty key":       {bearer("empty", "token"), "", "", v1alpha1.ReasonCredentialMissing},
		"without the label":  {bearer("unlabelled", "token"), "", "", v1alpha1.ReasonCredentialRefused},
		"with a line break":  {bearer("broken", "token"), "", "", v1alpha1.ReasonCredentialRefused},
		"larger than it may": {bearer("large", "token"), "", "", v1alpha1.ReasonCredentialRefused},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resolver.Resolve(t.Context(), "team", test.credential)
			var refused *Error
			if test.wantsReason != "" {
				if !errors.As(err, &refused) || refused.Reason != test.wantsReason {
					t.Fatalf("got %v, want reason %s", err, test.wantsReason)
				}
				if strings.Contains(err.Error(), canary) {
					t.Error("the error holds the secret")
				}
				return
			}
			if err != nil || got.Header() != test.header || got.Reveal() != test.value {
				t.Errorf("got %q: %q, %v", got.Header(), got.Reveal(), err)
			}
		})
	}
}

func TestASecretOfAnotherNamespaceIsNotFound(t *testing.T) {
	resolver := Resolver{Reader: fake.NewClientBuilder().WithObjects(secret("good", canary, true)).Build()}
	var missing *Error
	if _, err := resolver.Resolve(t.Context(), "other", bearer("good", "token")); !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
}

func TestAValueNeverPrints(t *testing.T) {
	value := Value{header: "Authorization", value: canary}
	encoded, err := json.Marshal(map[string]Value{"credential": value})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(value), fmt.Sprintf("%v %+v %#v %s %q %x", value, value, value, value, value, value), string(encoded),
	} {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("the secret is in %s", text)
		}
	}
}
