// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/egress"
)

const canary = "canary-4f1d"

// makeSecret gives a Secret of namespace "team" that opted in.
func makeSecret(name string, data map[string]string) *corev1.Secret {
	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Labels: map[string]string{v1alpha1.CredentialLabel: "true"}},
		Data:       map[string][]byte{},
	}
	for key, value := range data {
		made.Data[key] = []byte(value)
	}
	return made
}

// newResolver has a guard that reaches this machine.
func newResolver(objects ...client.Object) *Resolver {
	return New(Options{
		Reader: fake.NewClientBuilder().WithObjects(objects...).Build(),
		Guard:  egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
	})
}

func bearer(name, key string) *v1alpha1.Credential {
	return &v1alpha1.Credential{Type: v1alpha1.CredentialBearer, SecretRef: v1alpha1.SecretKeyReference{Name: name, Key: key}}
}

func header(name string) *v1alpha1.Credential {
	credential := bearer("good", "token")
	credential.Type, credential.Header = v1alpha1.CredentialHeader, name
	return credential
}

func basic(secret string) *v1alpha1.Credential {
	return &v1alpha1.Credential{Type: v1alpha1.CredentialBasic, Basic: &v1alpha1.BasicCredential{
		SecretRef: v1alpha1.NamedReference{Name: secret}, UsernameKey: "username", PasswordKey: "password"}}
}

// pair is what RFC 7617 makes of a user name and a password.
func pair(username, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
}

// wantError checks the reason of an error, and that it holds no secret.
func wantError(t *testing.T, err error, reason string) {
	t.Helper()
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != reason {
		t.Fatalf("got %v, want reason %s", err, reason)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error holds the secret: %v", err)
	}
}

func TestResolve(t *testing.T) {
	unlabelled := makeSecret("unlabelled", map[string]string{"token": canary})
	unlabelled.Labels = nil
	pairOf := func(name, username, password string) *corev1.Secret {
		return makeSecret(name, map[string]string{"username": username, "password": password})
	}
	resolver := newResolver(
		makeSecret("good", map[string]string{"token": canary + "\n"}), unlabelled,
		makeSecret("empty", map[string]string{"token": " \n"}),
		makeSecret("broken", map[string]string{"token": canary + "\r\nHost: evil"}),
		makeSecret("large", map[string]string{"token": strings.Repeat("a", MaxValue+1)}),
		pairOf("pair", "Aladdin", "open sesame\n"), pairOf("utf8", "test", "123£"), pairOf("spaces", " a ", " b "),
		pairOf("no-user", "", canary), pairOf("no-password", canary, ""), pairOf("nothing", "", "\n"),
		pairOf("colon", "a:b", canary), pairOf("password-colon", "a", "b:c"),
		pairOf("control", "a", canary+"\x00"), pairOf("tab", "a\t", canary), pairOf("latin1", "a", "\xa3"),
		makeSecret("half", map[string]string{"username": "a"}),
	)
	for name, test := range map[string]struct {
		credential  *v1alpha1.Credential
		header      string
		value       string
		wantsReason string
	}{
		"none":               {nil, "", "", ""},
		"bearer":             {bearer("good", "token"), "Authorization", "Bearer " + canary, ""},
		"header":             {header("x-api-key"), "X-Api-Key", canary, ""},
		"no such Secret":     {bearer("gone", "token"), "", "", v1alpha1.ReasonCredentialMissing},
		"no such key":        {bearer("good", "other"), "", "", v1alpha1.ReasonCredentialMissing},
		"an empty key":       {bearer("empty", "token"), "", "", v1alpha1.ReasonCredentialMissing},
		"without the label":  {bearer("unlabelled", "token"), "", "", v1alpha1.ReasonCredentialRefused},
		"with a line break":  {bearer("broken", "token"), "", "", v1alpha1.ReasonCredentialRefused},
		"larger than it may": {bearer("large", "token"), "", "", v1alpha1.ReasonCredentialRefused},

		// The first two are the examples of RFC 7617, sections 2 and 2.1.
		"basic":                         {basic("pair"), "Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", ""},
		"basic, UTF-8":                  {basic("utf8"), "Authorization", "Basic dGVzdDoxMjPCow==", ""},
		"basic keeps spaces":            {basic("spaces"), "Authorization", pair(" a ", " b "), ""},
		"basic without a user name":     {basic("no-user"), "Authorization", pair("", canary), ""},
		"basic without a password":      {basic("no-password"), "Authorization", pair(canary, ""), ""},
		"basic with a colon at the end": {basic("password-colon"), "Authorization", pair("a", "b:c"), ""},
		"basic of nothing":              {basic("nothing"), "", "", v1alpha1.ReasonCredentialMissing},
		"basic without a key":           {basic("half"), "", "", v1alpha1.ReasonCredentialMissing},
		"basic user name with a colon":  {basic("colon"), "", "", v1alpha1.ReasonCredentialRefused},
		"basic with a control":          {basic("control"), "", "", v1alpha1.ReasonCredentialRefused},
		"basic with a tab":              {basic("tab"), "", "", v1alpha1.ReasonCredentialRefused},
		"basic not in UTF-8":            {basic("latin1"), "", "", v1alpha1.ReasonCredentialRefused},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resolver.Resolve(t.Context(), Use{Namespace: "team", Credential: test.credential, URL: "https://mcp.test"})
			if test.wantsReason != "" {
				wantError(t, err, test.wantsReason)
				return
			}
			if err != nil || got.Header() != test.header || got.Reveal() != test.value {
				t.Errorf("got %q: %q, %v", got.Header(), got.Reveal(), err)
			}
		})
	}
}

