package mcp

import (
	"context"
	"sync"
)

// doors bounds the handshakes that are made with one server at a time, so that many tenants who begin at one
// moment do not fall upon it at once. One server's queue holds up no other server. A door is kept as long
// as somebody is at it.
type doors struct {
	mu sync.Mutex
	of map[string]*door
}

type door struct {
	slots chan struct{}
	users int
}

// enter waits for the caller's turn, no longer than ctx. Unless it reports false, leave must be called.
func (d *doors) enter(ctx context.Context, server string) (leave func(), ok bool) {
	at := d.approach(server)
	select {
	case at.slots <- struct{}{}:
		return func() {
			<-at.slots
			d.depart(server, at)
		}, true
	case <-ctx.Done():
		d.depart(server, at)
		return nil, false
	}
}

func (d *doors) approach(server string) *door {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.of[server]
	if !ok {
		if d.of == nil {
			d.of = map[string]*door{}
		}
		at = &door{slots: make(chan struct{}, maxHandshakes)}
		d.of[server] = at
	}
	at.users++
	return at
}

func (d *doors) depart(server string, at *door) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(d.of, server)
	}
}
