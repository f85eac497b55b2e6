package bridge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func startShared(t *testing.T, kind string) *running {
	t.Helper()
	return start(t, Options{Command: helper(t, kind), Shared: true})
}

// callWith is a call with arguments and the rest of its parameters.
func callWith(id, tool, rest string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,%s}}`, id, tool, rest)
}

func text(t *testing.T, a answer) string {
	t.Helper()
	var m struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if json.Unmarshal([]byte(a.Body), &m) != nil || len(m.Result.Content) != 1 {
		t.Fatalf("not the result of a call: %+v", a)
	}
	return m.Result.Content[0].Text
}

// All sessions have one process, which sees one client; each of them gets the answer to its own initialize.
func TestSharedProcess(t *testing.T) {
	r := startShared(t, "plain")
	sessions := map[string]bool{}
	pids := map[[2]int]bool{}
	for _, id := range []string{`1`, `"one"`, `-7`} {
		a := r.post("", strings.Replace(initialize, `"id":1`, `"id":`+id, 1))
		want := `{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"child","version":"1"}}}`
		if a.Status != 200 || a.Body != want {
			t.Errorf("got  %+v\nwant %s", a, want)
		}
		if a := r.post(a.Session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); a.Status != http.StatusAccepted {
			t.Errorf("initialized: %+v", a)
		}
		sessions[a.Session] = true
		pids[pidsOf(t, r, a.Session)] = true
	}
	if len(sessions) != 3 || len(pids) != 1 {
		t.Errorf("%d sessions with %d processes, want 3 with 1", len(sessions), len(pids))
	}
	var heard map[string]int
	if err := json.Unmarshal([]byte(r.textOf(r.open(), "heard")), &heard); err != nil {
		t.Fatal(err)
	}
	if heard["initialize"] != 1 || heard["notifications/initialized"] != 1 {
		t.Errorf("the process heard %v", heard)
	}
}

// Messages keep every byte but the ids, which may be the same for many clients at once.
func TestSharedAnswersGoHome(t *testing.T) {
	r := startShared(t, "plain")
	var clients sync.WaitGroup
	for client := range 8 {
		session := r.open()
		clients.Go(func() {
			for i, id := range []string{`2`, `"two"`, `-1`, `1.5`, `2`} {
				arguments := fmt.Sprintf(`{"client":%d,  "call":%d,"id":9,"big":9007199254740993}`, client, i)
				a := r.post(session, callWith(id, "echo", `"arguments":`+arguments))
				var m struct{ ID json.RawMessage }
				if json.Unmarshal([]byte(a.Body), &m) != nil || string(m.ID) != id || text(t, a) != arguments {
					t.Errorf("client %d: got %+v for %s", client, a, arguments)
				}
			}
			list := r.post(session, `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`)
			if diff := cmp.Diff(answer{200, "application/json", "", fmt.Sprintf(oddTools, `"x"`)}, list); diff != "" {
				t.Errorf("tools/list (-want +got):\n%s", diff)
			}
		})
	}
	clients.Wait()
}

// Two requests with one id, of two clients, are answered in the other order, each to who asked.
func TestSharedAnswersInAnyOrder(t *testing.T) {
	r := startShared(t, "plain")
	one, two := r.open(), r.open()
	answers := make([]chan answer, 2)
	for i, session := range []string{one, two} {
		answers[i] = make(chan answer, 1)
		go func() { answers[i] <- r.post(session, callWith("7", "hold", `"arguments":{}`)) }()
		// The process must have the first before the second is sent.
		eventually(t, "the call is held", func() bool { return heldCalls(t, r, session) == i+1 })
	}
	r.textOf(two, "release")
	first, second := <-answers[0], <-answers[1]
	if !strings.Contains(first.Body, `"id":7,`) || !strings.Contains(second.Body, `"id":7,`) {
		t.Errorf("the ids are not those of the clients: %+v, %+v", first, second)
	}
	// The process answered the second first; its numbers grow.
	var numbers [2]int
	for i, a := range []answer{first, second} {
		if _, err := fmt.Sscanf(text(t, a), "held as %d", &numbers[i]); err != nil {
			t.Fatalf("%+v: %v", a, err)
		}
	}
	if numbers[0] >= numbers[1] {
		t.Errorf("the first was answered with %d, the second with %d", numbers[0], numbers[1])
	}
}

// heldCalls counts the calls that wait in the process.
func heldCalls(t *testing.T, r *running, session string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(text(t, r.post(session, call(`"h"`, "waiting"))), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Progress goes to the client of the request and to no other, with the token as that client wrote it.
func TestSharedProgress(t *testing.T) {
	r := startShared(t, "plain")
	one, two := r.open(), r.open()
	seen := map[string]bool{}
	for session, token := range map[string]string{one: `"t"`, two: `7`} {
		a := r.post(session, callWith("3", "progress", `"_meta":{"progressToken":`+token+`}`))
		first, last, _ := strings.Cut(a.Body, "\n\n")
		if want := `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,  "progressToken":` + token + `}}`; first != want {
			t.Errorf("got  %s\nwant %s", first, want)
		}
		got := text(t, answer{Body: strings.TrimPrefix(strings.TrimSpace(last), "data: ")})
		if seen[got] || got == token {
			t.Errorf("the process saw the token %s, of the client's %s", got, token)
		}
		seen[got] = true
	}
	// A token that is nobody's goes nowhere.
	if a := r.post(one, callWith("4", "progress", `"_meta":{}`)); a.Type != "application/json" {
		t.Errorf("progress without a token: %+v", a)
	}
}

// Every client learns that a list has changed, and none what the process says about others.
func TestSharedNotifications(t *testing.T) {
	r := startShared(t, "plain")
	sessions := []string{r.open(), r.open()}
	var streams []*bufio.Reader
	for _, session := range sessions {
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
		streams = append(streams, bufio.NewReader(stream.Body))
	}
	if a := r.post(sessions[0], call("1", "tell")); a.Type != "application/json" {
		t.Errorf("the call: %+v", a)
	}
	for i, stream := range streams {
		line, err := stream.ReadString('\n')
		if err != nil || line != `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n" {
			t.Errorf("stream %d: %q, %v", i, line, err)
		}
	}
}

