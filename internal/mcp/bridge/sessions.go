package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// sessions are the live sessions of a bridge.
type sessions struct {
	options  Options
	restarts restarts

	mu       sync.Mutex
	byID     map[string]*session
	hub      *hub         // of the shared process, while there is one
	children map[int]bool // by pid, until they are gone; a session may end before its child
	closed   bool
	gone     sync.WaitGroup
}

var (
	errFull   = errors.New("all sessions are busy; try again later")
	errClosed = errors.New("the bridge is shutting down")
)

// pausedError says that a server which fails again and again is not started yet.
type pausedError struct {
	wait time.Duration
	why  string
}

// Error does not say for how long, so that it stays the same.
func (e *pausedError) Error() string {
	return "the server cannot start, and is tried again after a pause: " + e.why
}

func newSessions(o Options) *sessions {
	return &sessions{options: o, byID: map[string]*session{}, children: map[int]bool{}}
}

// find is the session with that id, if it was opened with that credential.
func (ss *sessions) find(id string, credential digest) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.byID[id]
	if s == nil || s.credential != credential {
		return nil
	}
	s.touch(time.Now())
	return s
}

// open starts a session, and the process that it needs. When there is no room it ends the session that has
// been idle for longest: clients that went away without a word must not lock out those that come.
func (ss *sessions) open(token string, credential digest) (*session, error) {
	now := time.Now()
	if wait, why := ss.restarts.pause(credential, now); wait > 0 {
		return nil, &pausedError{wait, why}
	}
	s := newSession(rand.Text(), ss.options.Logger, credential, now)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if err := ss.makeRoomLocked(); err != nil {
		return nil, err
	}
	// Starting under the lock keeps the number of children within the bound.
	start := ss.ownProcessLocked
	if ss.options.Shared {
		start = ss.sharedProcessLocked
	}
	if err := start(s, token); err != nil {
		return nil, err
	}
	ss.byID[s.id] = s
	s.log.Info("session started", "pid", s.process.child.pid)
	return s, nil
}

// ownProcessLocked starts a process for one session, with its credential.
func (ss *sessions) ownProcessLocked(s *session, token string) (err error) {
	env := ss.options.Env
	if ss.options.CredentialEnv != "" {
		env = append(slices.Clone(env), ss.options.CredentialEnv+"="+token)
	}
	if s.process, err = startProcess(ss.options, env, s.log, func(m message) { s.route(m) }); err != nil {
		return err
	}
	ss.watchLocked(s.process, func(reason error) {
		ss.end(s, reason)
		s.finish(reason)
	})
	return nil
}

// sharedProcessLocked gives the session the process of all, and starts that if there is none that goes on.
func (ss *sessions) sharedProcessLocked(s *session, _ string) error {
	if ss.hub == nil || ss.hub.process.child.isStopping() {
		hub, err := startHub(ss.options)
		if err != nil {
			return err
		}
		ss.hub = hub
		ss.watchLocked(hub.process, func(reason error) { ss.endHub(hub, reason) })
		go func() { ss.noteStart(digest{}, hub.begin()) }()
	}
	s.hub, s.process = ss.hub, ss.hub.process
	s.hub.join(s)
	return nil
}

func (ss *sessions) noteStart(credential digest, err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	ss.restarts.note(credential, why, time.Now())
}

// watchLocked waits for the end of a process.
func (ss *sessions) watchLocked(p *process, ended func(reason error)) {
	ss.children[p.child.pid] = true
	ss.gone.Go(func() {
		<-p.child.exited
		ended(p.child.reason)
		ss.mu.Lock()
		delete(ss.children, p.child.pid)
		ss.mu.Unlock()
		p.logEnd()
	})
}

// endHub ends every session of a shared process that is gone. The next one starts another.
func (ss *sessions) endHub(h *hub, reason error) {
	ss.mu.Lock()
	if ss.hub == h {
		ss.hub = nil
	}
	var over []*session
	for id, s := range ss.byID {
		if s.hub == h {
			over = append(over, s)
			delete(ss.byID, id)
		}
	}
	ss.mu.Unlock()
	for _, s := range over {
		s.finish(reason)
	}
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
	ss.endLocked(oldest, errSessions)
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

// end forgets the session and, if it has a process to itself, stops that. From here on its id is unknown.
func (ss *sessions) end(s *session, reason error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.endLocked(s, reason)
}

func (ss *sessions) endLocked(s *session, reason error) {
	if ss.byID[s.id] == s {
		delete(ss.byID, s.id)
	}
	if s.hub == nil {
		s.process.child.stop() // and when it is gone the session has ended
		return
	}
	s.hub.leave(s)
	s.finish(reason)
}

// endAll ends every session and waits until the children are gone.
func (ss *sessions) endAll() {
	ss.mu.Lock()
	ss.closed = true
	for _, s := range ss.byID {
		s.process.child.stop()
	}
	if ss.hub != nil {
		ss.hub.process.child.stop()
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
	for _, s := range ss.byID {
		if used, idle := s.idleSince(); idle && now.Sub(used) >= ss.options.IdleTimeout {
			ss.endLocked(s, fmt.Errorf("the session was not used for %s", ss.options.IdleTimeout))
		}
	}
}

// groups are the process groups of the children that are not gone, by their leaders.
func (ss *sessions) groups() map[int]bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return maps.Clone(ss.children)
}
