package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hub lets many client sessions share one server process. It tells their messages apart by numbers of its
// own, which it puts in the place of the clients' request ids and progress tokens, and changes nothing else.
//
// The hub itself makes the handshake with the process, as a client without capabilities, and every client
// gets the answer to that. So the process has no reason to ask clients for anything: a ping is answered here,
// and any other request is refused. Of its notifications, progress goes to the client whose request it is
// about and what says that a list has changed to every client with a standing stream. All others are dropped,
// as they may tell one client about another's requests.
type hub struct {
	process *process
	log     *slog.Logger
	timeout time.Duration

	begun  chan struct{} // closed when the handshake has ended, either way
	answer []byte        // the answer to initialize; may be an error
	err    error         // why there is none

	mu      sync.Mutex
	last    uint64
	calls   map[uint64]*sharedCall
	numbers map[callKey]uint64
	members map[*session]bool
}

// sharedCall is a request of a client that the process has not answered.
type sharedCall struct {
	callKey
	token []byte // the client's progress token, nil for none
}

type callKey struct {
	session *session
	id      string
}

// handshake is the number of the hub's own request.
const handshake = 0

const initializeShared = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"remit-bridge","version":"1"}}}`

// startHub starts the shared process and the handshake with it.
func startHub(o Options) (*hub, error) {
	h := &hub{
		log: o.Logger, timeout: o.StartTimeout, begun: make(chan struct{}),
		calls: map[uint64]*sharedCall{}, numbers: map[callKey]uint64{}, members: map[*session]bool{},
	}
	process, err := startProcess(o, o.Env, o.Logger, h.receive)
	if err != nil {
		return nil, err
	}
	h.process = process
	return h, nil
}

// begin makes the handshake, and gives why it failed.
func (h *hub) begin() error {
	s := newSession("handshake", h.log, digest{}, time.Time{})
	to := newReceiver(false)
	s.pending[""] = to
	h.mu.Lock()
	h.calls[handshake] = &sharedCall{callKey: callKey{session: s}}
	h.mu.Unlock()
	defer close(h.begun)
	limit := time.NewTimer(h.timeout)
	defer limit.Stop()

	h.process.child.send([]byte(initializeShared), nil) // if it takes no more, it is about to exit
	select {
	case d := <-to.messages:
		h.answer = d.line
	case <-h.process.child.exited:
		h.err = h.process.child.reason
	case <-limit.C:
		h.err = fmt.Errorf("the server process did not answer initialize within %s", h.timeout)
	}
	if h.err == nil && !isError(h.answer) {
		h.process.child.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), nil)
		return nil
	}
	h.process.child.stop()
	if h.err == nil {
		h.err = errors.New("the server process refused to initialize")
		return h.err
	}
	h.err = errors.New(h.process.diagnosis(h.err.Error()))
	return h.err
}

// initialized is the answer to a client's initialize: the one that the process gave the hub.
func (h *hub) initialized(ctx context.Context, m message) ([]byte, error) {
	select {
	case <-h.begun: // also soon after the process is gone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if h.answer == nil {
		return nil, h.err
	}
	answer, _, err := replace(h.answer, []byte(m.id), "id")
	return answer, err
}

func (h *hub) join(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.members[s] = true
}

func (h *hub) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.members, s)
}

// send passes a client's message on under a number of the hub's.
func (h *hub) send(ctx context.Context, s *session, m message) error {
	line := oneLine(m.raw)
	switch {
	case m.isRequest():
		number, err := h.register(s, m.id)
		if err != nil {
			return err
		}
		if line, err = h.numbered(line, number); err != nil {
			h.forget(s, m.id)
			return err
		}
	case m.method == "notifications/cancelled":
		var err error
		if line, err = h.cancellation(s, line); err != nil || line == nil {
			return err
		}
	default:
		// The hub has said initialized, has asked nothing, and has no roots that could change.
		return nil
	}
	if !h.process.child.send(line, ctx.Done()) {
		return errEnded
	}
	return nil
}

func (h *hub) register(s *session, id string) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.calls) >= MaxSharedPending {
		return 0, errTooMany
	}
	h.last++
	key := callKey{s, id}
	h.calls[h.last] = &sharedCall{callKey: key}
	h.numbers[key] = h.last
	return h.last, nil
}

// numbered is a request with the number as its id, and as its progress token if it has one.
func (h *hub) numbered(line []byte, number uint64) ([]byte, error) {
	text := strconv.AppendUint(nil, number, 10)
	line, was, err := replace(line, text, "id")
	if err != nil {
		return nil, err
	}
	if was == nil {
		return nil, errNotRPC // an id under another spelling, which only some readers see
	}
	line, token, err := replace(line, text, "params", "_meta", "progressToken")
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.calls[number]; c != nil {
		c.token = token
	}
	return line, nil
}

// cancellation is a client's cancellation with the number of its request; nil when there is no such request.
func (h *hub) cancellation(s *session, line []byte) ([]byte, error) {
	start, end, found, err := member(line, "params", "requestId")
	if err != nil || !found {
		return nil, err
	}
	h.mu.Lock()
	number, ok := h.numbers[callKey{s, string(line[start:end])}]
	h.mu.Unlock()
	if !ok {
		return nil, nil
	}
	line, _, err = replace(line, strconv.AppendUint(nil, number, 10), "params", "requestId")
	return line, err
}

// forget drops a request that nobody waits for any more. Its answer, if there is one, goes nowhere.
func (h *hub) forget(s *session, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := callKey{s, id}
	if number, ok := h.numbers[key]; ok {
		delete(h.numbers, key)
		delete(h.calls, number)
	}
}

// receive takes one message of the process.
func (h *hub) receive(m message) {
	switch {
	case m.isResponse():
		h.pass(m)
	case m.isRequest() && m.method == "ping":
		h.process.child.offer([]byte(`{"jsonrpc":"2.0","id":` + m.id + `,"result":{}}`))
	case m.isRequest():
		h.process.child.offer(errorMessage(m.id, codeMethodNotFound, "a process that clients share cannot ask them for anything"))
	case m.method == "notifications/progress":
		h.progress(m)
	case strings.HasPrefix(m.method, "notifications/") && strings.HasSuffix(m.method, "/list_changed"):
		h.broadcast(m.raw)
	default:
		h.log.Debug("dropped a notification that is for no client in particular", "method", m.method)
	}
}

// pass gives an answer to the client that waits for it.
func (h *hub) pass(m message) {
	c := h.take(m.id)
	if c == nil {
		h.log.Debug("dropped an answer that nobody waits for", "id", m.id)
		return
	}
	line := m.raw
	if c.id != "" { // not the hub's own
		var err error
		if line, _, err = replace(line, []byte(c.id), "id"); err != nil {
			line = errorMessage(c.id, codeChildFailed, "the server's answer cannot be read: "+err.Error())
		}
	}
	c.session.answer(c.id, line)
}

func (h *hub) take(id string) *sharedCall {
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.calls[number]
	if c != nil {
		delete(h.calls, number)
		delete(h.numbers, c.callKey)
	}
	return c
}

// progress passes a notification on to the client of the request, with that client's token.
func (h *hub) progress(m message) {
	var notification struct {
		Params struct {
			Token uint64 `json:"progressToken"`
		} `json:"params"`
	}
	if json.Unmarshal(m.raw, &notification) != nil {
		return
	}
	h.mu.Lock()
	c := h.calls[notification.Params.Token]
	h.mu.Unlock()
	if c == nil || c.token == nil {
		return
	}
	line, was, err := replace(m.raw, c.token, "params", "progressToken")
	if err != nil || was == nil {
		return
	}
	if to := c.session.stream(c.id); to != nil {
		to.offer(line)
	}
}

// broadcast tells every client that has a standing stream.
func (h *hub) broadcast(line []byte) {
	h.mu.Lock()
	members := make([]*session, 0, len(h.members))
	for s := range h.members {
		members = append(members, s)
	}
	h.mu.Unlock()
	for _, s := range members {
		if to := s.stream(""); to != nil {
			to.offer(line)
		}
	}
}
