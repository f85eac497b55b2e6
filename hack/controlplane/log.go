package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// logger writes what people read; standard output stays free for what programs read.
type logger struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *logger) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	message := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(l.out, "controlplane: %s\n", message)
}
