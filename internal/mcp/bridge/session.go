package bridge

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// delivery is one message of a child on its way to a client.
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

// session is one client session and its child.
type session struct {
	id    string
	log   *slog.Logger
	env   []string
	child *child
	ready chan struct{} // closed once child is set

	mu       sync.Mutex
	pending  map[string]*receiver // by the request's id as written
	standing *receiver
	requests int
	lastUsed time.Time
	stray    int    // lines that were no messages
	first    string // the first of them, quoted
}

// start gives the session its child.
func (s *session) start(o Options) error {
	child, err := startChild(o, s.receive)
	if err != nil {
		return err
	}
	s.child = child
	close(s.ready)
	return nil
}

// receive routes one line of the child's standard output.
func (s *session) receive(line []byte) error {
	<-s.ready
	m, err := parseMessage(line)
	if err != nil {
		return s.strayLine(line)
	}
	m.raw = oneLine(m.raw)
	if m.isResponse() {
		s.mu.Lock()
		to := s.pending[m.id]
		delete(s.pending, m.id)
		s.mu.Unlock()
		if to == nil || !s.deliver(to, delivery{line: m.raw, last: true}) {
			s.log.Debug("dropped an answer that nobody waits for", "id", m.id)
		}
		return nil
	}
	if to := s.streamReceiver(); to != nil && s.deliver(to, delivery{line: m.raw}) {
		return nil
	}
	s.log.Debug("dropped a message: no stream is open", "method", m.method)
	if m.isRequest() { // or the child would wait for ever
		s.child.offer(errorMessage(m.id, codeMethodNotFound, "the client has no stream open for requests"))
	}
	return nil
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
	case <-s.child.stopping:
		select { // what is there already still fits
		case to.messages <- d:
			return true
		default:
		}
	}
	return false
}

// strayLine notes a line that is no message: a banner, a log line. A few do no harm.
func (s *session) strayLine(line []byte) error {
	s.mu.Lock()
	s.stray++
	n := s.stray
	quoted := quoteLine(line, s.env)
	if n == 1 {
		s.first = quoted
	}
	s.mu.Unlock()
	if n == 1 {
		s.log.Warn("the server writes to its standard output what is not JSON-RPC; it should log to standard error", "line", quoted)
	}
	if n > MaxStrayLines {
		return fmt.Errorf("more than %d lines on standard output are not JSON-RPC", MaxStrayLines)
	}
	return nil
}

// diagnosis explains a child's failure to a client.
func (s *session) diagnosis(what string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stray > 0 {
		what += fmt.Sprintf("; its standard output is not all JSON-RPC, the first such line is %s: an MCP server must log to standard error", s.first)
	}
	return what
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