func TestASecretOfAnotherNamespaceIsNotFound(t *testing.T) {
	resolver := newResolver(makeSecret("good", map[string]string{"token": canary}))
	_, err := resolver.Resolve(t.Context(), Use{Namespace: "other", Credential: bearer("good", "token")})
	wantError(t, err, v1alpha1.ReasonCredentialMissing)
}

// Issue 4: a Secret may name the hosts that it may be sent to.
func TestHosts(t *testing.T) {
	for _, row := range []struct {
		hosts, url string
		ok         bool
	}{
		{"api.example.com", "https://api.example.com/mcp", true},
		{"api.example.com", "https://api.example.com:443", true},
		{"api.example.com", "http://api.example.com", true},
		{"API.example.com.", "https://api.EXAMPLE.com./v1", true},
		{"a.test, mcp.example.com:8443 ,\n b.test", "https://mcp.example.com:8443/mcp", true},
		{"api.example.com:443", "https://api.example.com", true},
		{"my_service.team-a.svc:80", "http://my_service.team-a.svc/mcp", true},
		{"10.0.0.7:8080", "http://10.0.0.7:8080", true},
		{"10.0.0.7", "https://[::ffff:10.0.0.7]", true},
		{"[fd00::1]:8080", "http://[FD00:0::1]:8080", true},
		{"[fd00::1]", "https://[fd00::1]", true},

		{"api.example.com", "https://api.example.com:8443", false},
		{"api.example.com:8443", "https://api.example.com", false},
		{"api.example.com:443", "http://api.example.com", false},
		{"api.example.com", "https://example.com", false},
		{"example.com", "https://api.example.com", false},
		{"example.com", "https://example.com.evil.test", false},
		{"api.example.com", "https://api.example.com@evil.test/", false},
		{"a.test,b.test", "https://c.test", false},
		{"api.example.com", "", false},
		{"api.example.com", "ftp://api.example.com", false},
		{"api.example.com", "https://", false},
		{"api.example.com", "https://api.example.com:70000", false},
		{"10.0.0.7", "https://10.0.0.8", false},

		// What cannot be read permits nothing, not even what stands beside it.
		{"", "https://api.example.com", false},
		{",", "https://api.example.com", false},
		{"api.example.com,", "https://api.example.com", false},
		{"api.example.com,*.test", "https://api.example.com", false},
		{"api.example.com,https://a.test", "https://api.example.com", false},
		{"api.example.com,a.test/x", "https://api.example.com", false},
		{"api.example.com,a.test:", "https://api.example.com", false},
		{"api.example.com,a.test:0", "https://api.example.com", false},
		{"api.example.com,a.test:65536", "https://api.example.com", false},
		{"api.example.com,a.test:http", "https://api.example.com", false},
		{"api.example.com,fd00::1", "https://api.example.com", false},
		{"api.example.com,[fd00::1", "https://api.example.com", false},
		{"api.example.com,[10.0.0.7]", "https://api.example.com", false},
		{"api.example.com,a b", "https://api.example.com", false},
		{"api.example.com;a.test", "https://api.example.com", false},
		{"api.example.com" + strings.Repeat(",a.test", maxHosts), "https://api.example.com", false},
	} {
		t.Run(fmt.Sprintf("%.40q %s", row.hosts, row.url), func(t *testing.T) {
			limited := makeSecret("good", map[string]string{"token": canary})
			limited.Annotations = map[string]string{v1alpha1.HostsAnnotation: row.hosts}
			_, err := newResolver(limited).Resolve(t.Context(), Use{Namespace: "team", Credential: bearer("good", "token"), URL: row.url})
			if row.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, v1alpha1.ReasonCredentialRefused)
			if !strings.Contains(err.Error(), `Secret "good" in namespace "team"`) {
				t.Errorf("the error does not name the Secret: %v", err)
			}
		})
	}
}

