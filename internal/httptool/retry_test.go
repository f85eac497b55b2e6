// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/pipeline"
)

const ms = time.Millisecond

// B7, P7, A12: how often a call is made, with which pauses, and how it ends.
func TestRetries(t *testing.T) {
	busy, limited := reply(503, "", ""), reply(429, "Retry-After: 3\r\n", "")
	for name, test := range map[string]struct {
		attempts   int32
		idempotent bool
		answers    []string
		requests   int
		pauses     []time.Duration
		err        v1alpha1.ErrorKind
		content    string
	}{
		"success is not repeated":     {5, true, []string{ok("a"), ok("b")}, 1, nil, "", "a"},
		"503, then success":           {3, true, []string{busy, ok("b")}, 2, []time.Duration{250 * ms}, "", "b"},
		"502":                         {2, true, []string{reply(502, "", "")}, 2, []time.Duration{250 * ms}, v1alpha1.ErrorTool, "After 2 attempts: HTTP 502 Bad Gateway"},
		"504":                         {2, true, []string{reply(504, "", ""), ok("b")}, 2, []time.Duration{250 * ms}, "", "b"},
		"doubling, at most 2 s":       {5, true, []string{busy}, 5, []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms}, v1alpha1.ErrorTool, "After 5 attempts: HTTP 503"},
		"Retry-After in seconds":      {2, true, []string{limited, ok("b")}, 2, []time.Duration{3 * time.Second}, "", "b"},
		"Retry-After as a date":       {2, true, []string{reply(503, "Retry-After: Tue, 01 Jan 2030 00:00:04 GMT\r\n", ""), ok("b")}, 2, []time.Duration{4 * time.Second}, "", "b"},
		"Retry-After in the past":     {2, true, []string{reply(503, "Retry-After: Mon, 31 Dec 2029 00:00:00 GMT\r\n", ""), ok("b")}, 2, []time.Duration{250 * ms}, "", "b"},
		"Retry-After that is neither": {2, true, []string{reply(503, "Retry-After: -1\r\n", ""), ok("b")}, 2, []time.Duration{250 * ms}, "", "b"},
		"10 s in all":                 {5, true, []string{limited}, 4, []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}, v1alpha1.ErrorTool, "After 4 attempts: HTTP 429"},
		"a Retry-After beyond that":   {5, true, []string{reply(429, "Retry-After: 11\r\n", "")}, 1, nil, v1alpha1.ErrorTool, "HTTP 429"},
		"far beyond that":             {5, true, []string{busy, reply(429, "Retry-After: 99999999999999999999\r\n", "")}, 2, []time.Duration{250 * ms}, v1alpha1.ErrorTool, "After 2 attempts: HTTP 429"},
		"a date far beyond that":      {5, true, []string{busy, reply(429, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "")}, 2, []time.Duration{250 * ms}, v1alpha1.ErrorTool, "After 2 attempts: HTTP 429"},
		"a broken connection":         {2, true, []string{hangUp, ok("b")}, 2, []time.Duration{250 * ms}, "", "b"},
		"an answer that breaks off":   {2, true, []string{"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nConnection: close\r\n\r\nab", ok("b")}, 2, []time.Duration{250 * ms}, "", "b"},
		"500 is the tool's own":       {3, true, []string{reply(500, "", "")}, 1, nil, v1alpha1.ErrorTool, "HTTP 500 Internal Server Error"},
		"404 too":                     {3, true, []string{reply(404, "", "")}, 1, nil, v1alpha1.ErrorTool, "HTTP 404 Not Found"},
		"one attempt":                 {1, true, []string{busy}, 1, nil, v1alpha1.ErrorTool, "HTTP 503"},
		"not idempotent":              {5, false, []string{busy}, 1, nil, v1alpha1.ErrorTool, "HTTP 503"},
		"not idempotent, limited":     {5, false, []string{limited}, 1, nil, v1alpha1.ErrorTool, "HTTP 429"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, test.answers...)
			made := newSetting(s, "POST", "/")
			made.tool.Attempts = test.attempts
			outcome := made.call(t, test.idempotent, `{}`)
			if outcome.Error != test.err || !strings.HasPrefix(outcome.Content, test.content) {
				t.Errorf("outcome %+v, want %q and %q", outcome, test.err, test.content)
			}
			requests := s.got()
			if len(requests) != test.requests {
				t.Errorf("%d requests, want %d", len(requests), test.requests)
			}
			for _, request := range requests { // P28: the same key each time
				if got := readWire(t, request).Headers["Idempotency-Key"]; !cmp.Equal(got, []string{key}) {
					t.Errorf("key %v", got)
				}
			}
			if diff := cmp.Diff(test.pauses, made.pauses); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
		})
	}
}

// P7: jitter takes up to half of a pause away, and nothing of a Retry-After.
func TestJitter(t *testing.T) {
	for jitter, want := range map[float64][]time.Duration{
		0:    {125 * ms, 250 * ms, 500 * ms, time.Second},
		0.5:  {187500 * time.Microsecond, 375 * ms, 750 * ms, 1500 * ms},
		0.75: {218750 * time.Microsecond, 437500 * time.Microsecond, 875 * ms, 1750 * ms},
	} {
		made := newSetting(serve(t, reply(503, "", "")), "GET", "/")
		made.tool.Attempts, made.jitter = 5, func() float64 { return jitter }
		made.call(t, true, `{}`)
		if diff := cmp.Diff(want, made.pauses); diff != "" {
			t.Errorf("jitter %v (-want +got):\n%s", jitter, diff)
		}
	}
}

