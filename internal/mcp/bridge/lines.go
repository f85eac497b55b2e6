package bridge

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

var errLineTooLong = errors.New("a line is longer than the largest message")

// readLines calls each for every line, without its end, until the reader ends. The line is each's to keep.
func readLines(r io.Reader, limit int, each func([]byte) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		var line []byte
		for {
			part, err := lines.ReadSlice('\n')
			if len(line)+len(part) > limit {
				return errLineTooLong
			}
			line = append(line, part...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && len(line) == 0 {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			break
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			continue
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// forwardStderr passes a child's standard error on, cutting lines that are too long.
func forwardStderr(r io.Reader, out io.Writer) {
	lines := bufio.NewReaderSize(r, MaxStderrLine)
	rest := false
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && !rest {
			text := append([]byte{}, bytes.TrimRight(line, "\r\n")...)
			if errors.Is(err, bufio.ErrBufferFull) {
				text = append(text, "…"...)
			}
			_, _ = out.Write(append(text, '\n')) // whoever reads the log may be gone; the child is not
		}
		rest = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !rest {
			return
		}
	}
}

// lockedWriter lets several children share a writer.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
