package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only data beside the mark were never of use. A directory of a control plane that knew no mark yet
// has data and no mark.
func TestPrepareEtcdData(t *testing.T) {
	tests := map[string]struct {
		data, marked         bool
		wantData, wantMarked bool
		wantLine             bool
	}{
		"the first start":              {false, false, false, true, false},
		"killed before etcd wrote":     {false, true, false, true, false},
		"killed before etcd was ready": {true, true, false, true, true},
		"ready once, or without marks": {true, false, true, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := layout{dir: t.TempDir()}
			wal := filepath.Join(l.etcdData(), "member", "wal")
			if err := l.create(); err != nil {
				t.Fatal(err)
			}
			if tt.data {
				if err := os.MkdirAll(wal, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if tt.marked {
				if err := touch(l.etcdUnready()); err != nil {
					t.Fatal(err)
				}
			}
			log, said := testLogger(t)
			if err := prepareEtcdData(l, log); err != nil {
				t.Fatal(err)
			}
			if got := exists(t, wal); got != tt.wantData {
				t.Errorf("data there: %t, want %t", got, tt.wantData)
			}
			if got := exists(t, l.etcdUnready()); got != tt.wantMarked {
				t.Errorf("marked: %t, want %t", got, tt.wantMarked)
			}
			if got := strings.Contains(said.String(), l.etcdData()); got != tt.wantLine {
				t.Errorf("a line says that data are removed: %t, want %t: %q", got, tt.wantLine, said)
			}
			if !exists(t, l.etcdData()) {
				t.Error("the directory of the data is gone")
			}
		})
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}
