package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Expected values follow WHATWG HTML, 9.2.6 "Interpreting an event stream".
func TestEventReader(t *testing.T) {
	for _, row := range []struct {
		name   string
		stream string
		want   []event
		end    error
	}{
		{"one", "data: a\n\n", []event{{data: []byte("a")}}, io.EOF},
		{"no space", "data:a\n\n", []event{{data: []byte("a")}}, io.EOF},
		{"only one space is dropped", "data:  a \n\n", []event{{data: []byte(" a ")}}, io.EOF},
		{"CRLF", "data: a\r\nid: 1\r\n\r\n", []event{{data: []byte("a"), id: "1"}}, io.EOF},
		{"lines joined", "data: a\ndata: b\ndata:\n\n", []event{{data: []byte("a\nb\n")}}, io.EOF},
		{"field without colon", "data\n\n", []event{{data: []byte{}}}, io.EOF},
		{"comments and blank lines", ":\n\n\n: x\ndata: a\n\n", []event{{}, {data: []byte("a")}}, io.EOF},
		{"all fields", "event: message\nid: 7\nretry: 10\nother: x\ndata: a\n\n",
			[]event{{name: "message", id: "7", retry: 10, data: []byte("a")}}, io.EOF},
		{"retry is clamped", "retry: 99999999\n\nretry: x\n\n", []event{{retry: maxRetryMillis}, {}}, io.EOF},
		{"id with NUL is ignored", "id: a\x00b\n\n", []event{{}}, io.EOF},
		{"incomplete", "data: a\n\ndata: b", []event{{data: []byte("a")}, {data: []byte("b")}}, io.EOF},
		{"too long", "data: " + strings.Repeat("x", 64) + "\n\n", nil, errTooLarge},
		{"too long in pieces", strings.Repeat("data: xxxxxxxxxx\n", 8), nil, errTooLarge},
		{"too long without end", strings.Repeat("x", 64), nil, errTooLarge},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newEventReader(strings.NewReader(row.stream), 60)
			var got []event
			for {
				ev, err := r.next()
				if err == nil || (errors.Is(err, io.EOF) && len(ev.data) > 0) {
					got = append(got, ev)
				}
				if err != nil {
					if !errors.Is(err, row.end) {
						t.Errorf("ended with %v, want %v", err, row.end)
					}
					break
				}
			}
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(event{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// However small its events, a stream has an end.
func TestEventReaderBoundsTheStream(t *testing.T) {
	r := newEventReader(endless("data: x\n\n"), 1<<10)
	for {
		if _, err := r.next(); err != nil {
			if !errors.Is(err, errTooLarge) {
				t.Errorf("ended with %v", err)
			}
			return
		}
	}
}

type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}
