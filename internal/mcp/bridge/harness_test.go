package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// running is a bridge under test.
type running struct {
	t    *testing.T
	base string
	log  *safeBuffer
	stop func()
}

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func start(t *testing.T, o Options) *running {
	t.Helper()
	r := &running{t: t, log: &safeBuffer{}}
	ctx, cancel := context.WithCancel(context.Background())
	bound, ended := make(chan net.Addr, 1), make(chan error, 1)
	o.OnListen = func(a net.Addr) { bound <- a }
	o.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	go func() { ended <- Serve(ctx, o) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the bridge: %v", err)
		}
	})
	t.Cleanup(r.stop)
	select {
	case a := <-bound:
		r.base = "http://" + a.String()
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return r
}

// answer is one HTTP response, read to its end.
type answer struct {
	Status  int
	Type    string
	Session string
	Body    string
}

func (r *running) do(method, session, body string, change ...func(*http.Request)) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+"/mcp", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	for _, c := range change {
		c(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Mcp-Session-Id"), string(data)}
}

func (r *running) post(session, body string) answer {
	r.t.Helper()
	return r.do(http.MethodPost, session, body)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (r *running) open() string {
	r.t.Helper()
	a := r.post("", initialize)
	if a.Status != 200 || a.Session == "" {
		r.t.Fatalf("initialize: %+v", a)
	}
	return a.Session
}

func call(id, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q}}`, id, tool)
}

// textOf is the text of the only content block.
func (r *running) textOf(session, tool string) string {
	r.t.Helper()
	var m struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	a := r.post(session, call(`"t"`, tool))
	if json.Unmarshal([]byte(a.Body), &m) != nil || len(m.Result.Content) != 1 {
		r.t.Fatalf("%s: %+v", tool, a)
	}
	return m.Result.Content[0].Text
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		case <-tick.C:
		}
	}
}
