// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/octool"
)

const (
	// MaxPages bounds the pages of one result.
	MaxPages = 20
	// maxFollowed bounds what the pages have together, in bytes, so that the result
	// can be put aside whole.
	maxFollowed = 512 << 10
)

// follow appends further pages to the first, which has so many bytes, up to the
// tool's bound. Only a tool that reads, and that nobody must approve, is called
// again, with the same arguments and the cursor that the page before gave. What
// cannot be read is a warning beside what could. It says whether the list changed.
func (p *passage) follow(ctx context.Context, first list, size int, invocation Invocation) (changed bool) {
	if p.tool.Class != v1alpha1.ClassReadOnly || p.judgement.Ask != "" || !invocation.Idempotent {
		return false
	}
	seen := []string{cursorOf(invocation.Arguments)}
	for page := 1; page < min(p.tool.MaxPages, MaxPages); page++ {
		cursor := first.page().NextCursor
		if cursor == nil {
			break
		}
		if slices.Contains(seen, *cursor) {
			stalled := octool.StopCursorStalled
			first.page().StopReason, first.page().NextCursor = &stalled, nil
			return true
		}
		seen = append(seen, *cursor)
		next, bytes, err := p.nextPage(ctx, *cursor, invocation)
		if err == nil && size+bytes > maxFollowed {
			break // the cursor still leads there
		}
		if err == nil {
			err = first.add(next)
		}
		changed = true
		if err != nil {
			first.page().Warnings = append(first.page().Warnings, fmt.Sprintf("page %d could not be read: %v", page+1, err))
			break
		}
		size += bytes
	}
	return changed
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
	if p.tool.Policy != nil && p.tool.Policy(ctx, arguments).Verdict != gate.Allow {
		return nil, 0, errors.New("policy does not allow it")
	}
	invocation.Arguments = arguments
	answer := p.executor.Execute(ctx, invocation)
	if answer.Error != "" { // its words may hold what the schema marks as secret
		return nil, 0, errors.New(string(answer.Error))
	}
	value := answer.Structured
	if len(value) == 0 {
		value = json.RawMessage(answer.Content)
	}
	next, _, err := p.tool.readList(value)
	switch {
	case err != nil:
		err = errors.New("it is not the list that the tool declares")
	case next == nil:
		err = errors.New("it is no list")
	}
	return next, len(value), err
}

// cursorOf is the cursor that the model itself gave, or empty.
func cursorOf(arguments json.RawMessage) string {
	var asked struct {
		Cursor string `json:"cursor"`
	}
	if json.Unmarshal(arguments, &asked) != nil {
		return ""
	}
	return asked.Cursor
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

// merge takes over what the newest page says of the list as a whole, which has so
// many items now. A full size that is less than those cannot be right.
func merge(page, next *octool.Page, items int) {
	page.Truncated, page.NextCursor, page.StopReason = next.Truncated, next.NextCursor, next.StopReason
	page.Warnings = append(page.Warnings, next.Warnings...)
	if next.TotalCount != nil {
		page.TotalCount = next.TotalCount
	}
	if page.TotalCount != nil && page.TotalCount.Compare(octool.CountOf(uint64(items))) < 0 {
		page.TotalCount = nil
		page.Warnings = append(page.Warnings, "the tool gave a total count that is less than its items, and it is left out")
	}
}

// sameSource says whether two pages are of one read: a snapshot that changed between
// them makes a list that never was.
func sameSource(a, b *octool.Page) bool {
	return a.Source == nil || b.Source == nil || reflect.DeepEqual(a.Source, b.Source)
}

var errOtherSource = errors.New("it was read from another source than the first page")

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
	if !sameSource(&l.Page, &more.Page) {
		return errOtherSource
	}
	l.Records = append(l.Records, more.Records...)
	merge(&l.Page, &more.Page, len(l.Records))
	return nil
}

type tableList struct{ *octool.TabularEnvelope }

func (l *tableList) size() int                      { return len(l.Rows) }
func (l *tableList) page() *octool.Page             { return &l.Page }
func (l *tableList) json() (json.RawMessage, error) { return json.Marshal(l.TabularEnvelope) }

// add keeps the first page's descriptions, which need not be sent again.
func (l *tableList) add(next list) error {
	more, ok := next.(*tableList)
	if !ok || !slices.Equal(l.Columns, more.Columns) || !slices.Equal(l.ColumnKinds, more.ColumnKinds) {
		return errors.New("it does not have the columns of the first page")
	}
	if !sameSource(&l.Page, &more.Page) {
		return errOtherSource
	}
	l.Rows = append(l.Rows, more.Rows...)
	merge(&l.Page, &more.Page, len(l.Rows))
	return nil
}
