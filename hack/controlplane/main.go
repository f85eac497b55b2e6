// Command controlplane builds a Kubernetes control plane from source and runs it on loopback,
// so that Remit can be tried and tested on a machine that has Go and nothing else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `Usage: controlplane COMMAND [flags]

  build   build etcd, kube-apiserver, kube-controller-manager and kubectl, unless they are there
  env     print the shell line that points envtest at the binaries
  run     run a control plane in the foreground until a signal comes
  start   run a control plane in the background, return when it is ready
  status  say whether the control plane of a directory runs
  stop    stop the control plane of a directory

"controlplane COMMAND -h" lists the flags of a command.
`

// notRunningCode is the exit code of status for a stopped control plane, as for init scripts.
const notRunningCode = 3

var errNotRunning = errors.New("not running")

type command func(ctx context.Context, args []string, stdout io.Writer, log *logger) error

func main() {
	os.Exit(dispatch(os.Args[1:], os.Stdout, os.Stderr))
}

func dispatch(args []string, stdout, stderr io.Writer) int {
	commands := map[string]command{
		"build":  buildCommand,
		"env":    envCommand,
		"run":    runCommand,
		"start":  startCommand,
		"status": statusCommand,
		"stop":   stopCommand,
	}
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return 0
	}
	run, known := commands[args[0]]
	if !known {
		fmt.Fprintf(stderr, "controlplane: unknown command %q\n\n%s", args[0], usage)
		return 2
	}
	log := &logger{out: stderr}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stopOnSignal(cancel)
	return exitCode(run(ctx, args[1:], stdout, log), log)
}

func exitCode(err error, log *logger) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errNotRunning):
		return notRunningCode
	default:
		log.printf("%v", err)
		return 1
	}
}

// parse reads flags and refuses anything left over, so that a mistyped flag is not ignored.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q: every value needs its flag", flags.Name(), flags.Arg(0))
	}
	return nil
}
