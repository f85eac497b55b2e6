// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
)

const goodPath = "/webhooks/team-a/run/call-0123456789abcdef/" + token

// receiver notes what it is given and answers with an error, or none.
type receiver struct {
	err error

	mu         sync.Mutex
	deliveries []Delivery
}

func (r *receiver) Receive(_ context.Context, delivery Delivery) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries = append(r.deliveries, delivery)
	return r.err
}

// recorder keeps what a handler logs and counts.
type recorder struct {
	mu    sync.Mutex
	lines []string
	codes []int
}

func (r *recorder) handler(receiver Receiver) *handler {
	logger := funcr.New(func(prefix, args string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lines = append(r.lines, prefix+args)
	}, funcr.Options{Verbosity: 10})
	return newHandler(receiver, func(code int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.codes = append(r.codes, code)
	}, logger)
}

func send(t *testing.T, h http.Handler, method, path, body string, header ...string) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "https://hooks.example.com"+path, strings.NewReader(body))
	for pair := range slices.Chunk(header, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	recorded := httptest.NewRecorder()
	h.ServeHTTP(recorded, request)
	return recorded.Result()
}

// H2: what of a request becomes the answer of a call, and which requests are refused before
// anything is looked up.
func TestRequests(t *testing.T) {
	const refused = "refused"
	json := []string{"Content-Type", "application/json"}
	for name, test := range map[string]struct {
		method, path, body string
		header             []string
		code               int
		want               string
	}{
		"JSON":                      {body: `{"a": 1}`, header: json, code: 202, want: `{"a": 1}`},
		"JSON with a charset":       {body: `{}`, header: []string{"Content-Type", "application/json; charset=UTF-8"}, code: 202, want: `{}`},
		"a CloudEvent":              {body: `{}`, header: []string{"Content-Type", "application/cloudevents+json"}, code: 202, want: `{}`},
		"text":                      {body: "grüß dich", header: []string{"Content-Type", "text/plain"}, code: 202, want: "grüß dich"},
		"XML as text":               {body: "<a/>", header: []string{"Content-Type", "text/xml"}, code: 202, want: "<a/>"},
		"a form":                    {body: "a=1&b=2", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, code: 202, want: "a=1&b=2"},
		"a type in capitals":        {body: "a", header: []string{"Content-Type", "Text/Plain"}, code: 202, want: "a"},
		"lines":                     {body: "a\r\n\tb\nc", header: json, code: 202, want: "a\n\tb\nc"},
		"nothing":                   {code: 202},
		"the most":                  {body: strings.Repeat("a", 16384), header: json, code: 202, want: strings.Repeat("a", 16384)},
		"a query, which is no part": {path: goodPath + "?retry=1", body: "{}", header: json, code: 202, want: "{}"},

		"one byte more":               {body: strings.Repeat("a", 16385), header: json, code: 413, want: refused},
		"far more":                    {body: strings.Repeat("a", 1<<20), header: json, code: 413, want: refused},
		"a NUL":                       {body: "a\x00b", header: json, code: 400, want: refused},
		"an escape":                   {body: "a\x1b[2Jb", header: json, code: 400, want: refused},
		"a carriage return":           {body: "a\rb", header: json, code: 400, want: refused},
		"a DEL":                       {body: "a\x7fb", header: json, code: 400, want: refused},
		"a C1 control":                {body: "a\u009bb", header: json, code: 400, want: refused},
		"no UTF-8":                    {body: "a\xff", header: json, code: 415, want: refused},
		"no type":                     {body: "a", code: 415, want: refused},
		"a type that is none":         {body: "a", header: []string{"Content-Type", ";"}, code: 415, want: refused},
		"a picture":                   {body: "a", header: []string{"Content-Type", "image/svg+xml"}, code: 415, want: refused},
		"several parts":               {body: "a", header: []string{"Content-Type", "multipart/form-data; boundary=b"}, code: 415, want: refused},
		"Latin-1":                     {body: "a", header: []string{"Content-Type", "text/plain; charset=iso-8859-1"}, code: 415, want: refused},
		"compressed":                  {body: "a", header: append(slices.Clone(json), "Content-Encoding", "gzip"), code: 415, want: refused},
		"another path":                {path: "/", body: "{}", header: json, code: 404, want: refused},
		"a path with too little":      {path: "/webhooks/team-a/run/" + string(call), body: "{}", header: json, code: 404, want: refused},
		"a path with an escaped part": {path: "/webhooks/team-a%2Frun/" + string(call) + "/" + token, body: "{}", header: json, code: 404, want: refused},
		"GET":                         {method: "GET", code: 405, want: refused},
		"HEAD":                        {method: "HEAD", code: 405, want: refused},
		"PUT":                         {method: "PUT", body: "{}", header: json, code: 405, want: refused},
		"OPTIONS":                     {method: "OPTIONS", code: 405, want: refused},
		"GET of nothing":              {method: "GET", path: "/", code: 405, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			if test.method == "" {
				test.method = http.MethodPost
			}
			if test.path == "" {
				test.path = goodPath
			}
			var got receiver
			var seen recorder
			response := send(t, seen.handler(&got), test.method, test.path, test.body, test.header...)
			checkAnswer(t, response, test.code)
			want := []Delivery{{Namespace: "team-a", Run: "run", Call: call, Token: token, Body: test.want}}
			if test.want == refused {
				want = nil
			}
			if diff := cmp.Diff(want, got.deliveries); diff != "" {
				t.Errorf("what was received (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]int{test.code}, seen.codes); diff != "" {
				t.Errorf("what was counted (-want +got):\n%s", diff)
			}
		})
	}
}

