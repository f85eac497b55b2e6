package main

import (
	_ "embed"
	"fmt"
	"strings"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// The module's own files are the only place where versions are pinned. They are embedded, so that
// a build needs no checkout: it happens in a directory that holds nothing but these two.
var (
	//go:embed go.mod
	goMod []byte
	//go:embed go.sum
	goSum []byte
)

// pins are the versions that go.mod asks for, for example "v1.37.2".
type pins struct {
	kubernetes string
	etcd       string
}

func readPins(mod []byte) (pins, error) {
	kubernetes, err := requiredVersion(mod, kubernetesModule)
	if err != nil {
		return pins{}, err
	}
	etcd, err := requiredVersion(mod, etcdModule)
	if err != nil {
		return pins{}, err
	}
	return pins{kubernetes: kubernetes, etcd: etcd}, nil
}

func requiredVersion(mod []byte, module string) (string, error) {
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("go.mod requires no version of %s: add one", module)
}

// majorMinor splits "v1.37.2" into "1" and "37".
func majorMinor(version string) (major, minor string, err error) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 3 {
		return "", "", fmt.Errorf("%s has version %q: want vMAJOR.MINOR.PATCH", kubernetesModule, version)
	}
	return parts[0], parts[1], nil
}

// linkerFlags stamp the version into the binaries: without it kubectl and discovery take
// themselves for v0.0.0 and complain about a skew. The proxy does not tell the commit.
func linkerFlags(version string) (string, error) {
	major, minor, err := majorMinor(version)
	if err != nil {
		return "", err
	}
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, v := range [][2]string{
			{"gitVersion", version},
			{"gitMajor", major},
			{"gitMinor", minor},
			{"gitTreeState", "clean"},
			{"gitCommit", ""},
		} {
			flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, v[0], v[1]))
		}
	}
	return strings.Join(flags, " "), nil
}
