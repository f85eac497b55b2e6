package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	etcdName       = "etcd"
	apiserverName  = "kube-apiserver"
	controllerName = "kube-controller-manager"
	kubectlName    = "kubectl"
)

// target is one binary and the package that it is built from.
type target struct {
	name string
	pkg  string
}

var targets = []target{
	{etcdName, etcdModule},
	{apiserverName, kubernetesModule + "/cmd/kube-apiserver"},
	{controllerName, kubernetesModule + "/cmd/kube-controller-manager"},
	{kubectlName, kubernetesModule + "/cmd/kubectl"},
}

var (
	allBinaries = []string{etcdName, apiserverName, controllerName, kubectlName}
	// envtestBinaries are the ones that envtest looks for.
	envtestBinaries = []string{etcdName, apiserverName, kubectlName}
)

func buildCommand(ctx context.Context, args []string, stdout io.Writer, log *logger) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	bin := binFlag(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	dir, err := build(ctx, *bin, log)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, dir)
	return err
}

// binariesDir is where the binaries of the pinned version live below bin. The files are directly
// in it, which is what envtest expects of KUBEBUILDER_ASSETS.
func binariesDir(bin string) (string, error) {
	if bin == "" {
		root, err := repositoryBin()
		if err != nil {
			return "", err
		}
		bin = root
	}
	p, err := readPins(goMod)
	if err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join(bin, "k8s", p.kubernetes))
}

// build makes the binaries unless they are there, and returns their directory. Of two builds at
// the same time one waits for the other.
func build(ctx context.Context, bin string, log *logger) (string, error) {
	dir, err := binariesDir(bin)
	if err != nil {
		return "", err
	}
	b, err := newBuilder(ctx, dir, log)
	if err != nil {
		return "", err
	}
	defer b.close()
	if b.stamp.fresh(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockWait(ctx, filepath.Join(dir, "build.lock"), func() {
		log.printf("another build of %s is running: waiting for it", dir)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if b.stamp.fresh(dir) {
		return dir, nil
	}
	return dir, b.buildAll(ctx)
}

// workPrefix begins the names of directories in which a binary is being built.
const workPrefix = ".building-"

// builder builds into one directory, with the go command run in a module of its own.
type builder struct {
	dir     string
	module  string
	ldflags string
	stamp   stamp
	log     *logger
}

func newBuilder(ctx context.Context, dir string, log *logger) (*builder, error) {
	p, err := readPins(goMod)
	if err != nil {
		return nil, err
	}
	ldflags, err := linkerFlags(p.kubernetes)
	if err != nil {
		return nil, err
	}
	module, err := os.MkdirTemp("", "controlplane-build-")
	if err != nil {
		return nil, err
	}
	b := &builder{dir: dir, module: module, ldflags: ldflags, log: log}
	err = errors.Join(
		os.WriteFile(filepath.Join(module, "go.mod"), goMod, 0o644),
		os.WriteFile(filepath.Join(module, "go.sum"), goSum, 0o644),
	)
	if err != nil {
		b.close()
		return nil, err
	}
	goVersion, err := b.goVersion(ctx)
	if err != nil {
		b.close()
		return nil, err
	}
	b.stamp = newStamp(p, goVersion, ldflags)
	return b, nil
}

func (b *builder) close() { os.RemoveAll(b.module) }

func (b *builder) buildAll(ctx context.Context) error {
	// From here until the new stamp the directory counts as unbuilt.
	if err := removeIfExists(filepath.Join(b.dir, stampFile)); err != nil {
		return err
	}
	if err := b.removeLeftovers(); err != nil {
		return err
	}
	b.log.printf("building Kubernetes %s and etcd %s with %s into %s; the first time takes some minutes",
		b.stamp.Kubernetes, b.stamp.Etcd, b.stamp.Go, b.dir)
	began := time.Now()
	for i, t := range targets {
		label := fmt.Sprintf("[%d/%d] %s", i+1, len(targets), t.name)
		if err := b.buildOne(ctx, t, label); err != nil {
			return err
		}
	}
	if err := b.stamp.write(b.dir); err != nil {
		return err
	}
	b.log.printf("all built in %s", time.Since(began).Round(time.Second))
	return nil
}

// removeLeftovers clears away what a killed build could not.
func (b *builder) removeLeftovers() error {
	left, err := filepath.Glob(filepath.Join(b.dir, workPrefix+"*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

func (b *builder) buildOne(ctx context.Context, t target, label string) error {
	// Inside the target directory, because a rename is atomic only within one file system.
	tmp, err := os.MkdirTemp(b.dir, workPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, t.name)
	began := time.Now()
	if err := b.goBuild(ctx, t, out, label); err != nil {
		return fmt.Errorf("%s: %w", label, err)
	}
	if err := os.Rename(out, filepath.Join(b.dir, t.name)); err != nil {
		return err
	}
	b.log.printf("%s built in %s", label, time.Since(began).Round(time.Second))
	return nil
}
