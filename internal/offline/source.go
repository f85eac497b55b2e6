// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
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
	// Skipped says why a file that was found was not read.
	Skipped string
}

const (
	// StdinPath is the path that stands for standard input.
	StdinPath = "-"
	// Stdin is the name of standard input as a Source.
	Stdin = "stdin"
	// MaxSourceBytes bounds the size of one source.
	MaxSourceBytes = 64 << 20
)

// Sources reads paths one after the other: files, StdinPath, and directories, of
// which every .yaml, .yml and .json file below them is read in the order of its
// name, hidden ones left out. What cannot be read is a *ReadError, after which
// the rest is still read. Once ctx is done reading ends, with an error, even where
// a pipe keeps it waiting.
func Sources(ctx context.Context, paths []string, stdin io.Reader) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for _, path := range paths {
			var goOn bool
			if path == StdinPath {
				goOn = yield(interruptible(ctx, Stdin, func() (Source, error) { return read(Stdin, stdin) }))
			} else {
				goOn = walk(ctx, path, yield)
			}
			if !goOn || ctx.Err() != nil {
				return
			}
		}
	}
}

// walk reports whether the caller wants more.
func walk(ctx context.Context, root string, yield func(Source, error) bool) bool {
	info, err := os.Stat(root)
	if err != nil {
		return yield(Source{}, &ReadError{Source: root, Err: cause(err)})
	}
	if !info.IsDir() { // what is named may be a pipe, as in <(kustomize build)
		return yield(interruptible(ctx, root, func() (Source, error) { return readFile(root) }))
	}
	goOn := true
	// The separator leads through a link to a directory.
	err = filepath.WalkDir(root+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		path = filepath.Clean(path)
		isRoot := path == filepath.Clean(root)
		switch {
		case err != nil:
			goOn = yield(Source{}, &ReadError{Source: path, Err: cause(err)})
		case !isRoot && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && isManifest(path):
			goOn = yield(interruptible(ctx, path, func() (Source, error) { return readFound(path) }))
		}
		if !goOn || ctx.Err() != nil {
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

// readFound leaves out what is no file: to open a pipe is to wait for its writer.
func readFound(path string) (Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Source{}, &ReadError{Source: path, Err: cause(err)}
	}
	if !info.Mode().IsRegular() {
		what := "it is neither a file nor a directory"
		if info.IsDir() {
			what = "links to directories are not followed"
		}
		return Source{Name: path, Found: true, Skipped: "left out: " + what}, nil
	}
	if info.Size() > MaxSourceBytes {
		return Source{Name: path, Found: true, Skipped: fmt.Sprintf("left out: it has more than %d bytes", MaxSourceBytes)}, nil
	}
	source, err := readFile(path)
	source.Found = true
	return source, err
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
		return Source{}, &ReadError{Source: name, Err: fmt.Errorf("it has more than %d bytes", MaxSourceBytes)}
	}
	return Source{Name: name, Content: content}, nil
}

// interruptible reads until ctx is done. Then the read is left to itself: what opens
// or reads a pipe cannot be called back, and the process is about to end.
func interruptible(ctx context.Context, name string, read func() (Source, error)) (Source, error) {
	if ctx.Err() != nil {
		return Source{}, &ReadError{Source: name, Err: context.Cause(ctx)}
	}
	type result struct {
		source Source
		err    error
	}
	done := make(chan result, 1)
	go func() {
		source, err := read()
		done <- result{source, err}
	}()
	select {
	case r := <-done:
		return r.source, r.err
	case <-ctx.Done():
		return Source{}, &ReadError{Source: name, Err: context.Cause(ctx)}
	}
}

// cause takes the path off an error: a ReadError names it already.
func cause(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err
	}
	return err
}
