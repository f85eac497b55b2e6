package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// delivery is one message of a server on its way to a client.
type delivery struct {
	line []byte
	last bool // the answer to the request
}

// receiver is where messages go: a request that waits for its answer, or the session's standing stream.
type receiver struct {
	messages chan delivery
	gone     chan struct{} // closed when nobody reads any more
	streams  bool          // it can take more than the answer
	order    int
}

const receiverBuffer = 64

func newReceiver(streams bool) *receiver {
	return &receiver{messages: make(chan delivery, receiverBuffer), gone: make(chan struct{}), streams: streams}
}

// offer passes a message on, or drops it where a client does not keep up. There is always room left for the
// answer. Only one goroutine may give a receiver messages in this way.
func (r *receiver) offer(line []byte) {
	if len(r.messages) < cap(r.messages)-1 {
		r.messages <- delivery{line: line}
	}
}

// session is one client session.
type session struct {
	id      string
	log     *slog.Logger
	process *process
	// hub is where the messages of a shared process are told apart; nil when the session has its process to
	// itself.
	hub *hub
	// credential is the digest of the one that the session was opened with.
	credential digest

	ended   chan struct{} // closed when there will be no more messages
	reason  error         // why; set before ended is closed
	endOnce sync.Once

	mu       sync.Mutex
	pending  map[string]*receiver // by the request's id as written
	standing *receiver
	requests int
	lastUsed time.Time
}

func newSession(id string, log *slog.Logger, credential digest, now time.Time) *session {
	return &session{
		id: id, log: log.With("session", id[:8]), credential: credential,
		ended: make(chan struct{}), pending: map[string]*receiver{}, lastUsed: now,
	}
}

func (s *session) finish(reason error) {
	s.endOnce.Do(func() {
		s.reason = reason
		close(s.ended)
	})
}

var (
	errEnded    = errors.New("the session has ended")
	errTooMany  = errors.New("too many requests are waiting for the shared process; try again later")
	errSessions = errors.New("the session was ended to make room for others")
	errDeleted  = errors.New("the session was deleted")
)

// send passes a message of the client on. The error is errEnded when nothing takes it any more.
func (s *session) send(ctx context.Context, m message) error {
	if s.hub != nil {
		return s.hub.send(ctx, s, m)
	}
	if !s.process.child.send(oneLine(m.raw), ctx.Done()) {
		return errEnded
	}
	return nil
}

// initialize passes the first request on and waits for its answer.
func (s *session) initialize(ctx context.Context, m message) ([]byte, error) {
	if s.hub != nil {
		return s.hub.initialized(ctx, m)
	}
	to := newReceiver(false)
	if err := s.expect(m.id, to); err != nil {
		return nil, err
	}
	defer s.forget(m.id, to)
	_ = s.send(ctx, m) // if it takes no more, it is about to exit and says why
	d, err := to.next(ctx, s)
	return d.line, err
}

// next is the next message for the receiver, or why none will come.
func (r *receiver) next(ctx context.Context, s *session) (delivery, error) {
	select {
	case d := <-r.messages:
		return d, nil
	case <-ctx.Done():
		return delivery{}, ctx.Err()
	case <-s.ended:
	}
	select { // its last words
	case d := <-r.messages:
		return d, nil
	default:
		return delivery{}, s.reason
	}
}

// route sends one message of the session's own process where it belongs.
func (s *session) route(m message) {
	if m.isResponse() {
		s.mu.Lock()
		to := s.pending[m.id]
		delete(s.pending, m.id)
		s.mu.Unlock()
		if to == nil || !s.deliver(to, delivery{line: m.raw, last: true}) {
			s.log.Debug("dropped an answer that nobody waits for", "id", m.id)
		}
		return
	}
	if to := s.streamReceiver(); to != nil && s.deliver(to, delivery{line: m.raw}) {
		return
	}
	s.log.Debug("dropped a message: no stream is open", "method", m.method)
	if m.isRequest() { // or the server would wait for ever
		s.process.child.offer(errorMessage(m.id, codeMethodNotFound, "the client has no stream open for requests"))
	}
}

// streamReceiver is where a message goes that answers no request: the standing stream, else the newest
// request whose client takes a stream, since stdio does not say what a message belongs to.
func (s *session) streamReceiver() *receiver {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standing != nil {
		return s.standing
	}
	var newest *receiver
	for _, r := range s.pending {
		if r.streams && (newest == nil || r.order > newest.order) {
			newest = r
		}
	}
	return newest
}

func (s *session) deliver(to *receiver, d delivery) bool {
	select {
	case to.messages <- d:
		return true
	case <-to.gone:
	case <-s.process.child.stopping:
		select { // what is there already still fits
		case to.messages <- d:
			return true
		default:
		}
	}
	return false
}

// answer gives a waiting request its answer; it never waits.
func (s *session) answer(id string, line []byte) bool {
	s.mu.Lock()
	to := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if to == nil {
		return false
	}
	to.messages <- delivery{line: line, last: true} // offer leaves room for it, and there is only one
	return true
}

// stream is the standing stream, or the request of that id if its client takes a stream.
func (s *session) stream(id string) *receiver {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		return s.standing
	}
	if to := s.pending[id]; to != nil && to.streams {
		return to
	}
	return nil
}

// expect registers a request that is about to be sent; an error says why it cannot be.
func (s *session) expect(id string, r *receiver) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.pending) >= MaxPending:
		return fmt.Errorf("%d requests of the session are waiting already", MaxPending)
	case s.pending[id] != nil:
		return fmt.Errorf("a request with the id %s is waiting already", id)
	}
	s.requests++
	r.order = s.requests
	s.pending[id] = r
	return nil
}

// forget ends a request that nobody waits for any more.
func (s *session) forget(id string, r *receiver) {
	s.mu.Lock()
	if s.pending[id] == r {
		delete(s.pending, id)
	}
	s.mu.Unlock()
	if s.hub != nil {
		s.hub.forget(s, id)
	}
	close(r.gone)
}

// stand makes r the standing stream; false if there is one.
func (s *session) stand(r *receiver) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standing != nil {
		return false
	}
	s.standing = r
	return true
}

func (s *session) unstand(r *receiver) {
	s.mu.Lock()
	s.standing = nil
	s.mu.Unlock()
	close(r.gone)
}

func (s *session) touch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUsed = now
}

// idleSince is when the session was last used, and whether nothing is under way on it now.
func (s *session) idleSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastUsed, len(s.pending) == 0 && s.standing == nil
}