func TestAPauseEndsWithTheCall(t *testing.T) {
	s := serve(t, reply(503, "", ""))
	made := newSetting(s, "GET", "/")
	made.tool.Attempts = 3
	made.sleep = func(context.Context, time.Duration) error { return context.Canceled }
	if outcome := made.call(t, true, `{}`); outcome.Error != v1alpha1.ErrorCancelled || len(s.got()) != 1 {
		t.Errorf("outcome %+v after %d requests", outcome, len(s.got()))
	}
}

// E12: what is known of a call whose answer does not come.
func TestNoAnswer(t *testing.T) {
	t.Run("nothing listens", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		_ = listener.Close()
		made := newSetting(&server{port: port}, "POST", "/")
		made.tool.Attempts = 2
		for _, idempotent := range []bool{true, false} {
			if outcome := made.call(t, idempotent, `{}`); outcome.Error != v1alpha1.ErrorServerUnavailable {
				t.Errorf("idempotent %t: %+v", idempotent, outcome)
			}
		}
		if len(made.pauses) != 1 { // the idempotent one is tried twice
			t.Errorf("pauses %v", made.pauses)
		}
	})
	for name, test := range map[string]struct {
		answer             string
		idempotent, effect v1alpha1.ErrorKind
	}{
		"the connection breaks": {hangUp, v1alpha1.ErrorServerUnavailable, v1alpha1.ErrorOutcomeUnknown},
		"garbage":               {"no HTTP\r\nConnection: close\r\n\r\n", v1alpha1.ErrorServerUnavailable, v1alpha1.ErrorOutcomeUnknown},
		"two lengths":           {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", v1alpha1.ErrorServerUnavailable, v1alpha1.ErrorOutcomeUnknown},
		"502 of a gateway":      {reply(502, "", ""), v1alpha1.ErrorTool, v1alpha1.ErrorOutcomeUnknown},
		"504 of a gateway":      {reply(504, "", ""), v1alpha1.ErrorTool, v1alpha1.ErrorOutcomeUnknown},
		"silence":               {silence, v1alpha1.ErrorTimeout, v1alpha1.ErrorOutcomeUnknown},
		"the head alone": {
			"HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nConnection: close\r\n\r\nab",
			v1alpha1.ErrorBadResult, v1alpha1.ErrorBadResult,
		},
	} {
		for idempotent, want := range map[bool]v1alpha1.ErrorKind{true: test.idempotent, false: test.effect} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, test.answer)
				made := newSetting(s, "POST", "/")
				if test.answer == silence {
					made.tool.Timeout = metav1.Duration{Duration: 50 * ms}
				}
				if outcome := made.call(t, idempotent, `{}`); outcome.Error != want {
					t.Errorf("idempotent %t: %+v, want %s", idempotent, outcome, want)
				}
				if n := len(s.got()); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// E12, P28: http.Transport repeats requests by itself on a connection that breaks, for the
// method or for an Idempotency-Key. A call with an effect is sent once all the same.
func TestNothingIsSentTwice(t *testing.T) {
	for _, method := range []v1alpha1.HTTPMethod{"GET", "HEAD", "POST", "DELETE"} {
		t.Run(string(method), func(t *testing.T) {
			s := serve(t, reply(204, "", ""), hangUp, ok("again"))
			made := newSetting(s, method, "/")
			made.tool.HTTP.Headers = map[string]string{"X-Idempotency-Key": "{k}"}
			tool := made.executor(t) // one executor, so that the second call finds the connection of the first
			var outcomes []engine.Outcome
			for range 2 {
				outcomes = append(outcomes, tool.Execute(t.Context(), pipeline.Invocation{Arguments: []byte(`{"k": "1"}`), IdempotencyKey: key}).Outcome)
			}
			if outcomes[0].Error != "" || outcomes[1].Error != v1alpha1.ErrorOutcomeUnknown {
				t.Errorf("outcomes %+v", outcomes)
			}
			requests := s.got()
			if len(requests) != 2 {
				t.Errorf("%d requests, want 2", len(requests))
			}
			for _, request := range requests {
				got := readWire(t, request)
				if !cmp.Equal(got.Headers["Idempotency-Key"], []string{key}) || !cmp.Equal(got.Headers["X-Idempotency-Key"], []string{"1"}) || got.Body != "" {
					t.Errorf("request %q", request)
				}
			}
		})
	}
}

func TestACallThatIsGivenUp(t *testing.T) {
	for idempotent, want := range map[bool]v1alpha1.ErrorKind{true: v1alpha1.ErrorCancelled, false: v1alpha1.ErrorOutcomeUnknown} {
		s := serve(t, silence)
		tool := newSetting(s, "POST", "/").executor(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan engine.Outcome, 1)
		go func() {
			ended <- tool.Execute(ctx, pipeline.Invocation{Arguments: []byte(`{}`), IdempotencyKey: key, Idempotent: idempotent}).Outcome
		}()
		waitFor(t, func() bool { return len(s.got()) == 1 })
		cancel()
		if outcome := <-ended; outcome.Error != want {
			t.Errorf("idempotent %t: %+v, want %s", idempotent, outcome, want)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	outcome := newSetting(serve(t, ok("x")), "POST", "/").executor(t).Execute(done, pipeline.Invocation{Arguments: []byte(`{}`)})
	if outcome.Error != v1alpha1.ErrorCancelled {
		t.Errorf("before the start: %+v", outcome)
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !condition() {
		if sleep(ctx, ms) != nil {
			t.Fatal("the condition did not come about")
		}
	}
}
