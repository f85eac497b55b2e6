// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/offline"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"a.yaml": "a", "b/c.yml": "c", "b/d.json": "d", "b/e.txt": "e", "B.YAML": "B", ".git/f.yaml": "f", ".g.yaml": "g", "c/h.yaml": "h",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	odd := filepath.Join(dir, "c")
	if err := errors.Join(syscall.Mkfifo(filepath.Join(odd, "pipe.yaml"), 0o600), os.Symlink("h.yaml", filepath.Join(odd, "i.yaml")),
		os.Symlink("../b", filepath.Join(odd, "j.yaml")), os.Symlink("none", filepath.Join(odd, "k.yaml")), os.Symlink("c", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		paths []string
		want  []string
	}{
		"a directory": {[]string{"b", "./b/"}, []string{"b/c.yml=c found", "b/d.json=d found", "b/c.yml=c found", "b/d.json=d found"}},
		"links, and what is no file": {[]string{"link"}, []string{
			"link/h.yaml=h found", "link/i.yaml=h found", "link/j.yaml= found, left out: links to directories are not followed",
			"link/k.yaml: no such file or directory", "link/pipe.yaml= found, left out: it is neither a file nor a directory",
		}},
		"a file, whatever its name":   {[]string{"b/e.txt", ".g.yaml"}, []string{"b/e.txt=e", ".g.yaml=g"}},
		"standard input among others": {[]string{"a.yaml", "-", "b"}, []string{"a.yaml=a", "stdin=in", "b/c.yml=c found", "b/d.json=d found"}},
		"one that is not there":       {[]string{"x.yaml", "a.yaml"}, []string{"x.yaml: no such file or directory", "a.yaml=a"}},
	}
	t.Chdir(dir)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for source, err := range offline.Sources(t.Context(), test.paths, strings.NewReader("in")) {
				switch {
				case err != nil:
					got = append(got, err.Error())
				case source.Skipped != "":
					got = append(got, source.Name+"="+string(source.Content)+" found, "+source.Skipped)
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
	for _, err := range offline.Sources(t.Context(), []string{"-"}, endless{}) {
		var unreadable *offline.ReadError
		if !errors.As(err, &unreadable) || err.Error() != "stdin: it has more than 67108864 bytes" {
			t.Errorf("error %v", err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

var _ io.Reader = endless{}

// A pipe that is named is read, as in <(kustomize build).
func TestNamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, []byte(valid), 0o600) }()
	report := checker.CheckAll(t.Context(), []string{pipe}, nil)
	if err := errors.Join(report.Err(), <-written); err != nil || len(report.Objects) != 1 {
		t.Errorf("%d objects, %v", len(report.Objects), err)
	}
}

// Reading ends when it is told to, even where nothing ever comes.
func TestReadingIsInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	silent, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	interrupted := errors.New("interrupted")
	for name, paths := range map[string][]string{"standard input": {"-", "a.yaml"}, "a pipe that nobody opens": {pipe, "a.yaml"}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(interrupted)
			report := checker.CheckAll(ctx, paths, silent)
			if len(report.Errors) != 1 || !errors.Is(report.Err(), interrupted) {
				t.Errorf("errors: %v", report.Err())
			}

			ctx, cancel = context.WithCancelCause(t.Context())
			done := make(chan *offline.Report)
			go func() { done <- checker.CheckAll(ctx, paths, silent) }()
			cancel(interrupted)
			if report := <-done; len(report.Errors) != 1 || !errors.Is(report.Err(), interrupted) {
				t.Errorf("errors: %v", report.Err())
			}
		})
	}
}

// What is found in a directory may be no object; what was named is one, and so is
// what says that it is one of ours.
func TestFoundFilesMayHoldAnything(t *testing.T) {
	const (
		template = "apiVersion: remit.dev/v1alpha1\nkind: Spec\nmetadata: {name: {{ .Values.name }}}\n"
		left     = ": left out, as it names no apiVersion of remit.dev: "
	)
	tests := map[string]struct {
		name, text string
		objects    int
		notice     string
		found      string // the error if the file was found in a directory
		named      string // the error if it was named
	}{
		"values":          {name: "values.yaml", text: "replicas: 1\n---\n" + valid, objects: 1, named: "values.yaml:1: an object is needed, with apiVersion, kind and metadata"},
		"a list":          {name: "a.yaml", text: "- 1\n", notice: "a.yaml:1" + left + "an object is needed, with apiVersion, kind and metadata", named: "a.yaml:1: an object is needed, with apiVersion, kind and metadata"},
		"a template":      {name: "a.yaml", text: "a: b\n---\n{{- if .Values.x }}\na: 1\n", notice: "a.yaml:3" + left + "yaml: did not find expected node content", named: "a.yaml:1: an object is needed, with apiVersion, kind and metadata\na.yaml:3: yaml: did not find expected node content"},
		"one of ours":     {name: "a.yaml", text: template, found: "a.yaml:1: yaml: invalid map key: map[interface {}]interface {}{\".Values.name\":interface {}(nil)}", named: "a.yaml:1: yaml: invalid map key: map[interface {}]interface {}{\".Values.name\":interface {}(nil)}"},
		"without a kind":  {name: "a.json", text: `{"apiVersion": "remit.dev/v1alpha1"}`, found: "a.json:1: an object is needed, with apiVersion, kind and metadata", named: "a.json:1: an object is needed, with apiVersion, kind and metadata"},
		"tsconfig.json":   {name: "tsconfig.json", text: "{\n  // Why\n  \"a\": 1\n}\n", notice: "tsconfig.json:2" + left + "yaml: did not find expected ',' or '}'", named: "tsconfig.json:2: yaml: did not find expected ',' or '}'"},
		"in UTF-16":       {name: "a.yaml", text: "\xff\xfea\x00:\x00", notice: "a.yaml:1" + left + "the text is UTF-16: save it as UTF-8", named: "a.yaml:1: the text is UTF-16: save it as UTF-8"},
		"a kustomization": {name: "kustomization.yaml", text: "resources: [a.yaml]\n"},
		"nothing":         {name: "a.yaml", text: "", named: "a.yaml: there is no object in it"},
		"other groups":    {name: "a.yaml", text: "apiVersion: v1\nkind: Secret\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, found := range []bool{true, false} {
				report := checker.Check(t.Context(), offline.Source{Name: test.name, Content: []byte(test.text), Found: found})
				want, notice := test.named, ""
				if found {
					want, notice = test.found, test.notice
				}
				var got, notices []string
				for _, err := range report.Errors {
					got = append(got, err.Error())
				}
				for _, n := range report.Notices {
					notices = append(notices, n.String())
				}
				if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
					t.Errorf("found: %t, errors (-want +got):\n%s", found, diff)
				}
				if diff := cmp.Diff(notice, strings.Join(notices, "\n")); diff != "" {
					t.Errorf("found: %t, notices (-want +got):\n%s", found, diff)
				}
				if len(report.Objects) != test.objects {
					t.Errorf("found: %t, %d objects", found, len(report.Objects))
				}
			}
		})
	}
}
