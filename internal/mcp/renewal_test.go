package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// renewal is what comes of resolving a refused credential once more.
type renewal string

const (
	noRenewal renewal = "none"
	unchanged renewal = "unchanged"
	failing   renewal = "fails"
	accepted  renewal = "accepted"
	refused   renewal = "refused again"
)

// renewed counts what one call led to: times that it reached the server, handshakes (one that opened the
// session included), renewals.
type renewed struct {
	Calls, Handshakes, Renewals int
	Kind                        ErrorKind
}

// E10–E13: each combination of where the credential is refused, what a renewal brings, and whether the call
// may be repeated.
func TestCredentialRefused(t *testing.T) {
	for _, row := range []struct {
		at         string
		renewal    renewal
		idempotent bool
		want       renewed
	}{
		{"initialize", noRenewal, true, renewed{0, 1, 0, Unauthorized}},
		{"initialize", noRenewal, false, renewed{0, 1, 0, Unauthorized}},
		{"initialize", unchanged, true, renewed{0, 1, 1, Unauthorized}},
		{"initialize", unchanged, false, renewed{0, 1, 1, Unauthorized}},
		{"initialize", failing, true, renewed{0, 1, 1, Unauthorized}},
		{"initialize", failing, false, renewed{0, 1, 1, Unauthorized}},
		{"initialize", accepted, true, renewed{1, 2, 1, ""}},
		{"initialize", accepted, false, renewed{1, 2, 1, ""}},
		{"initialize", refused, true, renewed{0, 2, 1, Unauthorized}},
		{"initialize", refused, false, renewed{0, 2, 1, Unauthorized}},

		{"notifications/initialized", accepted, false, renewed{1, 2, 1, ""}},
		{"notifications/initialized", refused, false, renewed{0, 2, 1, Unauthorized}},

		{"tools/call", noRenewal, true, renewed{1, 1, 0, Unauthorized}},
		{"tools/call", unchanged, true, renewed{1, 1, 1, Unauthorized}},
		{"tools/call", failing, true, renewed{1, 1, 1, Unauthorized}},
		{"tools/call", accepted, true, renewed{2, 2, 1, ""}},
		{"tools/call", refused, true, renewed{2, 2, 1, Unauthorized}},

		{"tools/call", noRenewal, false, renewed{1, 1, 0, OutcomeUnknown}},
		{"tools/call", unchanged, false, renewed{1, 1, 1, OutcomeUnknown}},
		{"tools/call", failing, false, renewed{1, 1, 1, OutcomeUnknown}},
		{"tools/call", accepted, false, renewed{1, 1, 1, OutcomeUnknown}},
		{"tools/call", refused, false, renewed{1, 1, 1, OutcomeUnknown}},
	} {
		t.Run(fmt.Sprintf("%s/%s/idempotent=%v", row.at, row.renewal, row.idempotent), func(t *testing.T) {
			server := newFake(t)
			server.on = refuseAt(row.at, func(token string) bool { return token == "old" || row.renewal == refused }, plainText(401, "who?"))
			target, renewals := renewable(server.target(), row.renewal)
			c := newTestClient(t, Options{})
			_, err := c.Call(t.Context(), target, "tool", nil, CallOptions{Idempotent: row.idempotent})
			got := renewed{server.count("tools/call"), server.count("initialize"), int(renewals.Load()), kindOf(err)}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\nerror: %v", diff, err)
			}
			checkRefusal(t, err, row.at == "tools/call")
			if row.renewal != accepted {
				return
			}
			target.Credential = bearer("new") // as the next call resolves it
			if _, err := c.Call(t.Context(), target, "tool", nil, CallOptions{}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// checkRefusal looks at what the error of a refused credential says.
func checkRefusal(t *testing.T, err error, sent bool) {
	t.Helper()
	var e *Error
	if err == nil {
		return
	}
	if !errors.As(err, &e) || !e.CredentialRefused() || e.Status != http.StatusUnauthorized || e.Sent != sent {
		t.Errorf("got %#v, want a refused credential, HTTP 401, Sent %v", err, sent)
	}
	if !strings.Contains(err.Error(), "refused the credential") {
		t.Errorf("the error does not say so: %v", err)
	}
}

// Which refusals are worth a renewal: 401, 403 with a challenge, and everything that refuses the handshake.
func TestWhichRefusalsAreRenewed(t *testing.T) {
	challenge := func(w http.ResponseWriter, _ *http.Request, _ request) {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		http.Error(w, "no", http.StatusForbidden)
	}
	for name, row := range map[string]struct {
		at   string
		die  func(http.ResponseWriter, *http.Request, request)
		want int64
	}{
		"401":                  {"tools/call", plainText(401, "who?"), 1},
		"401 echoed id":        {"tools/call", rpcEcho(401, -32000, "who?"), 1},
		"403 with challenge":   {"tools/call", challenge, 1},
		"403":                  {"tools/call", plainText(403, "not yours"), 0},
		"403 of the handshake": {"initialize", plainText(403, "not yours"), 1},
		"404":                  {"tools/call", plainText(404, "gone"), 0},
		"500":                  {"tools/call", plainText(500, "oops"), 0},
		"JSON-RPC error":       {"tools/call", rpcEcho(200, -32001, "Unauthorized"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t)
			server.on = refuseAt(row.at, func(token string) bool { return token == "old" }, row.die)
			target, renewals := renewable(server.target(), accepted)
			_, err := newTestClient(t, Options{}).Call(t.Context(), target, "tool", nil, CallOptions{Idempotent: true})
			if got := renewals.Load(); got != row.want || (err == nil) != (row.want == 1) {
				t.Errorf("%d renewals, want %d; error: %v", got, row.want, err)
			}
		})
	}
}

// E7 and E10 each act once a call, also in one call and in whichever order, and then it is over.
func TestLostSessionAndRefusedCredential(t *testing.T) {
	lost, unknownToken := plainText(404, "Session not found"), plainText(401, "token expired")
	for name, row := range map[string]struct {
		deaths []func(http.ResponseWriter, *http.Request, request)
		want   renewed
	}{
		"lost, then refused":             {seq(lost, unknownToken), renewed{3, 3, 1, ""}},
		"refused, then lost":             {seq(unknownToken, lost), renewed{3, 3, 1, ""}},
		"lost, refused, lost":            {seq(lost, unknownToken, lost, lost), renewed{3, 3, 1, SessionLost}},
		"refused, lost, refused":         {seq(unknownToken, lost, unknownToken, lost), renewed{3, 3, 1, Unauthorized}},
		"refused again and again":        {seq(unknownToken, unknownToken, unknownToken), renewed{2, 2, 1, Unauthorized}},
		"lost again and again":           {seq(lost, lost, lost), renewed{2, 2, 0, SessionLost}},
		"refused, then answered at once": {seq(unknownToken), renewed{2, 2, 1, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t)
			var calls atomic.Int64
			server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
				if m.Method != "tools/call" {
					return false
				}
				n := int(calls.Add(1)) - 1
				if n < len(row.deaths) {
					row.deaths[n](w, r, m)
				}
				return n < len(row.deaths)
			}
			target, renewals := renewable(server.target(), accepted)
			_, err := newTestClient(t, Options{}).Call(t.Context(), target, "tool", nil, CallOptions{Idempotent: true})
			got := renewed{server.count("tools/call"), server.count("initialize"), int(renewals.Load()), kindOf(err)}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\nerror: %v", diff, err)
			}
		})
	}
}

