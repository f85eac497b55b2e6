package main

import (
	"strings"
	"testing"
)

func TestPins(t *testing.T) {
	got, err := readPins(goMod)
	if err != nil {
		t.Fatal(err)
	}
	if want := (pins{kubernetes: "v1.37.2", etcd: "v3.7.0"}); got != want {
		t.Errorf("pins %+v, want %+v", got, want)
	}
}

// A staging module that is not replaced would be taken at its own, other version.
func TestEveryStagingModuleIsReplaced(t *testing.T) {
	replaced := map[string]string{}
	for line := range strings.Lines(string(goMod)) {
		if from, to, ok := strings.Cut(line, " => "); ok {
			replaced[strings.TrimSpace(from)] = strings.TrimSpace(to)
		}
	}
	for line := range strings.Lines(string(goMod)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "k8s.io/") || fields[1] == "=>" {
			continue
		}
		module, version := fields[0], fields[1]
		if version != "v0.0.0" && !strings.HasPrefix(version, "v0.37.") {
			continue // not developed in the Kubernetes repository
		}
		if want := module + " v0.37.2"; replaced[module] != want {
			t.Errorf("%s is replaced by %q, want %q", module, replaced[module], want)
		}
	}
}

func TestRequiredVersion(t *testing.T) {
	tests := map[string]struct {
		mod  string
		want string
	}{
		"in a block":         {"require (\n\tk8s.io/kubernetes v1.2.3\n)\n", "v1.2.3"},
		"on a line":          {"require k8s.io/kubernetes v1.2.3\n", "v1.2.3"},
		"with a comment":     {"\tk8s.io/kubernetes v1.2.3 // indirect\n", "v1.2.3"},
		"after its tools":    {"tool k8s.io/kubernetes/cmd/kubectl\nrequire k8s.io/kubernetes v1.2.3\n", "v1.2.3"},
		"replaced elsewhere": {"replace (\n\tk8s.io/kubernetes => v1 v9.9.9\n)\nrequire k8s.io/kubernetes v1.2.3\n", "v1.2.3"},
		"longer name":        {"require k8s.io/kubernetes/v2 v2.0.0\n", ""},
		"not at all":         {"module x\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := requiredVersion([]byte(tt.mod), "k8s.io/kubernetes")
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("version %q, error %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestLinkerFlags(t *testing.T) {
	flags, err := linkerFlags("v1.37.2")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.37.2",
		"-X k8s.io/client-go/pkg/version.gitVersion=v1.37.2",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/component-base/version.gitMinor=37",
	} {
		if !strings.Contains(flags+" ", want+" ") {
			t.Errorf("%q lacks %q", flags, want)
		}
	}
	if _, err := linkerFlags("v1"); err == nil {
		t.Error("a version without a minor is accepted")
	}
}
