package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// streamBody is the body of a streamed answer as the SDK reads it. Of the server's events it lets pass
// the ids, which resume the stream, and the server's requests, which the SDK declines; the answer to the
// call is recorded and replaced by its stand-in. Notifications and everything malformed stay behind.
type streamBody struct {
	ex     *exchange
	call   *jsonrpc.Request
	body   *boundBody
	events *eventReader

	pending  []byte
	messages int
	done     bool
}

func newStreamBody(ex *exchange, call *jsonrpc.Request, body *boundBody) *streamBody {
	return &streamBody{ex: ex, call: call, body: body, events: newEventReader(body, ex.limit)}
}

// Read implements [io.Reader].
func (s *streamBody) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.done {
			return s.drain(p)
		}
		ev, err := s.events.next()
		switch {
		case err == nil, errors.Is(err, io.EOF) && json.Valid(ev.data):
			s.pending = s.pass(ev)
		case errors.Is(err, errTooLarge):
			s.ex.failed(faultTooLarge, err.Error(), nil)
			s.pending = s.finish(event{})
		default:
			s.ex.failed(faultTransport, "", err)
			return 0, err
		}
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// pass returns what the SDK gets to see of an event.
func (s *streamBody) pass(ev event) []byte {
	shown := event{id: ev.id, retry: ev.retry}
	if len(ev.data) == 0 || (ev.name != "" && ev.name != "message") {
		return encodeEvent(shown)
	}
	if s.messages++; s.messages > maxStreamMessages {
		s.ex.failed(faultTooLarge, "the answer's stream holds too many messages", nil)
		return s.finish(shown)
	}
	var message struct {
		ID     any             `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if err := json.Unmarshal(ev.data, &message); err != nil {
		s.ex.failed(faultGarbage, "the server's stream holds an event that is not JSON-RPC: "+err.Error(), nil)
		return s.finish(shown)
	}
	switch {
	case message.Method == nil:
		if id, err := jsonrpc.MakeID(message.ID); err == nil && id.IsValid() && id != s.call.ID {
			return encodeEvent(shown) // a response to nothing that is asked here
		}
		recordAnswer(s.ex, s.call, ev.data)
		return s.finish(shown)
	case message.ID != nil:
		shown.data = serverRequest(ev.data)
	}
	return encodeEvent(shown)
}

// serverRequest puts a server's request on one line, if the SDK will be able to read it.
func serverRequest(data []byte) []byte {
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return nil
	}
	if _, err := jsonrpc.DecodeMessage(line.Bytes()); err != nil {
		return nil
	}
	return line.Bytes()
}

// finish ends the call with what the exchange has recorded.
func (s *streamBody) finish(shown event) []byte {
	s.done = true
	s.body.linger()
	shown.data = standIn(s.call, s.ex.outcome())
	return encodeEvent(shown)
}

// drain reads on to the end of the stream, so that its connection can be used again, and shows nothing of it.
func (s *streamBody) drain(p []byte) (int, error) {
	n, err := s.events.lines.Read(p)
	s.events.left -= int64(n)
	if err == nil && s.events.left < 0 {
		err = io.EOF
	}
	return 0, err
}

// Close implements [io.Closer].
func (s *streamBody) Close() error { return s.body.Close() }