func TestHostsSayWhatToChange(t *testing.T) {
	for hosts, want := range map[string]string{
		"a.test, b.test:1": `Secret "good" in namespace "team" may not be sent to "c.test:8443": its annotation remit.dev/hosts permits a.test, b.test:1; ` +
			`add the host there, or change the URL`,
		"a.test,http://b": `annotation remit.dev/hosts of Secret "good" in namespace "team": entry 2, "http://b", is neither a host nor a host with a port: ` +
			`write hosts such as api.example.com or mcp.example.com:8443, separated by commas`,
	} {
		limited := makeSecret("good", map[string]string{"token": canary})
		limited.Annotations = map[string]string{v1alpha1.HostsAnnotation: hosts}
		_, err := newResolver(limited).Resolve(t.Context(), Use{Namespace: "team", Credential: bearer("good", "token"), URL: "https://c.test:8443/mcp"})
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// E9: however a value is printed, the secret does not show.
func TestAValueNeverPrints(t *testing.T) {
	value := bearerValue(canary)
	encoded, err := json.Marshal(map[string]Value{"credential": value})
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "credential", value, "use", &value)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "credential", value, "all", []Value{value})
	for _, text := range []string{
		fmt.Sprint(value), fmt.Sprintf("%v %+v %#v %s %q %x %d", value, value, value, value, value, value, value),
		fmt.Sprintf("%v %#v", &value, []Value{value}), string(encoded), logged.String(),
	} {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("the secret is in %s", text)
		}
	}
}

func TestRedact(t *testing.T) {
	resolver := newResolver(makeSecret("pair", map[string]string{"username": "user", "password": canary}))
	value, err := resolver.Resolve(t.Context(), Use{Namespace: "team", Credential: basic("pair")})
	if err != nil {
		t.Fatal(err)
	}
	whole := pair("user", canary)
	for text, want := range map[string]string{
		whole:                               "[redacted]",
		strings.TrimPrefix(whole, "Basic "): "[redacted]",
		"the password " + canary + "!":      "the password [redacted]!",
		"the user user":                     "the user user",
	} {
		if got := value.Redact(text); got != want {
			t.Errorf("Redact(%q) = %q, want %q", text, got, want)
		}
	}
	if got := (Value{}).Redact("text"); got != "text" {
		t.Errorf("without a credential: %q", got)
	}
}
