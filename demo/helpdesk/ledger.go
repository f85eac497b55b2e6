package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Phases of an invocation.
const (
	phaseBegin = "begin"
	phaseEnd   = "end"
)

// entry is one line of the ledger. Both lines of an invocation have its number.
type entry struct {
	Time          time.Time       `json:"time"`
	Invocation    int             `json:"invocation"`
	Phase         string          `json:"phase"`
	Tool          string          `json:"tool"`
	Args          json.RawMessage `json:"args"`
	Authorization string          `json:"authorization"`
	// Error is why the invocation had no effect, on its end line.
	Error string `json:"error,omitempty"`
}

// ledger appends entries to a file; without one it only counts.
type ledger struct {
	now func() time.Time

	mu          sync.Mutex
	file        *os.File
	invocations int
}

func openLedger(file string) (*ledger, error) {
	l := &ledger{now: time.Now}
	if file == "" {
		return l, nil
	}
	var err error
	l.file, err = os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return l, err
}

// begin records that a tool was invoked, before it does anything, and returns what records its end.
func (l *ledger) begin(tool string, args json.RawMessage, authorization string) (end func(error) error, err error) {
	l.mu.Lock()
	l.invocations++
	e := entry{Invocation: l.invocations, Phase: phaseBegin, Tool: tool, Args: args, Authorization: authorization}
	l.mu.Unlock()
	if err := l.append(e); err != nil {
		return nil, err
	}
	return func(failure error) error {
		e.Phase = phaseEnd
		if failure != nil {
			e.Error = failure.Error()
		}
		return l.append(e)
	}, nil
}

func (l *ledger) append(e entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	e.Time = l.now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil { // one write, so that lines never mix
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Close closes the file.
func (l *ledger) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