func seq(deaths ...func(http.ResponseWriter, *http.Request, request)) []func(http.ResponseWriter, *http.Request, request) {
	return deaths
}

// E2, E6: however many calls find the credential refused, each renews it once, and all go on in one session.
func TestManyCallsRenewAtOneTime(t *testing.T) {
	const callers = 16
	server := newFake(t)
	var arrived sync.WaitGroup
	arrived.Add(callers)
	refuse := refuseAt("tools/call", func(token string) bool { return token == "old" }, plainText(401, "token expired"))
	server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
		if m.Method == "tools/call" && m.auth == "Bearer old" {
			arrived.Done()
			arrived.Wait()
		}
		return refuse(w, r, m)
	}
	target, renewals := renewable(server.target(), accepted)
	c := newTestClient(t, Options{})
	var calls sync.WaitGroup
	for range callers {
		calls.Go(func() {
			if _, err := c.Call(t.Context(), target, "tool", nil, CallOptions{Idempotent: true}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := server.count("initialize"); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
	if n, stats := renewals.Load(), c.Stats(); n != callers || stats.Renewed != callers {
		t.Errorf("%d renewals, and %+v; want one for each of %d callers", n, stats, callers)
	}
}

// Discovery has no effect, so a refused credential is renewed and the list read again.
func TestDiscoveryRenews(t *testing.T) {
	server := newFake(t)
	server.on = refuseAt("tools/list", func(token string) bool { return token == "old" }, plainText(401, "token expired"))
	target, renewals := renewable(server.target(), accepted)
	if _, err := newTestClient(t, Options{}).Discover(t.Context(), target); err != nil || renewals.Load() != 1 {
		t.Errorf("%v after %d renewals", err, renewals.Load())
	}
}

// A renewal that fails says why, without either secret.
func TestFailedRenewalIsExplained(t *testing.T) {
	const canary = "canary-7f3a"
	server := newFake(t)
	server.on = refuseAt("initialize", func(string) bool { return true }, plainText(401, "who?"))
	target := server.target()
	target.Credential = bearer(canary)
	target.Renew = func(context.Context) (Credential, error) {
		return Credential{}, fmt.Errorf("Secret %q is gone, and %s with it", "desk", canary)
	}
	_, err := newTestClient(t, Options{}).Call(t.Context(), target, "tool", nil, CallOptions{})
	if err == nil || !strings.Contains(err.Error(), `Secret "desk" is gone`) || strings.Contains(err.Error(), canary) {
		t.Errorf("got %v", err)
	}
}

func bearer(token string) Credential { return Credential{"Authorization", "Bearer " + token} }

// refuseAt answers one method with die, for the tokens that are to be refused.
func refuseAt(method string, bad func(token string) bool, die func(http.ResponseWriter, *http.Request, request)) func(http.ResponseWriter, *http.Request, request) bool {
	return func(w http.ResponseWriter, r *http.Request, m request) bool {
		if m.Method != method || !bad(strings.TrimPrefix(m.auth, "Bearer ")) {
			return false
		}
		die(w, r, m)
		return true
	}
}

// renewable gives a target an old credential and a way to renew it, whose uses are counted.
func renewable(target Target, how renewal) (Target, *atomic.Int64) {
	var renewals atomic.Int64
	target.Credential = bearer("old")
	if how == noRenewal {
		return target, &renewals
	}
	target.Renew = func(context.Context) (Credential, error) {
		renewals.Add(1)
		switch how {
		case failing:
			return Credential{}, errors.New("the token endpoint is down")
		case unchanged:
			return bearer("old"), nil
		default:
			return bearer("new"), nil
		}
	}
	return target, &renewals
}
