package bridge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"
)

// localWait is how long a connection waits for a server that nobody has set yet, as after a restart.
const localWait = 15 * time.Second

// Local runs bridges within this process, for a machine without a kubelet. Nothing listens: a bridge is
// reached through memory by whoever holds the Transport, and by no other process or user of the machine. It is
// safe for concurrent use.
type Local struct {
	// Transport reaches a bridge by the host and port under which it was set.
	Transport *http.Transport

	log  *slog.Logger
	ends context.CancelFunc

	mu      sync.Mutex
	servers map[string]*localServer
	running map[*localServer]bool // those that were ended and have processes still, too
	changed chan struct{}         // closed, and another, when a server was set
	gone    sync.WaitGroup
}

type localServer struct {
	options  Options
	listener *memoryListener
	sessions *sessions
	stop     context.CancelFunc
}

// NewLocal makes a Local without servers. Their logs, and what they write to standard error, go to log.
func NewLocal(log *slog.Logger) *Local {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Local{log: log, ends: cancel, servers: map[string]*localServer{}, running: map[*localServer]bool{}, changed: make(chan struct{})}
	l.Transport = &http.Transport{
		DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return l.dial(ctx, address) },
		MaxIdleConnsPerHost: DefaultMaxSessions,
		IdleConnTimeout:     time.Minute,
	}
	go reapOrphans(ctx, l.groups)
	return l
}

// Set sees to it that the server with that address, HOST:PORT, is run as the options say. One that is run
// otherwise is ended, and its sessions with it. Options that cannot work are an error, and end it too.
func (l *Local) Set(address, name string, o Options) error {
	log := l.log.With("server", name)
	o.Logger, o.Stderr = nil, nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if running := l.servers[address]; running != nil {
		if reflect.DeepEqual(running.options, o) {
			return nil
		}
		l.endLocked(address)
	}
	complete := o
	complete.Logger, complete.Stderr = log, lineLogger{log}
	complete, err := complete.withDefaults()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	server := &localServer{options: o, listener: newMemoryListener(), sessions: newSessions(complete), stop: stop}
	l.servers[address], l.running[server] = server, true
	l.gone.Go(func() {
		_ = server.sessions.serve(ctx, server.listener) // ends without an error, by stop
		l.mu.Lock()
		delete(l.running, server)
		l.mu.Unlock()
	})
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// Remove ends a server, if there is one.
func (l *Local) Remove(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(address)
}

func (l *Local) endLocked(address string) {
	if server := l.servers[address]; server != nil {
		delete(l.servers, address)
		server.stop()
		l.Transport.CloseIdleConnections() // or the next request would still go to it
	}
}

// Close ends every server, and waits until their processes are gone.
func (l *Local) Close() {
	l.mu.Lock()
	for address := range l.servers {
		l.endLocked(address)
	}
	l.mu.Unlock()
	l.gone.Wait()
	l.ends()
}

func (l *Local) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, localWait)
	defer cancel()
	for {
		l.mu.Lock()
		server, changed := l.servers[address], l.changed
		l.mu.Unlock()
		if server != nil {
			return server.listener.dial(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("the stdio server at %s is not set up: %w", address, ctx.Err())
		}
	}
}

// groups are the process groups of all servers.
func (l *Local) groups() map[int]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[int]bool{}
	for server := range l.running {
		maps.Copy(all, server.sessions.groups())
	}
	return all
}

// lineLogger logs what servers write to standard error, for those who want to see much.
type lineLogger struct{ log *slog.Logger }

// Write takes one line.
func (w lineLogger) Write(line []byte) (int, error) {
	w.log.Log(context.Background(), slog.LevelInfo-1, "standard error", "line", string(bytes.TrimRight(line, "\n")))
	return len(line), nil
}
