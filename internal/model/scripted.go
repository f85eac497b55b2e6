// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Complete implements Provider. It is a pure function of the script and the request:
// nothing is remembered between calls, and which turns are used up follows from the
// conversation alone, so a Run goes on after a restart where it was (O2).
//
// The request gets the first turn of the script that is not used up, is for its model,
// and whose marker the context holds: the system text or any message, tool results
// among them. A turn is used up once
//   - an assistant message of the conversation is its reply, with the same text and
//     calls. Where several turns could have given a message, it was the first that was
//     waiting for nothing more at the time; or
//   - it gives an error or a degenerate reply, was waiting for nothing more, and a later
//     turn of the script has replied.
//
// So a failing turn is what its model answers, however often it is asked, until the
// conversation has moved past it: let the turn after it be for another model, or for
// any, and failover finds that one.
func (s *Script) Complete(ctx context.Context, request Request) (Completion, error) {
	if err := ctx.Err(); err != nil {
		return Completion{}, err
	}
	progress := s.replay(request)
	for i, turn := range s.turns {
		if progress.used[i] || !turn.isFor(request.Model) || !progress.ready(i, len(request.Messages)) {
			continue
		}
		if turn.failure != nil {
			failure := *turn.failure
			return Completion{}, &failure
		}
		completion := turn.completion
		completion.Model = request.Model
		completion.Calls = slices.Clone(completion.Calls)
		return completion, nil
	}
	return Completion{}, s.noTurn(progress, request.Model)
}

func (t turn) isFor(model string) bool { return t.model == "" || t.model == model }

// progress is how far a conversation has come in a script.
type progress struct {
	used []bool
	// since is, for each turn, how many messages it takes until its marker has occurred.
	since []int
}

func (p progress) ready(turn, messages int) bool { return p.since[turn] <= messages }

func (s *Script) replay(request Request) progress {
	progress := progress{used: make([]bool, len(s.turns)), since: make([]int, len(s.turns))}
	for i, turn := range s.turns {
		progress.since[i] = markedSince(turn.when, request)
	}
	for at, message := range request.Messages {
		if message.Role != RoleAssistant {
			continue
		}
		for i, turn := range s.turns {
			if !progress.used[i] && progress.ready(i, at) && !turn.fails && turn.gave(message) {
				s.use(i, at, progress)
				break
			}
		}
	}
	return progress
}

// use marks the turn that replied, and the failing turns that it came past.
func (s *Script) use(replied, messages int, progress progress) {
	progress.used[replied] = true
	for i, turn := range s.turns[:replied] {
		if turn.fails && progress.ready(i, messages) {
			progress.used[i] = true
		}
	}
}

// markedSince gives the number of messages that hold the marker for the first time;
// zero when the system text does.
func markedSince(marker string, request Request) int {
	if strings.Contains(request.System, marker) {
		return 0
	}
	for i, message := range request.Messages {
		if strings.Contains(message.Text, marker) {
			return i + 1
		}
	}
	return math.MaxInt
}

// gave says whether message is the turn's reply. White space around the text and the
// form of JSON arguments may have changed while it was stored.
func (t turn) gave(message Message) bool {
	if strings.TrimSpace(message.Text) != strings.TrimSpace(t.completion.Text) {
		return false
	}
	return slices.EqualFunc(message.Calls, t.completion.Calls, func(a, b ToolCall) bool {
		return a.Name == b.Name && sameArguments(a.Arguments, b.Arguments)
	})
}

func sameArguments(a, b string) bool {
	if a == b {
		return true
	}
	var left, right any
	if json.Unmarshal([]byte(a), &left) != nil || json.Unmarshal([]byte(b), &right) != nil {
		return false
	}
	return reflect.DeepEqual(left, right)
}

// noTurn tells the author of a script which turns are left, and what they wait for.
func (s *Script) noTurn(progress progress, model string) *Error {
	used := 0
	var awaited []string
	for i, turn := range s.turns {
		switch {
		case progress.used[i]:
			used++
		case !turn.isFor(model):
			awaited = append(awaited, fmt.Sprintf("turns[%d] the model %q", i, turn.model))
		default:
			awaited = append(awaited, fmt.Sprintf("turns[%d] the marker %q", i, turn.when))
		}
	}
	detail := fmt.Sprintf("%d of %d turns are used up", used, len(s.turns))
	if len(awaited) > 0 {
		detail += "; waiting are " + strings.Join(awaited, ", ")
	}
	return &Error{Kind: KindNoTurn, Detail: printable(detail, maxDetail)}
}
