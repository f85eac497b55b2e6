package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const assetsVariable = "KUBEBUILDER_ASSETS"

// assets says where the binaries of one control plane are.
type assets struct {
	// dir holds etcd, kube-apiserver and kubectl.
	dir string
	// controllerManager is the path of kube-controller-manager, or empty if there is none.
	controllerManager string
}

func (a assets) path(name string) string {
	if name == controllerName {
		return a.controllerManager
	}
	return filepath.Join(a.dir, name)
}

func envCommand(_ context.Context, args []string, stdout io.Writer, log *logger) error {
	flags := flag.NewFlagSet("env", flag.ContinueOnError)
	bin := binFlag(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	dir, err := binariesDir(*bin)
	if err != nil {
		return err
	}
	a, ok, err := userAssets(os.Getenv(assetsVariable), dir, log)
	if err != nil {
		return err
	}
	if !ok {
		if gone := missing(dir, allBinaries...); len(gone) > 0 {
			return fmt.Errorf("%s lacks %s: run \"controlplane build\" first", dir, strings.Join(gone, ", "))
		}
		a = assets{dir: dir}
	}
	_, err = fmt.Fprintf(stdout, "export %s=%s\n", assetsVariable, shellQuote(a.dir))
	return err
}

// findAssets prefers the user's binaries and builds ours where there are none.
func findAssets(ctx context.Context, bin string, log *logger) (assets, error) {
	dir, err := binariesDir(bin)
	if err != nil {
		return assets{}, err
	}
	if a, ok, err := userAssets(os.Getenv(assetsVariable), dir, log); err != nil || ok {
		return a, err
	}
	if dir, err = build(ctx, bin, log); err != nil {
		return assets{}, err
	}
	return assets{dir: dir, controllerManager: filepath.Join(dir, controllerName)}, nil
}

// userAssets looks for the binaries in the directory that the user named. A directory that lacks
// one of them is passed over with a line that says so, as envtest could not use it either.
func userAssets(named, ours string, log *logger) (a assets, ok bool, err error) {
	if named == "" {
		return assets{}, false, nil
	}
	dir, err := filepath.Abs(named)
	if err != nil {
		return assets{}, false, err
	}
	if gone := missing(dir, envtestBinaries...); len(gone) > 0 {
		log.printf("%s=%s lacks %s: using %s instead", assetsVariable, named, strings.Join(gone, ", "), ours)
		return assets{}, false, nil
	}
	a = assets{dir: dir}
	switch {
	case len(missing(dir, controllerName)) == 0:
		a.controllerManager = filepath.Join(dir, controllerName)
	case len(missing(ours, controllerName)) == 0:
		a.controllerManager = filepath.Join(ours, controllerName)
		log.printf("%s=%s has no %s: using %s", assetsVariable, named, controllerName, a.controllerManager)
	default:
		log.printf("%s=%s has no %s: nothing collects garbage or empties namespaces", assetsVariable, named, controllerName)
	}
	return a, true, nil
}

func binFlag(flags *flag.FlagSet) *string {
	return flags.String("bin", "", "directory for binaries, used below k8s/VERSION (default: bin in the repository)")
}

// repositoryBin finds the repository that holds the working directory.
func repositoryBin() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "hack", "controlplane", "go.mod"))
		if err == nil {
			return filepath.Join(dir, "bin"), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the Remit repository: name a directory with --bin", start)
		}
	}
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
