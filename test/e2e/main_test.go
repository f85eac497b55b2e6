// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the operator's own binary against a real control plane and real MCP servers.
//
// All tests share one control plane, in namespaces of their own. An operator works on all
// namespaces, so there is never more than one: tests that stop and kill operators run one after
// the other, with operators of their own, before those that share one run beside each other.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// environment is what TestMain makes for all tests.
type environment struct {
	root string
	dir  string
	// remit and helpdesk are the binaries under test.
	remit    string
	helpdesk string
	*controlPlane
}

var env environment

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard()) // what clients say is said to the tests, as errors
	if err := widen(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(m))
}

// widen lets more tests run beside each other than there are cores, unless the user said
// otherwise: most of the time they wait.
func widen() error {
	const name = "test.parallel"
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	if set {
		return nil
	}
	return flag.Set(name, "12")
}

func run(m *testing.M) (code int) {
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, tearDown()))
		return 1
	}
	defer func() {
		if err := tearDown(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

func setUp() (err error) {
	if env.root, err = moduleRoot(); err != nil {
		return err
	}
	if env.dir, err = os.MkdirTemp("", "remit-e2e-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	if err := env.build(ctx); err != nil {
		return err
	}
	env.controlPlane, err = startControlPlane(ctx, env.root, env.dir)
	return err
}

func tearDown() error {
	var errs []error
	if env.controlPlane != nil {
		errs = append(errs, env.process.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(env.dir))...)
}
