// SPDX-License-Identifier: Apache-2.0

// Command demo shows one Run from end to end on this machine alone: it builds and
// starts a control plane, the operator and a help-desk MCP server, applies the
// samples, shows what waits for approval with the patch that approves it, waits
// for that patch, and shows how the Run ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	approve := flag.Bool("approve", false, "make the approving patch instead of waiting for it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, *approve)
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "\ninterrupted; everything is stopped")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, approve bool) (err error) {
	d, err := newDemo(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	for _, step := range []func() error{
		d.build, d.startControlPlane, d.startHelpDesk, d.startOperator, d.applySamples, d.waitForSuspension,
	} {
		if err := step(); err != nil {
			return d.interrupted(err)
		}
	}
	if approve {
		err = d.approve()
	} else {
		err = d.askForApproval()
	}
	if err != nil {
		return d.interrupted(err)
	}
	return d.interrupted(d.showEnd())
}
