package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreateTakesOverOnlyItsOwnDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "somebody's")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := layout{dir: dir}
	if err := l.create(); err == nil || !strings.Contains(err.Error(), "name a new or empty one") {
		t.Errorf("error %v, want a refusal that says what to do", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, error %v: the directory was changed", info.Mode(), err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"an empty directory", "its own directory"} {
		if err := l.create(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, error %v, want 700", info.Mode(), err)
	}
}

func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, want := range []string{"a longer text", "short"} {
		if err := writeFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("content %q, error %v, want %q", got, err, want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files, error %v, want only the one written", len(entries), err)
	}
}
