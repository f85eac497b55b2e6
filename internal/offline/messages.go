// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"fmt"
)

// ReadError says what keeps a source, or one document of it, from being read.
type ReadError struct {
	Source string
	Line   int // from 1; 0 for the whole source
	Err    error
}

func (e *ReadError) Error() string { return located(e.Source, e.Line, e.Err.Error()) }

// Unwrap gives the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// MarshalJSON writes source, line and message.
func (e *ReadError) MarshalJSON() ([]byte, error) {
	return json.Marshal(Notice{e.Source, e.Line, e.Err.Error()})
}

// Notice says what was left out, and why, where nothing is wrong with that.
type Notice struct {
	Source  string `json:"source"`
	Line    int    `json:"line,omitempty"` // from 1; 0 for the whole source
	Message string `json:"message"`
}

func (n Notice) String() string { return located(n.Source, n.Line, n.Message) }

func located(source string, line int, message string) string {
	if line == 0 {
		return fmt.Sprintf("%s: %s", source, message)
	}
	return fmt.Sprintf("%s:%d: %s", source, line, message)
}
