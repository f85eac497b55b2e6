package bridge

import (
	"sync"
	"time"
)

const (
	minPause      = time.Second
	maxPause      = time.Minute
	maxPauses     = 256 // credentials whose failures are remembered
	freeFailures  = 1   // a first failure may be bad luck
	pausesForgets = 10 * maxPause
)

// restarts keeps a server that cannot start from being started without pause. It tells credentials apart, as
// a bad one must not lock out the others.
type restarts struct {
	mu     sync.Mutex
	failed map[digest]failures
}

type failures struct {
	count int
	last  time.Time
	why   string
}

// pause is how long no start is to be tried, and why the last one failed.
func (r *restarts) pause(credential digest, now time.Time) (time.Duration, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.failed[credential]
	if f.count <= freeFailures {
		return 0, ""
	}
	pause := min(minPause<<min(f.count-freeFailures-1, 16), maxPause)
	return max(f.last.Add(pause).Sub(now), 0), f.why
}

// note remembers the outcome of a start; an empty why is a success.
func (r *restarts) note(credential digest, why string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why == "" {
		delete(r.failed, credential)
		return
	}
	if r.failed == nil {
		r.failed = map[digest]failures{}
	}
	if _, known := r.failed[credential]; !known && len(r.failed) >= maxPauses {
		r.makeRoom(now)
	}
	r.failed[credential] = failures{count: r.failed[credential].count + 1, last: now, why: why}
}

// makeRoom forgets what is old, and the oldest at least.
func (r *restarts) makeRoom(now time.Time) {
	var oldest digest
	since := now.Add(time.Nanosecond)
	for credential, f := range r.failed {
		if now.Sub(f.last) > pausesForgets {
			delete(r.failed, credential)
		}
		if f.last.Before(since) {
			oldest, since = credential, f.last
		}
	}
	delete(r.failed, oldest)
}
