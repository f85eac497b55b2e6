// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"remit.dev/remit/api/v1alpha1"
)

const (
	defaultFound = 5
	// maxFoundBytes keeps an answer below the bound on a result, so that it is
	// never cut inside a schema.
	maxFoundBytes = 96 << 10
	// maxQueryWords bounds the work of one search.
	maxQueryWords = 32
)

// toolSearch ranks tools by the words of a query.
type toolSearch struct{ tools []*Tool }

// found is the answer: a records envelope.
type found struct {
	Records    []foundTool `json:"records"`
	Count      int         `json:"count"`
	Truncated  bool        `json:"truncated"`
	TotalCount int         `json:"total_count"`
	Resumable  *bool       `json:"resumable,omitempty"`
}

type foundTool struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Class       v1alpha1.ToolClass `json:"class"`
	// NeedsApproval says that a person will be asked first.
	NeedsApproval bool            `json:"needsApproval"`
	InputSchema   json.RawMessage `json:"inputSchema"`
}

func (s *toolSearch) Execute(_ context.Context, invocation Invocation) Answer {
	asked := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: defaultFound}
	if err := json.Unmarshal(invocation.Arguments, &asked); err != nil {
		return Failure(v1alpha1.ErrorInvalidArguments, err.Error())
	}
	fitting := s.rank(asked.Query)
	answer := found{Records: []foundTool{}, TotalCount: len(fitting)}
	size := 0
	for _, tool := range fitting[:min(asked.Limit, len(fitting))] {
		record := foundTool{Name: tool.Name, Description: tool.Description, Class: tool.Class,
			NeedsApproval: tool.Ask != "", InputSchema: tool.InputSchema}
		if len(record.InputSchema) == 0 {
			record.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		if size += len(record.Description) + len(record.InputSchema); size > maxFoundBytes && len(answer.Records) > 0 {
			break
		}
		answer.Records = append(answer.Records, record)
	}
	answer.Count = len(answer.Records)
	if answer.Truncated = answer.Count < answer.TotalCount; answer.Truncated {
		answer.Resumable = new(bool)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return Failure(v1alpha1.ErrorTool, err.Error())
	}
	return Text(string(text))
}

// rank gives the tools that any word of the query fits, the best first. A word
// counts most in a name, and more as a whole word than as the beginning of one.
func (s *toolSearch) rank(query string) []*Tool {
	type scored struct {
		tool  *Tool
		score int
	}
	asked := words(query)
	asked = asked[:min(len(asked), maxQueryWords)]
	var fitting []scored
	for _, tool := range s.tools {
		score := 0
		if strings.EqualFold(strings.TrimSpace(query), tool.Name) {
			score = 1 << 20
		}
		name, description := words(tool.Name), words(tool.Description)
		for _, word := range asked {
			score += 8*fit(word, name) + fit(word, description)
		}
		if score > 0 {
			fitting = append(fitting, scored{tool, score})
		}
	}
	slices.SortStableFunc(fitting, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	ranked := make([]*Tool, len(fitting))
	for i := range fitting {
		ranked[i] = fitting[i].tool
	}
	return ranked
}

// fit is 2 where the word is in the list, 1 where it begins a word of it or the
// other way round, as with a plural, and 0 otherwise.
func fit(word string, list []string) int {
	best := 0
	for _, other := range list {
		switch {
		case word == other:
			return 2
		case len(word) > 2 && strings.HasPrefix(other, word), len(other) > 2 && strings.HasPrefix(word, other):
			best = 1
		}
	}
	return best
}

// words splits a text at whatever is neither letter nor digit, and where a small
// letter is followed by a capital.
func words(text string) []string {
	var split []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			split = append(split, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	before := ' '
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
		} else {
			if unicode.IsUpper(r) && unicode.IsLower(before) {
				flush()
			}
			word = append(word, r)
		}
		before = r
	}
	flush()
	return split
}
