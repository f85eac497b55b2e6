package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A handshake that fails says what is wrong and what to do about it.
func TestHandshakeFailures(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request, m request)
		kind   ErrorKind
		detail string
	}{
		{"401", plainText(401, "who are you"), Unauthorized,
			"the server refused the credential (HTTP 401 Unauthorized): who are you; check the Secret that the credential refers to"},
		{"403", plainText(403, ""), Unauthorized,
			"the server refused the credential (HTTP 403 Forbidden); check the Secret that the credential refers to"},
		{"404", plainText(404, "nothing here"), Protocol,
			"HTTP 404 Not Found: nothing here; check that the URL is that of an MCP endpoint"},
		{"400 about sessions", rpcNull(400, -32000, "Bad Request: Server not initialized"), Protocol,
			"HTTP 400 Bad Request: Bad Request: Server not initialized; check that the URL is that of an MCP endpoint"},
		{"HTML", func(w http.ResponseWriter, _ *http.Request, _ request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>")
		}, Protocol,
			`the server answered HTTP 200 with content type "text/html; charset=utf-8" instead of JSON; check that the URL is that of an MCP endpoint`},
		{"500", plainText(500, "oops"), Unreachable, "HTTP 500 Internal Server Error: oops"},
		{"HTML error page", func(w http.ResponseWriter, _ *http.Request, _ request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>")
		}, Unreachable, "HTTP 502 Bad Gateway"},
		{"redirect", func(w http.ResponseWriter, r *http.Request, _ request) {
			http.Redirect(w, r, "https://user:pw@login.example/?next=1", http.StatusFound)
		}, Protocol,
			`the server redirects to host "login.example"; redirects are not followed: set the URL to where the server really is`},
		{"refused", rpcEcho(200, -32603, "not today"), Rejected, "not today"},
		{"another protocol", func(w http.ResponseWriter, _ *http.Request, m request) {
			if m.Method == "server/discover" {
				rpcFail(w, m, 200, -32601, "no")
				return
			}
			reply(w, m, `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"n","version":"v"}}`)
		}, Protocol, "the server insists on protocol version 1999-01-01, which this client does not speak"},
		{"an empty result", func(w http.ResponseWriter, _ *http.Request, m request) { reply(w, m, `{}`) }, Protocol,
			"the server's answer to initialize is not MCP; check that the URL is that of an MCP endpoint"},
		{"too much", func(w http.ResponseWriter, _ *http.Request, m request) {
			reply(w, m, `{"instructions":"`+strings.Repeat("x", maxInitializeBytes)+`"}`)
		}, TooLarge, "the answer is too large: over 262144 bytes"},
		{"initialized refused", func(w http.ResponseWriter, _ *http.Request, m request) {
			switch m.Method {
			case "initialize":
				reply(w, m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"n","version":"v"}}`)
			default:
				http.Error(w, "expired", http.StatusUnauthorized)
			}
		}, Unauthorized,
			"the server refused the credential (HTTP 401 Unauthorized): expired; check the Secret that the credential refers to"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := newFake(t)
			server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
				row.answer(w, r, m)
				return true
			}
			_, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
			want := "mcp server catalogue/fake: " + string(row.kind) + ": " + row.detail
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// A server that is not there, and a client that nobody gave a way out.
func TestUnreachable(t *testing.T) {
	server := newFake(t)
	target := server.target()
	server.Close()
	if _, err := newTestClient(t, Options{}).Discover(t.Context(), target); kindOf(err) != Unreachable ||
		!strings.Contains(err.Error(), "cannot connect: ") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("server down: %v", err)
	}
	c := NewClient(Options{})
	defer c.Close()
	if _, err := c.Discover(t.Context(), target); kindOf(err) != Unreachable ||
		!strings.Contains(err.Error(), "no HTTP transport is configured") {
		t.Errorf("no transport: %v", err)
	}
}

// Nothing of a bad target or call is sent, and the error names the field without its secret.
func TestInvalid(t *testing.T) {
	const canary = "canary"
	for _, row := range []struct {
		name   string
		change func(*Target)
		tool   string
		args   string
		want   string
	}{
		{"scheme", func(t *Target) { t.URL = "file:///etc/passwd" }, "t", "", `url: scheme "file" is not http or https`},
		{"no host", func(t *Target) { t.URL = "http:///mcp" }, "t", "", "url: names no host"},
		{"not a URL", func(t *Target) { t.URL = "http://h/%zz" + canary }, "t", "", "url: cannot be parsed; write http(s)://host[:port]/path"},
		{"user info", func(t *Target) { t.URL = "http://u:" + canary + "@h/" }, "t", "", "url: holds user information; put the secret into the credential"},
		{"header name", func(t *Target) { t.Headers = map[string]string{"a b": "x"} }, "t", "", `headers["a b"]: is not a valid header name`},
		{"header of the transport", func(t *Target) { t.Headers = map[string]string{"mcp-session-id": "x"} }, "t", "",
			`headers["mcp-session-id"]: belongs to the transport and cannot be set`},
		{"host header", func(t *Target) { t.Headers = map[string]string{"host": "x"} }, "t", "", `headers["host"]: belongs to the transport and cannot be set`},
		{"credential line break", func(t *Target) { t.Credential = Credential{"Authorization", canary + "\r\nX: y"} }, "t", "",
			`credential: header "Authorization": its value holds characters that a header cannot carry, such as a line break`},
		{"credential without header", func(t *Target) { t.Credential = Credential{"", canary} }, "t", "", `credential: header "": is not a valid header name`},
		{"no tool", func(*Target) {}, "", "", "the tool's name must have 1 to 128 bytes"},
		{"arguments", func(*Target) {}, "t", "[1]", "the arguments are not a JSON object"},
		{"arguments cut off", func(*Target) {}, "t", `{"a":`, "the arguments are not a JSON object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := newFake(t)
			target := server.target()
			row.change(&target)
			_, err := newTestClient(t, Options{}).Call(t.Context(), target, row.tool, []byte(row.args), CallOptions{})
			if want := "mcp server catalogue/fake: Invalid: " + row.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if len(server.requests("initialize")) > 0 {
				t.Error("something was sent")
			}
		})
	}
}
