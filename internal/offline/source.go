// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Source is one file, or standard input.
type Source struct {
	// Name is the path as it was given, or Stdin.
	Name string
	// Content is YAML or JSON, of any number of objects.
	Content []byte
	// Found says that the file was found in a directory. There it may hold what
	// is no object at all.
	Found bool
}

const (
	// StdinPath is the path that stands for standard input.
	StdinPath = "-"
	// Stdin is the name of standard input as a Source.
	Stdin = "stdin"
	// MaxSourceBytes bounds the size of one source.
	MaxSourceBytes = 64 << 20
)

// ReadError says what keeps a source, or one document of it, from being read.
type ReadError struct {
	Source string
	Line   int // from 1; 0 for the whole source
	Err    error
}

func (e *ReadError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Source, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Source, e.Line, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// Sources reads paths one after the other: files, StdinPath, and directories, of
// which every .yaml, .yml and .json file below them is read in the order of its
// name, hidden ones left out. What cannot be read is a *ReadError, after which
// the rest is still read.
func Sources(paths []string, stdin io.Reader) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for _, path := range paths {
			var goOn bool
			if path == StdinPath {
				goOn = yield(read(Stdin, stdin))
			} else {
				goOn = walk(path, yield)
			}
			if !goOn {
				return
			}
		}
	}
}

// walk reports whether the caller wants more.
func walk(root string, yield func(Source, error) bool) bool {
	goOn := true
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			goOn = yield(Source{}, &ReadError{Source: path, Err: cause(err)})
		case path != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
		case path == root || isManifest(path):
			source, err := readFile(path)
			source.Found = path != root
			goOn = yield(source, err)
		}
		if !goOn {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return yield(Source{}, &ReadError{Source: root, Err: cause(err)})
	}
	return goOn
}

func isManifest(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}

func readFile(path string) (Source, error) {
	file, err := os.Open(path)
	if err != nil {
		return Source{}, &ReadError{Source: path, Err: cause(err)}
	}
	defer func() { _ = file.Close() }() // it was only read
	return read(path, file)
}

func read(name string, from io.Reader) (Source, error) {
	content, err := io.ReadAll(io.LimitReader(from, MaxSourceBytes+1))
	if err != nil {
		return Source{}, &ReadError{Source: name, Err: cause(err)}
	}
	if len(content) > MaxSourceBytes {
		return Source{}, &ReadError{Source: name, Err: fmt.Errorf("more than %d bytes", MaxSourceBytes)}
	}
	return Source{Name: name, Content: content}, nil
}

// cause takes the path off an error: a ReadError names it already.
func cause(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err
	}
	return err
}
