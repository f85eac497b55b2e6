// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/httptool/template"
	"remit.dev/remit/internal/pipeline"
)

// A4: the Grant's hosts are exact, and a port is the scheme's own where none is named.
func TestGranted(t *testing.T) {
	for name, test := range map[string]struct {
		url     string
		hosts   []string
		methods []v1alpha1.HTTPMethod
		want    string
	}{
		"the host":                 {"https://shop.example/x", []string{"shop.example"}, nil, ""},
		"in another spelling":      {"https://SHOP.example.:443/x", []string{"shop.example"}, nil, ""},
		"with its port":            {"https://shop.example/x", []string{"shop.example:443"}, nil, ""},
		"one of several":           {"http://shop.example/x", []string{"a.example", "shop.example:80"}, nil, ""},
		"an address":               {"http://10.0.0.1:8080/x", []string{"10.0.0.1:8080"}, nil, ""},
		"a port of the other kind": {"http://shop.example/x", []string{"shop.example:443"}, nil, `does not permit the host "shop.example"`},
		"another port":             {"https://shop.example:8443/x", []string{"shop.example"}, nil, `does not permit the host "shop.example:8443": ask the platform team to add it to spec.http.hosts`},
		"no port for another one":  {"https://shop.example/x", []string{"shop.example:8443"}, nil, "does not permit the host"},
		"a subdomain":              {"https://a.shop.example/x", []string{"shop.example"}, nil, "does not permit the host"},
		"a parent":                 {"https://example/x", []string{"shop.example"}, nil, "does not permit the host"},
		"a suffix":                 {"https://evilshop.example/x", []string{"shop.example"}, nil, "does not permit the host"},
		"a method":                 {"https://shop.example/x", []string{"shop.example"}, []v1alpha1.HTTPMethod{"GET", "POST"}, ""},
		"another method":           {"https://shop.example/x", []string{"shop.example"}, []v1alpha1.HTTPMethod{"GET"}, "does not permit the method POST: ask the platform team to add it to spec.http.methods"},
	} {
		t.Run(name, func(t *testing.T) {
			made := newSetting(&server{}, "POST", "")
			made.tool.HTTP.URL, made.grant.Spec.HTTP = test.url, &v1alpha1.HTTPHosts{Hosts: test.hosts, Methods: test.methods}
			err := made.executor(t).Granted()
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if refused, ok := errors.AsType[*NotGranted](err); !ok || refused.Grant != "shop" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if outcome := made.call(t, true, `{}`); outcome.Error != v1alpha1.ErrorToolUnavailable || !strings.Contains(outcome.Content, test.want) {
				t.Errorf("outcome %+v", outcome)
			}
		})
	}
	made := newSetting(&server{}, "POST", "")
	made.grant.Spec.HTTP = nil
	if outcome := made.call(t, true, `{}`); outcome.Error != v1alpha1.ErrorToolUnavailable {
		t.Errorf("a Grant without hosts: %+v", outcome)
	}
}

func TestAToolThatCannotBePublished(t *testing.T) {
	made := newSetting(&server{}, "GET", "")
	made.tool.HTTP.URL = "https://{host}/"
	_, err := NewClient(Options{}).Tool(&made.tool, &made.grant)
	if problems, ok := errors.AsType[template.Problems](err); !ok || problems[0].Kind != template.URL {
		t.Errorf("got %v", err)
	}
	made.tool.HTTP = nil
	if _, err := NewClient(Options{}).Tool(&made.tool, &made.grant); err == nil {
		t.Error("no error for a tool of another kind")
	}
}

