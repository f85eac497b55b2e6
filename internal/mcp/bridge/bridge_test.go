package bridge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Messages pass as the bytes they are, ids of every kind included.
func TestTransparent(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain")})
	session := r.open()
	for _, id := range []string{`2`, `"two"`, `"with \"quotes\" and é"`, `-1`, `1.5`} {
		list := r.post(session, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list"}`)
		if diff := cmp.Diff(answer{200, "application/json", "", fmt.Sprintf(oddTools, id)}, list); diff != "" {
			t.Errorf("tools/list (-want +got):\n%s", diff)
		}
		failed := r.post(session, call(id, "error"))
		if diff := cmp.Diff(answer{200, "application/json", "", fmt.Sprintf(oddError, id)}, failed); diff != "" {
			t.Errorf("an error (-want +got):\n%s", diff)
		}
	}
	pretty := "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 3,\n  \"method\": \"tools/list\"\n}"
	if a := r.post(session, pretty); a.Body != fmt.Sprintf(oddTools, "3") {
		t.Errorf("a request over several lines: %+v", a)
	}
	if a := r.post(session, call("4", "crlf")); a.Body != `{"jsonrpc":"2.0","id":4,"result":{"content":[]}}` {
		t.Errorf("an answer with carriage returns: %+v", a)
	}
}

// What the child says before its answer comes on the request's stream, and the client's answers go back.
func TestMessagesBeforeTheAnswer(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain")})
	session := r.open()
	got := r.post(session, call("5", "notify"))
	want := answer{200, "text/event-stream", "", `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}` + "\n\n" +
		`data: {"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"done"}]}}` + "\n\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	jsonOnly := func(req *http.Request) { req.Header.Set("Accept", "application/json") }
	if a := r.do(http.MethodPost, session, call("6", "notify"), jsonOnly); a.Type != "application/json" || !strings.Contains(a.Body, "done") {
		t.Errorf("a client that takes no stream: %+v", a)
	}
	// Without any stream the child's request is declined for the client.
	if a := r.do(http.MethodPost, session, call("7", "ask"), jsonOnly); !strings.Contains(a.Body, "no stream open") {
		t.Errorf("a request that cannot reach the client: %+v", a)
	}
}

// A request of the child reaches the standing stream, and the client's answer the child.
func TestStandingStream(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain")})
	session := r.open()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", session)
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if a := r.do(http.MethodGet, session, ""); a.Status != http.StatusConflict {
		t.Errorf("a second stream: %+v", a)
	}
	answered := make(chan answer, 1)
	go func() { answered <- r.post(session, call("8", "ask")) }()
	line, err := bufio.NewReader(stream.Body).ReadString('\n')
	if err != nil || line != `data: {"jsonrpc":"2.0","id":"c-1","method":"roots/list"}`+"\n" {
		t.Fatalf("the stream holds %q, %v", line, err)
	}
	if a := r.post(session, `{"jsonrpc":"2.0","id":"c-1","result":{"roots":[]}}`); a.Status != http.StatusAccepted {
		t.Errorf("the client's answer: %+v", a)
	}
	if a := <-answered; !strings.Contains(a.Body, `"text":"{\"roots\":[]}"`) {
		t.Errorf("the call: %+v", a)
	}
}

// What the bridge answers by itself.
func TestRefusals(t *testing.T) {
	r := start(t, Options{Command: helper(t, "discover-dies")})
	session := r.open()
	refusal := func(status, code int, text string) answer {
		return answer{status, "application/json", "", fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, text)}
	}
	for _, row := range []struct {
		name          string
		session, body string
		want          answer
	}{
		{"discover", "", `{"jsonrpc":"2.0","id":"d","method":"server/discover"}`,
			answer{200, "application/json", "", `{"jsonrpc":"2.0","id":"d","error":{"code":-32601,"message":"Method not found"}}`}},
		{"no session", "", call("1", "env"), refusal(400, -32000, "the Mcp-Session-Id header is required: initialize first")},
		{"unknown session", "nope", call("1", "env"), refusal(404, -32001, "Session not found")},
		{"batch", session, "[" + call("1", "env") + "]", refusal(400, -32600, "not a JSON-RPC 2.0 message")},
		{"not JSON", session, "hello", refusal(400, -32600, "not a JSON-RPC 2.0 message")},
		{"JSON-RPC 1.0", session, `{"id":1,"method":"x"}`, refusal(400, -32600, "not a JSON-RPC 2.0 message")},
		{"neither request nor answer", session, `{"jsonrpc":"2.0","id":1}`, refusal(400, -32600, "not a JSON-RPC 2.0 message")},
		{"too large", session, `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", MaxRequestBytes) + `"}`,
			refusal(413, -32600, "the message is over 4194304 bytes")},
		{"notification", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, answer{Status: 202}},
	} {
		if diff := cmp.Diff(row.want, r.post(row.session, row.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	plain := func(req *http.Request) { req.Header.Set("Content-Type", "text/plain") }
	if a := r.do(http.MethodPost, session, call("1", "env"), plain); a.Status != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain: %+v", a)
	}
	if got := r.textOf(session, "env"); got != "[]" {
		t.Errorf("after all that the child is %q", got)
	}
}

// N1, N3, N4: a real child sees the environment it was given, byte for byte, and none of the bridge's.
func TestEnvironmentIsExact(t *testing.T) {
	t.Setenv("LEAK", "host secret")
	for name, env := range map[string][]string{
		"none":  nil,
		"empty": {},
		"some":  {"A=1", "B=", "C=x=y z\n\"", "PATH=/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, Options{Command: helper(t, "plain"), Env: env, Dir: t.TempDir()})
			var got []string
			if err := json.Unmarshal([]byte(r.textOf(r.open(), "env")), &got); err != nil {
				t.Fatal(err)
			}
			want := append([]string{}, env...)
			isFromMacOS := func(entry string) bool { return strings.HasPrefix(entry, "__CF_USER_TEXT_ENCODING=") }
			var seen []string
			for _, entry := range got {
				if !isFromMacOS(entry) {
					seen = append(seen, entry)
				}
			}
			if diff := cmp.Diff(want, append([]string{}, seen...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A banner does no harm and is reported.
func TestBanner(t *testing.T) {
	r := start(t, Options{Command: helper(t, "banner")})
	if got := r.textOf(r.open(), "env"); got != "[]" {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(r.log.String(), `Welcome to the server!`) {
		t.Errorf("the log does not show the banner: %s", r.log)
	}
}

// A server that never speaks JSON-RPC is diagnosed to the client, without the secrets of its environment.
func TestDiagnosis(t *testing.T) {
	const advice = `; its standard output is not all JSON-RPC, the first such line is %s: an MCP server must log to standard error`
	for kind, want := range map[string]string{
		"garbage": "the server process ended: exit status 3" + fmt.Sprintf(advice, `"cannot start with key [redacted]"`),
		"chatter": "more than 100 lines on standard output are not JSON-RPC" + fmt.Sprintf(advice, `"line 0"`),
		"mute":    "the server process did not answer initialize within 10s" + fmt.Sprintf(advice, `"thinking"`),
	} {
		t.Run(kind, func(t *testing.T) {
			o := Options{Command: helper(t, kind), Env: []string{"API_KEY=canary-7f3a"}}
			if kind == "mute" {
				o.StartTimeout = 10 * time.Second // ample for its first line, however busy the machine
			}
			r := start(t, o)
			a := r.post("", initialize)
			var m struct{ Error struct{ Message string } }
			if a.Status != http.StatusBadGateway || a.Session != "" || json.Unmarshal([]byte(a.Body), &m) != nil || m.Error.Message != want {
				t.Errorf("got  %+v\nwant %s", a, want)
			}
			if strings.Contains(r.log.String(), "canary") {
				t.Errorf("the log shows the secret: %s", r.log)
			}
		})
	}
}

// A child that dies ends its session: who waits learns that there is no answer, who comes later that the
// session is unknown.
func TestChildDies(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain")})
	session, other := r.open(), r.open()
	a := r.post(session, call("2", "die"))
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32002,"message":"the server process ended: exit status 3"}}`
	if a.Status != http.StatusBadGateway || a.Body != want {
		t.Errorf("the call in flight: %+v", a)
	}
	eventually(t, "the session is unknown", func() bool { return r.post(session, call("3", "env")).Status == http.StatusNotFound })
	if got := r.textOf(other, "env"); got != "[]" {
		t.Errorf("the other session: %q", got)
	}
}

// Standard error is passed on line by line, long lines cut.
func TestStandardError(t *testing.T) {
	var out safeBuffer
	r := start(t, Options{Command: helper(t, "stderr"), Stderr: &out})
	r.open()
	want := "short\n" + strings.Repeat("x", MaxStderrLine) + "…\nafter\n"
	eventually(t, "all of it is there", func() bool { return out.String() == want })
}

// Serve ends every child before it returns, the stubborn ones as well.
func TestServeEndsItsChildren(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain")})
	child := pidsOf(t, r, r.open())[0]
	r.stop()
	if alive(child) {
		t.Errorf("process %d is still there", child)
	}
	if _, err := http.Get(r.base + "/healthz"); err == nil {
		t.Error("still serving")
	}
}

func TestHealth(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain")})
	resp, err := http.Get(r.base + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(body) != "ok\n" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if !strings.HasPrefix(r.base, "http://127.0.0.1:") {
		t.Errorf("the default address %s is not loopback", r.base)
	}
}

// Options that cannot work are refused at once, without the values of the environment.
func TestOptions(t *testing.T) {
	self := helper(t, "plain")
	for _, row := range []struct {
		name string
		o    Options
		want string
	}{
		{"no command", Options{}, "bridge: no command; give the program to run and its arguments"},
		{"no such program", Options{Command: []string{"no-such-program-here"}},
			`bridge: command "no-such-program-here": exec: "no-such-program-here": executable file not found in $PATH`},
		{"env without =", Options{Command: self, Env: []string{"canary"}}, "bridge: env[0]: not of the form KEY=VALUE"},
		{"env without key", Options{Command: self, Env: []string{"=canary"}}, "bridge: env[0]: not of the form KEY=VALUE"},
		{"env twice", Options{Command: self, Env: []string{"A=1", "A=canary"}}, `bridge: env[1]: "A" is set twice`},
		{"env with NUL", Options{Command: self, Env: []string{"A=1\x00"}}, `bridge: env[0]: "A" holds a NUL byte`},
		{"address", Options{Command: self, Listen: "nowhere"}, "bridge: listen tcp: address nowhere: missing port in address"},
	} {
		if err := Serve(t.Context(), row.o); err == nil || err.Error() != row.want {
			t.Errorf("%s: got  %v\nwant %s", row.name, err, row.want)
		}
	}
}
