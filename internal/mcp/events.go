package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// event is one server-sent event (WHATWG HTML, 9.2). Fields that the transport has no use for are gone.
type event struct {
	name  string
	id    string
	retry int // milliseconds; 0 when the event says nothing
	data  []byte
}

const maxRetryMillis = 30_000 // what a server may ask us to wait before a resumption

// eventReader reads events, each of at most limit bytes, and at most left bytes in all.
type eventReader struct {
	lines *bufio.Reader
	limit int64
	left  int64
}

func newEventReader(r io.Reader, limit int64) *eventReader {
	return &eventReader{lines: bufio.NewReader(r), limit: limit, left: limit + maxStreamOverhead}
}

// next returns the next event. At the end of the stream it returns io.EOF, with an event when one was
// still incomplete; beyond the limits, an error that wraps errTooLarge.
func (r *eventReader) next() (event, error) {
	var (
		ev    event
		size  int64
		lines int
	)
	for {
		line, err := r.line(r.limit - size)
		size += int64(len(line))
		if errors.Is(err, errTooLarge) {
			return event{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 {
			lines++
			ev.field(line)
		}
		switch {
		case err != nil:
			return ev, err
		case len(line) == 0 && lines > 0:
			return ev, nil
		case len(line) == 0:
			size = 0 // blank lines between events
		}
	}
}

// line reads to the end of the line, at most limit bytes.
func (r *eventReader) line(limit int64) ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		r.left -= int64(len(part))
		if int64(len(line)+len(part)) > limit || r.left < 0 {
			return nil, tooLarge(r.limit)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// field applies one line. Comments and fields that are not known are ignored, as the standard says.
func (ev *event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		ev.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			ev.id = string(value)
		}
	case "retry":
		if n, err := strconv.Atoi(string(value)); err == nil && n > 0 {
			ev.retry = min(n, maxRetryMillis)
		}
	case "data":
		if ev.data != nil {
			ev.data = append(ev.data, '\n')
		}
		ev.data = append(ev.data, value...)
		if ev.data == nil {
			ev.data = []byte{}
		}
	}
}

// encodeEvent writes the event out; its data holds no line break.
func encodeEvent(ev event) []byte {
	var out bytes.Buffer
	if ev.id != "" {
		out.WriteString("id: " + ev.id + "\n")
	}
	if ev.retry > 0 {
		out.WriteString("retry: " + strconv.Itoa(ev.retry) + "\n")
	}
	if len(ev.data) > 0 {
		out.WriteString("data: ")
		out.Write(ev.data)
		out.WriteString("\n")
	}
	if out.Len() == 0 {
		return nil
	}
	out.WriteString("\n")
	return out.Bytes()
}
