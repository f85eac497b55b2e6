// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"strconv"
)

// The well-known reasons why a read stopped. Another one is shown as it is.
const (
	StopRunDeadline = "run_deadline"
	StopPageCount   = "page_count"
	StopRecordLimit = "record_limit"
	StopInterrupted = "interrupted"
	// StopCursorStalled: the source gave the cursor that it had been given.
	StopCursorStalled = "cursor_stalled"
)

// Page is what the two list envelopes say beside their items: whether the list
// was cut short, how it goes on, and what went wrong on the way.
type Page struct {
	// Truncated says that a cap, a stop or an interruption shortened the list.
	Truncated bool
	// TotalCount is the exact full size, nil where it is not known exactly.
	TotalCount *Count
	// NextCursor is passed back unchanged to go on; only with Truncated.
	NextCursor *string
	// StopReason says what ended the read; only with Truncated.
	StopReason *string
	// Warnings are problems that the caller passes on, one an entry.
	Warnings []string
	// Source is what was read.
	Source *SourceRef
}

// Resumable says that a truncated list goes on: call again with NextCursor. A
// truncated list that is not resumable has ended for good.
func (p *Page) Resumable() bool { return p.NextCursor != nil }

// validate checks the rules of paging for a list of that many items.
func (p *Page) validate(returned int) error {
	if !p.Truncated && p.NextCursor != nil {
		return &Error{"/next_cursor", "there is a cursor though truncated is false: only a list that was cut short goes on"}
	}
	if !p.Truncated && p.StopReason != nil {
		return &Error{"/stop_reason", "there is a reason though truncated is false: only a list that was cut short was stopped"}
	}
	if p.TotalCount != nil && p.TotalCount.Compare(CountOf(uint64(returned))) < 0 {
		return &Error{"/total_count", fmt.Sprintf("the full size is %s, less than the %d returned", excerpt(p.TotalCount.String()), returned)}
	}
	return nil
}

func (p *Page) dump(w *objectWriter) {
	if p.TotalCount != nil {
		w.raw("total_count", p.TotalCount.appendJSON(nil))
	}
	w.optionalString("next_cursor", p.NextCursor)
	w.optionalString("stop_reason", p.StopReason)
	if len(p.Warnings) > 0 {
		w.strings("warnings", p.Warnings)
	}
	p.Source.dump(w)
	if p.Truncated {
		w.bool("resumable", p.Resumable())
	}
}

// pageReader reads the members of a Page.
type pageReader struct {
	page      Page
	truncated bool // was there
	resumable *bool
}

func (r *pageReader) field(d *document, key string) (known bool, err error) {
	at := "/" + key
	switch key {
	case "truncated":
		r.truncated = true
		r.page.Truncated, err = d.bool(at)
	case "total_count":
		r.page.TotalCount, err = d.count(at)
	case "next_cursor":
		r.page.NextCursor, err = d.optionalString(at)
	case "stop_reason":
		r.page.StopReason, err = d.optionalString(at)
	case "warnings":
		r.page.Warnings, err = d.warnings(at)
	case "source":
		r.page.Source, err = d.source(at)
	case "resumable":
		r.resumable, err = d.optionalBool(at)
	default:
		return false, nil
	}
	return true, err
}

// end checks what was read against the number of items that the list has.
func (r *pageReader) end(returned int) error {
	if !r.truncated {
		return missing("truncated")
	}
	if r.resumable != nil && *r.resumable != r.page.Resumable() {
		return &Error{"/resumable", "it is " + strconv.FormatBool(*r.resumable) +
			", but a list is resumable when it has a next_cursor, and only then"}
	}
	return r.page.validate(returned)
}

// checkCount compares what a list says of its length with its length.
func checkCount(key string, said *int64, returned int) error {
	if said == nil {
		return missing(key)
	}
	if *said != int64(returned) {
		return &Error{"/" + key, fmt.Sprintf("it is %d, but there are %d", *said, returned)}
	}
	return nil
}

func missing(key string) error {
	return &Error{"/" + key, "it is missing, and required"}
}
