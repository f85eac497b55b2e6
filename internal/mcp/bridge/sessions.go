package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"sync"
	"time"
)

// sessions are the live sessions of a bridge.
type sessions struct {
	options Options

	mu       sync.Mutex
	byID     map[string]*session
	children map[int]bool // by pid, until they are gone; a session may end before its child
	closed   bool
	gone     sync.WaitGroup
}

var (
	errFull   = errors.New("all sessions are busy; try again later")
	errClosed = errors.New("the bridge is shutting down")
)

func newSessions(o Options) *sessions {
	return &sessions{options: o, byID: map[string]*session{}, children: map[int]bool{}}
}

func (ss *sessions) find(id string) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.byID[id]
	if s != nil {
		s.touch(time.Now())
	}
	return s
}

// open starts a session and its child. When there is no room it ends the session that has been idle for
// longest: clients that went away without a word must not lock out those that come.
func (ss *sessions) open() (*session, error) {
	id := rand.Text()
	s := &session{
		id: id, log: ss.options.Logger.With("session", id[:8]), env: ss.options.Env,
		ready: make(chan struct{}), pending: map[string]*receiver{}, lastUsed: time.Now(),
	}
	ss.mu.Lock()
	if err := ss.makeRoomLocked(); err != nil {
		ss.mu.Unlock()
		return nil, err
	}
	// Starting under the lock keeps the number of children within the bound.
	if err := s.start(ss.options); err != nil {
		ss.mu.Unlock()
		return nil, err
	}
	ss.byID[id] = s
	ss.children[s.child.pid] = true
	ss.gone.Add(1)
	ss.mu.Unlock()
	s.log.Info("session started", "pid", s.child.pid)
	go ss.watch(s)
	return s, nil
}

// watch waits for the end of the session's child.
func (ss *sessions) watch(s *session) {
	defer ss.gone.Done()
	<-s.child.exited
	ss.end(s)
	ss.mu.Lock()
	delete(ss.children, s.child.pid)
	ss.mu.Unlock()
	s.log.Info("session ended", "reason", s.child.reason.Error())
}

// makeRoomLocked ends a session if there must not be another one. Children on their way out count too, or a
// storm of sessions would be one of processes.
func (ss *sessions) makeRoomLocked() error {
	switch {
	case ss.closed:
		return errClosed
	case len(ss.children) >= 2*ss.options.MaxSessions:
		return errFull
	case len(ss.byID) < ss.options.MaxSessions:
		return nil
	}
	oldest := ss.oldestIdleLocked()
	if oldest == nil {
		return errFull
	}
	delete(ss.byID, oldest.id)
	oldest.child.stop()
	return nil
}

func (ss *sessions) oldestIdleLocked() *session {
	var oldest *session
	var since time.Time
	for _, s := range ss.byID {
		if used, idle := s.idleSince(); idle && (oldest == nil || used.Before(since)) {
			oldest, since = s, used
		}
	}
	return oldest
}

// end forgets the session and stops its child. From here on its id is unknown.
func (ss *sessions) end(s *session) {
	ss.mu.Lock()
	if ss.byID[s.id] == s {
		delete(ss.byID, s.id)
	}
	ss.mu.Unlock()
	s.child.stop()
}

// endAll ends every session and waits until the children are gone.
func (ss *sessions) endAll() {
	ss.mu.Lock()
	ss.closed = true
	for _, s := range ss.byID {
		s.child.stop()
	}
	ss.mu.Unlock()
	ss.gone.Wait()
}

// sweepUntil ends idle sessions until ctx does.
func (ss *sessions) sweepUntil(ctx context.Context) {
	tick := time.NewTicker(max(ss.options.IdleTimeout/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			ss.sweep(now)
		}
	}
}

func (ss *sessions) sweep(now time.Time) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for id, s := range ss.byID {
		if used, idle := s.idleSince(); idle && now.Sub(used) >= ss.options.IdleTimeout {
			delete(ss.byID, id)
			s.child.stop()
		}
	}
}

// groups are the process groups of the children that are not gone, by their leaders.
func (ss *sessions) groups() map[int]bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return maps.Clone(ss.children)
}
