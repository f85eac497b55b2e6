// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/offline"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"a.yaml": "a", "b/c.yml": "c", "b/d.json": "d", "b/e.txt": "e", "B.YAML": "B", ".git/f.yaml": "f", ".g.yaml": "g",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		paths []string
		want  []string
	}{
		"a directory":                 {[]string{"."}, []string{"B.YAML=B found", "a.yaml=a found", "b/c.yml=c found", "b/d.json=d found"}},
		"a file, whatever its name":   {[]string{"b/e.txt", ".g.yaml"}, []string{"b/e.txt=e", ".g.yaml=g"}},
		"standard input among others": {[]string{"a.yaml", "-", "b"}, []string{"a.yaml=a", "stdin=in", "b/c.yml=c found", "b/d.json=d found"}},
		"one that is not there":       {[]string{"x.yaml", "a.yaml"}, []string{"x.yaml: no such file or directory", "a.yaml=a"}},
	}
	t.Chdir(dir)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for source, err := range offline.Sources(test.paths, strings.NewReader("in")) {
				switch {
				case err != nil:
					got = append(got, err.Error())
				case source.Found:
					got = append(got, source.Name+"="+string(source.Content)+" found")
				default:
					got = append(got, source.Name+"="+string(source.Content))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("sources (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSourceTooLarge(t *testing.T) {
	for _, err := range offline.Sources([]string{"-"}, endless{}) {
		var unreadable *offline.ReadError
		if !errors.As(err, &unreadable) || err.Error() != "stdin: more than 67108864 bytes" {
			t.Errorf("error %v", err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

var _ io.Reader = endless{}

// What is found in a directory may be no object; what was named is one.
func TestFoundFilesMayHoldAnything(t *testing.T) {
	objects, err := checker.Check(t.Context(), offline.Source{Name: "values.yaml", Content: []byte("replicas: 1\n---\n" + valid), Found: true})
	if err != nil || len(objects) != 1 {
		t.Errorf("%d objects, error %v", len(objects), err)
	}
}