// What the process asks is answered by the bridge: clients that share it cannot be asked.
func TestSharedProcessAsks(t *testing.T) {
	r := startShared(t, "plain")
	session := r.open()
	if got := r.textOf(session, "ask"); !strings.Contains(got, "-32601") || !strings.Contains(got, "cannot ask") {
		t.Errorf("roots/list was answered with %s", got)
	}
	if got := r.textOf(session, "ping"); got != "{}" {
		t.Errorf("ping was answered with %s", got)
	}
}

// A client cancels its own request, by whatever number the process knows it, and nobody else's.
func TestSharedCancellation(t *testing.T) {
	r := startShared(t, "plain")
	one, two := r.open(), r.open()
	held := make(chan answer, 1)
	go func() { held <- r.post(one, callWith("7", "hold", `"arguments":{}`)) }()
	eventually(t, "the call is held", func() bool { return heldCalls(t, r, two) == 1 })
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}`
	for _, session := range []string{two, one} {
		if a := r.post(session, cancel); a.Status != http.StatusAccepted {
			t.Errorf("cancelled: %+v", a)
		}
	}
	got := r.textOf(two, "cancelled")
	if strings.Contains(got, " ") || got == "" || got == "7" {
		t.Errorf("the process heard of cancelled requests %q, want one number of the bridge's", got)
	}
	r.textOf(two, "release")
	<-held
}

// When the process dies every session ends, and the next one has another process.
func TestSharedProcessDies(t *testing.T) {
	r := startShared(t, "plain")
	one, two := r.open(), r.open()
	before := pidsOf(t, r, one)
	held := make(chan answer, 1)
	go func() { held <- r.post(two, callWith("7", "hold", `"arguments":{}`)) }()
	eventually(t, "the call is held", func() bool { return heldCalls(t, r, one) == 1 })
	for _, a := range []answer{r.post(one, call("2", "die")), <-held} {
		if a.Status != http.StatusBadGateway || !strings.Contains(a.Body, "the server process ended: exit status 3") {
			t.Errorf("a call in flight: %+v", a)
		}
	}
	for _, session := range []string{one, two} {
		if a := r.post(session, call("3", "env")); a.Status != http.StatusNotFound {
			t.Errorf("a session of the dead process: %+v", a)
		}
	}
	if after := pidsOf(t, r, r.open()); after == before {
		t.Errorf("the process is still %v", after)
	}
}

// A session goes without the process, and the process with the bridge.
func TestSharedSessionsEnd(t *testing.T) {
	r := startShared(t, "plain")
	one, two := r.open(), r.open()
	pid := pidsOf(t, r, one)[0]
	if a := r.do(http.MethodDelete, one, ""); a.Status != http.StatusNoContent {
		t.Errorf("DELETE: %+v", a)
	}
	if a := r.post(one, call("1", "env")); a.Status != http.StatusNotFound {
		t.Errorf("after DELETE: %+v", a)
	}
	if got := pidsOf(t, r, two)[0]; got != pid || !alive(pid) {
		t.Errorf("the other session has the process %d, had %d", got, pid)
	}
	r.stop()
	if alive(pid) {
		t.Error("the process outlived the bridge")
	}
}

// A message that readers could read in two ways is refused.
func TestSharedAmbiguousMessages(t *testing.T) {
	r := startShared(t, "plain")
	session := r.open()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","ID":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1,"progressToken":2}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"env"}}`,
	} {
		if a := r.post(session, body); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %+v", body, a)
		}
	}
	if got := r.textOf(session, "env"); got != "[]" {
		t.Errorf("after all that the process is %q", got)
	}
}

func TestSharedProcessRefuses(t *testing.T) {
	r := startShared(t, "refuses")
	a := r.post("", initialize)
	if want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"not you"}}`; a.Status != 200 || a.Body != want || a.Session != "" {
		t.Errorf("got  %+v\nwant %s", a, want)
	}
}

// A diagnosis comes through, whoever started the process.
func TestSharedDiagnosis(t *testing.T) {
	r := startShared(t, "cannot-start")
	a := r.post("", initialize)
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32002,"message":"the server process ended: exit status 4; ` +
		`the last line of its standard error is \"no key like  is known\""}}`
	if a.Status != http.StatusBadGateway || a.Body != want {
		t.Errorf("got  %+v\nwant %s", a, want)
	}
}

// The requests that wait for a shared process are bounded over all sessions.
func TestSharedRequestsAreBounded(t *testing.T) {
	h := &hub{calls: map[uint64]*sharedCall{}, numbers: map[callKey]uint64{}}
	s := &session{}
	for i := range MaxSharedPending {
		if _, err := h.register(s, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.register(s, "x"); err == nil {
		t.Error("one too many was taken")
	}
	h.forget(s, "0")
	if _, err := h.register(s, "x"); err != nil {
		t.Error(err)
	}
}
