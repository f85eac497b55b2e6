// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// token is that of 32 zero bytes, as RFC 4648 encodes them.
	token = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	call  = v1alpha1.CallID("call-0123456789abcdef")
)

func TestNewToken(t *testing.T) {
	got, err := NewToken(bytes.NewReader(make([]byte, 32)))
	if err != nil || got != token {
		t.Errorf("%q, %v, want %q", got, err, token)
	}
	if _, err := NewToken(bytes.NewReader(make([]byte, 31))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of 31 bytes: %v", err)
	}
	again, err := NewToken(rand.Reader)
	if err != nil || again == token || len(again) != 43 {
		t.Errorf("%q, %v", again, err)
	}
}

// The digest has a domain of its own: the token's bare SHA-256 would be that of any other use.
func TestDigest(t *testing.T) {
	want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("remit.dev/webhook-token/v1\x00"+token)))
	if got := Digest(token); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestURL(t *testing.T) {
	const base = "https://hooks.example.com/remit"
	const want = base + "/webhooks/team-a/run.1/call-0123456789abcdef/" + token
	if got := URL(base, "team-a", "run.1", call, token); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, ok := TokenIn(want, "team-a", "run.1", call); !ok || got != token {
		t.Errorf("the token in it is %q, %t", got, ok)
	}
	for name, address := range map[string]string{
		"nothing":             "",
		"of another call":     URL(base, "team-a", "run.1", "call-0123456789abcde0", token),
		"of another Run":      URL(base, "team-a", "run.2", call, token),
		"of another tenant":   URL(base, "team-b", "run.1", call, token),
		"with a short token":  want[:len(want)-1],
		"with a query":        want + "?x",
		"twice":               want + "/webhooks/team-a/run.1/call-0123456789abcdef/" + token,
		"with a false token":  URL(base, "team-a", "run.1", call, strings.Repeat("!", 43)),
		"of a standard token": URL(base, "team-a", "run.1", call, strings.Repeat("+", 42)+"A"),
	} {
		if got, ok := TokenIn(address, "team-a", "run.1", call); ok {
			t.Errorf("%s: the token is %q", name, got)
		}
	}
}

func TestParseBase(t *testing.T) {
	for text, want := range map[string]string{
		"https://hooks.example.com":            "https://hooks.example.com",
		"https://hooks.example.com/":           "https://hooks.example.com",
		"https://hooks.example.com:8443/a/b//": "https://hooks.example.com:8443/a/b",
		"https://[2001:db8::1]":                "https://[2001:db8::1]",
		"http://hooks.example.com":             "error",
		"hooks.example.com":                    "error",
		"//hooks.example.com":                  "error",
		"https://":                             "error",
		"https://:443":                         "error",
		"https:hooks.example.com":              "error",
		"https://user@hooks.example.com":       "error",
		"https://hooks.example.com?a=b":        "error",
		"https://hooks.example.com?":           "error",
		"https://hooks.example.com/#":          "error",
		"https://hooks.example.com\n":          "error",
		"":                                     "error",
		"https://" + strings.Repeat("h", 1024): "error",
	} {
		got, err := ParseBase(text)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, err)
		}
	}
}

// What a user's password is doing there is not repeated.
func TestParseBaseTellsNoSecret(t *testing.T) {
	_, err := ParseBase("https://user:hunter2@hooks.example.com")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestParsePath(t *testing.T) {
	want := Delivery{Namespace: "team-a", Run: "run.1", Call: call, Token: token}
	got, ok := parsePath("/webhooks/team-a/run.1/call-0123456789abcdef/" + token)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{
		"", "/", "/webhooks", "/webhooks/", "/healthz",
		"/webhooks/team-a/run.1/call-0123456789abcdef",
		"/webhooks/team-a/run.1/call-0123456789abcdef/",
		"/webhooks/team-a/run.1/call-0123456789abcdef/" + token + "/",
		"/webhooks/team-a/run.1/call-0123456789abcdef/" + token + "A",
		"/webhooks//team-a/run.1/call-0123456789abcdef/" + token,
		"/webhooks/Team-a/run.1/call-0123456789abcdef/" + token,
		"/webhooks/../run.1/call-0123456789abcdef/" + token,
		"/webhooks/team-a/../call-0123456789abcdef/" + token,
		"/webhooks/team-a/run_1/call-0123456789abcdef/" + token,
		"/webhooks/team-a/run.1/call-0123456789ABCDEF/" + token,
		"/webhooks/team-a/run.1/call-0123456789abcdef0/" + token,
		"/webhooks/team-a/run.1/call-0123456789abcdef/" + strings.Repeat("A", 42) + "=",
		// The last character has two bits that encode nothing, and one text alone is the token.
		"/webhooks/team-a/run.1/call-0123456789abcdef/" + strings.Repeat("A", 42) + "B",
		"/other/team-a/run.1/call-0123456789abcdef/" + token,
		"webhooks/team-a/run.1/call-0123456789abcdef/" + token,
		"/webhooks/" + strings.Repeat("/", 1<<20),
		"/webhooks/team-a/" + strings.Repeat("r", 254) + "/call-0123456789abcdef/" + token,
	} {
		if got, ok := parsePath(path); ok {
			t.Errorf("%.100q is %v", path, got)
		}
	}
}

// Every URL that is offered is understood, and gives what it was made of.
func TestEveryURLIsUnderstood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Delivery{
			Namespace: rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`).Draw(t, "namespace"),
			Run:       rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,19}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,19}[a-z0-9])?){0,4}`).Draw(t, "run"),
			Call:      v1alpha1.CallID(rapid.StringMatching(`call-[0-9a-f]{16}`).Draw(t, "call")),
		}
		var err error
		if want.Token, err = NewToken(bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random"))); err != nil {
			t.Fatal(err)
		}
		got, ok := parsePath(URL("", want.Namespace, want.Run, want.Call, want.Token))
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%t (-want +got):\n%s", ok, diff)
		}
	})
}