// checkAnswer looks for the status code, and for the one sentence that goes with it.
func checkAnswer(t *testing.T, response *http.Response, code int) {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != code || string(body) != answers[code] || len(body) == 0 {
		t.Errorf("the answer is %d %q, want %d %q", response.StatusCode, body, code, answers[code])
	}
	if got := response.Header.Get("Allow"); (got == "POST") != (code == 405) {
		t.Errorf("Allow is %q", got)
	}
	if got := response.Header.Get("Retry-After"); (got != "") != (code == 503) {
		t.Errorf("Retry-After is %q", got)
	}
	if got := response.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("Content-Type is %q", got)
	}
}

// What the receiver says, and that neither the URL nor the body is in what is logged, be it
// taken, refused or an error.
func TestAnswersOfTheReceiver(t *testing.T) {
	const canary = "canary-in-the-body"
	for name, test := range map[string]struct {
		err  error
		code int
	}{
		"taken":       {nil, 202},
		"unknown":     {fmt.Errorf("wrapped: %w", ErrUnknown), 404},
		"gone":        {fmt.Errorf("wrapped: %w", ErrGone), 410},
		"too large":   {fmt.Errorf("wrapped: %w", ErrTooLarge), 413},
		"unavailable": {errors.New("connection refused"), 503},
		"timeout":     {context.DeadlineExceeded, 503},
	} {
		t.Run(name, func(t *testing.T) {
			var seen recorder
			response := send(t, seen.handler(&receiver{err: test.err}), "POST", goodPath, canary, "Content-Type", "text/plain")
			checkAnswer(t, response, test.code)
			log := strings.Join(seen.lines, "\n")
			if strings.Contains(log, token) || strings.Contains(log, canary) {
				t.Errorf("the log is %s", log)
			}
			if quiet := test.code != 202 && test.code != 503; quiet != (log == "") {
				t.Errorf("the log is %q", log)
			}
		})
	}
}

// blocked lets deliveries wait until it is opened.
type blocked struct {
	arrived chan struct{}
	open    chan struct{}
}

func (b blocked) Receive(ctx context.Context, _ Delivery) error {
	b.arrived <- struct{}{}
	select {
	case <-b.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// 64 requests are looked up at once. One more is asked to come again, and can when one is through.
func TestAtMostSixtyFourAtOnce(t *testing.T) {
	held := blocked{arrived: make(chan struct{}), open: make(chan struct{})}
	var seen recorder
	h := seen.handler(held)
	var group sync.WaitGroup
	codes := make(chan int, 64)
	for range 64 {
		group.Go(func() { codes <- send(t, h, "POST", goodPath, "").StatusCode })
		<-held.arrived
	}
	checkAnswer(t, send(t, h, "POST", goodPath, ""), 503)
	// What is refused for its form takes no place.
	checkAnswer(t, send(t, h, "POST", "/", ""), 404)
	close(held.open)
	group.Wait()
	for range 64 {
		if code := <-codes; code != 202 {
			t.Errorf("one was answered with %d", code)
		}
	}
	group.Go(func() { <-held.arrived })
	checkAnswer(t, send(t, h, "POST", goodPath, ""), 202)
	group.Wait()
}
