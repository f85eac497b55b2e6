// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/octool"
)

const (
	// MaxPages bounds the pages of one result.
	MaxPages = 20
	// maxFollowed bounds the items of a result that has several pages.
	maxFollowed = 100_000
	// maxFollowedBytes bounds what the pages have together.
	maxFollowedBytes = 4 << 20
)

// follow appends further pages to the first, up to the tool's bound. Only a tool
// without effect is called again, with the same arguments and the cursor that the
// page before gave. What cannot be read is a warning beside what could. It says
// whether there was another page.
func (p *passage) follow(ctx context.Context, first list, invocation Invocation) bool {
	seen := []string{}
	bytes := 0
	for page := 1; page < min(p.tool.MaxPages, MaxPages) && invocation.Idempotent; page++ {
		cursor := first.page().NextCursor
		if cursor == nil || first.size() > maxFollowed || bytes > maxFollowedBytes {
			break
		}
		if slices.Contains(seen, *cursor) {
			stalled := octool.StopCursorStalled
			first.page().StopReason, first.page().NextCursor = &stalled, nil
			break
		}
		seen = append(seen, *cursor)
		next, size, err := p.nextPage(ctx, *cursor, invocation)
		if err == nil {
			err = first.add(next)
		}
		if err != nil {
			first.page().Warnings = append(first.page().Warnings, fmt.Sprintf("page %d could not be read: %v", page+1, err))
			break
		}
		bytes += size
	}
	return len(seen) > 0
}

func (p *passage) nextPage(ctx context.Context, cursor string, invocation Invocation) (list, int, error) {
	arguments, err := withCursor(invocation.Arguments, cursor)
	if err != nil {
		return nil, 0, err
	}
	if p.tool.schema != nil {
		if err := p.tool.schema.Validate(arguments); err != nil {
			return nil, 0, fmt.Errorf("the tool takes no cursor: %w", err)
		}
	}
	invocation.Arguments = arguments
	answer := p.executor.Execute(ctx, invocation)
	if answer.Error != "" {
		return nil, 0, fmt.Errorf("%s: %s", answer.Error, shorten(answer.Content, maxWarningText))
	}
	value := answer.Structured
	if len(value) == 0 {
		value = json.RawMessage(answer.Content)
	}
	next, _, err := p.tool.readList(value)
	if err == nil && next == nil {
		err = errors.New("it is no list")
	}
	return next, len(value), err
}

func withCursor(arguments json.RawMessage, cursor string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, err
	}
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	text, err := json.Marshal(cursor)
	if err != nil {
		return nil, err
	}
	members["cursor"] = text
	changed, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return canonical.JSON(changed)
}

// merge takes over what the newest page says of the list as a whole.
func merge(page, next *octool.Page) {
	page.Truncated, page.NextCursor, page.StopReason = next.Truncated, next.NextCursor, next.StopReason
	page.Warnings = append(page.Warnings, next.Warnings...)
	if next.TotalCount != nil {
		page.TotalCount = next.TotalCount
	}
}

type recordsList struct {
	*octool.RecordsEnvelope[json.RawMessage]
}

func (l *recordsList) size() int                      { return len(l.Records) }
func (l *recordsList) page() *octool.Page             { return &l.Page }
func (l *recordsList) json() (json.RawMessage, error) { return json.Marshal(l.RecordsEnvelope) }

func (l *recordsList) add(next list) error {
	more, ok := next.(*recordsList)
	if !ok {
		return errors.New("it is not a list of records, as the first page is")
	}
	l.Records = append(l.Records, more.Records...)
	merge(&l.Page, &more.Page)
	return nil
}

type tableList struct{ *octool.TabularEnvelope }

func (l *tableList) size() int                      { return len(l.Rows) }
func (l *tableList) page() *octool.Page             { return &l.Page }
func (l *tableList) json() (json.RawMessage, error) { return json.Marshal(l.TabularEnvelope) }

// add keeps the first page's descriptions, which need not be sent again.
func (l *tableList) add(next list) error {
	more, ok := next.(*tableList)
	if !ok || !slices.Equal(l.Columns, more.Columns) {
		return errors.New("it does not have the columns of the first page")
	}
	l.Rows = append(l.Rows, more.Rows...)
	merge(&l.Page, &more.Page)
	return nil
}