// N7, N8: what a Grant permits is judged by the guard all the same, in the tenant's name,
// and a secret does not go to a public address in the clear.
func TestEgress(t *testing.T) {
	for name, test := range map[string]struct {
		url, want string
		allow     []netip.Prefix
	}{
		"loopback":           {"http://127.0.0.1:1/", "127.0.0.1 is a loopback address", nil},
		"a name of loopback": {"http://shop.example/", "127.0.0.1 is a loopback address", nil},
		"metadata":           {"http://169.254.169.254/latest", "169.254.169.254 is a metadata address", []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
		"a secret in the clear": {
			"http://8.8.8.8/", "a secret would travel there without TLS", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var tenants []string
			guard := egress.New(egress.Options{Resolver: names{}, Allow: test.allow, Observe: func(d egress.Decision) { tenants = append(tenants, d.Tenant) }})
			made := newSetting(&server{}, "POST", "").withCredential()
			made.tool.HTTP.URL, made.tool.Attempts = test.url, 3
			made.grant.Spec.HTTP.Hosts = []string{"127.0.0.1:1", "shop.example", "169.254.169.254", "8.8.8.8"}
			client := NewClient(Options{
				Guard: guard, Credentials: credentials.New(credentials.Options{Reader: secrets(), Guard: guard}), Sleep: made.sleep,
			})
			tool, err := client.Tool(&made.tool, &made.grant)
			if err != nil {
				t.Fatal(err)
			}
			outcome := tool.Execute(t.Context(), pipeline.Invocation{Arguments: []byte(`{}`), Idempotent: true})
			if outcome.Error != v1alpha1.ErrorServerUnavailable || !strings.Contains(outcome.Content, test.want) {
				t.Errorf("outcome %+v, want %q", outcome, test.want)
			}
			if diff := cmp.Diff([]string{"team"}, tenants); diff != "" || made.pauses != nil {
				t.Errorf("pauses %v, tenants (-want +got):\n%s", made.pauses, diff)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	made := newSetting(&server{}, "GET", "/")
	made.tool.Attempts, made.tool.Timeout = 3, metav1.Duration{Duration: time.Minute}
	if got, want := made.executor(t).Timeout(), 4*time.Minute+10*time.Second; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	made.tool.Timeout = metav1.Duration{}
	if got := made.executor(t).Timeout(); got != 0 {
		t.Errorf("without a timeout: %s", got)
	}
}

// A17, G1 to G6, H42: the class of an HTTP tool.
func TestHintsOf(t *testing.T) {
	yes, no := true, false
	const readOnly, write, destructive = v1alpha1.ClassReadOnly, v1alpha1.ClassWrite, v1alpha1.ClassDestructive
	type classes map[v1alpha1.HTTPMethod]v1alpha1.ToolClass
	for name, test := range map[string]struct {
		said *v1alpha1.ToolAnnotations
		want classes
	}{
		"G3 nothing":              {nil, classes{"GET": write, "HEAD": write, "POST": write, "PUT": write, "PATCH": write, "DELETE": destructive}},
		"G4 a title":              {&v1alpha1.ToolAnnotations{Title: "x"}, classes{"GET": destructive, "POST": destructive, "DELETE": destructive}},
		"read-only":               {&v1alpha1.ToolAnnotations{ReadOnlyHint: &yes}, classes{"GET": readOnly, "HEAD": readOnly, "POST": destructive, "PUT": destructive, "PATCH": destructive, "DELETE": destructive}},
		"not read-only":           {&v1alpha1.ToolAnnotations{ReadOnlyHint: &no}, classes{"GET": destructive, "POST": destructive}},
		"not destructive":         {&v1alpha1.ToolAnnotations{DestructiveHint: &no}, classes{"GET": write, "POST": write, "DELETE": destructive}},
		"destructive":             {&v1alpha1.ToolAnnotations{DestructiveHint: &yes}, classes{"GET": destructive, "POST": destructive}},
		"G2 both":                 {&v1alpha1.ToolAnnotations{ReadOnlyHint: &yes, DestructiveHint: &yes}, classes{"GET": destructive, "POST": destructive}},
		"read-only, no more":      {&v1alpha1.ToolAnnotations{ReadOnlyHint: &yes, DestructiveHint: &no}, classes{"GET": readOnly, "POST": write, "DELETE": destructive}},
		"idempotent loosens none": {&v1alpha1.ToolAnnotations{IdempotentHint: &yes}, classes{"GET": destructive, "POST": destructive}},
	} {
		for method, want := range test.want {
			tool := &v1alpha1.Tool{Annotations: test.said, HTTP: &v1alpha1.HTTPTool{Method: method}}
			if got := gate.Classify(HintsOf(tool)); got != want {
				t.Errorf("%s, %s: %s, want %s", name, method, got, want)
			}
		}
	}
}
