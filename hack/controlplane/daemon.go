package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopBound is longer than the graces of all components together.
const stopBound = controllerGrace + apiserverGrace + etcdGrace + 10*time.Second

// runnerLog is the log of a runner in the background.
const runnerLog = "controlplane"

func startCommand(ctx context.Context, args []string, stdout io.Writer, log *logger) error {
	opts, err := parseRunOptions("start", args)
	if err != nil {
		return err
	}
	l := layout{dir: opts.dir}
	if found, err := printRunning(ctx, l, stdout, log); found || err != nil {
		return err
	}
	// Built here rather than in the background, where nobody sees the progress.
	if _, err := findAssets(ctx, opts.bin, log); err != nil {
		return err
	}
	if err := l.create(); err != nil {
		return err
	}
	return startDetached(ctx, l, opts, stdout)
}

// startDetached runs the runner in a session of its own, and hands on the line that it prints.
func startDetached(ctx context.Context, l layout, opts runOptions, stdout io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(l.log(runnerLog), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, append([]string{"run"}, opts.args()...)...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := firstLine(ctx, cmd, out)
	if err != nil {
		return fmt.Errorf("%w; the end of %s:\n%s", err, l.log(runnerLog), tail(l.log(runnerLog)))
	}
	if err := cmd.Process.Release(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, line)
	return err
}

// firstLine waits for the runner's line. If ctx ends first, so does the runner.
func firstLine(ctx context.Context, cmd *exec.Cmd, out io.Reader) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	line, err := bufio.NewReader(io.LimitReader(out, bodyLimit)).ReadString('\n')
	if undisturbed := stop(); undisturbed && err == nil {
		return strings.TrimSuffix(line, "\n"), nil
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("the control plane did not start: %w", err)
	}
	return "", errors.New("the control plane ended before it was ready")
}

func statusCommand(_ context.Context, args []string, stdout io.Writer, _ *logger) error {
	l, err := parseDir("status", args)
	if err != nil {
		return err
	}
	pid, err := lockHolder(l.pidFile())
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Fprintln(stdout, "stopped")
		return errNotRunning
	}
	info, err := readReady(l)
	if errors.Is(err, os.ErrNotExist) {
		_, err = fmt.Fprintf(stdout, "starting or stopping, process %d\n", pid)
		return err
	}
	if err != nil {
		return err
	}
	return printReady(info, stdout)
}

func stopCommand(ctx context.Context, args []string, _ io.Writer, log *logger) error {
	l, err := parseDir("stop", args)
	if err != nil {
		return err
	}
	pid, err := lockHolder(l.pidFile())
	if err != nil {
		return err
	}
	if pid == 0 {
		log.printf("the control plane of %s does not run", l.dir)
		return nil
	}
	runner, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := runner.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, stopBound,
		fmt.Errorf("the control plane of %s, process %d, has not ended after %s: see %s", l.dir, pid, stopBound, l.log(runnerLog)))
	defer cancel()
	for pid != 0 {
		if err := pause(bounded, lockPoll); err != nil {
			return err
		}
		if pid, err = lockHolder(l.pidFile()); err != nil {
			return err
		}
	}
	log.printf("stopped the control plane of %s", l.dir)
	return nil
}

func parseDir(name string, args []string) (layout, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	dir := flags.String("dir", "", "directory of the control plane (required)")
	if err := parse(flags, args); err != nil {
		return layout{}, err
	}
	abs, err := requiredDir(name, *dir)
	return layout{dir: abs}, err
}

// printRunning prints the line of a control plane that runs, once it is ready. It reports false
// when none runs, or one ended meanwhile.
//
// A runner that is killed leaves its line behind, and may keep its lock and its ports a little
// longer than its components work. Therefore the line counts only while the API server answers.
func printRunning(ctx context.Context, l layout, stdout io.Writer, log *logger) (found bool, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, startBound,
		fmt.Errorf("the control plane of %s is not ready after %s: see %s", l.dir, startBound, l.log(runnerLog)))
	defer cancel()
	for waiting := false; ; {
		pid, err := lockHolder(l.pidFile())
		if err != nil || pid == 0 {
			return false, err
		}
		info, err := readReady(l)
		switch {
		case err == nil && answers(bounded, l, info.Server):
			log.printf("the control plane of %s runs already, process %d", l.dir, pid)
			return true, printReady(info, stdout)
		case err == nil && !waiting:
			log.printf("the control plane of %s, process %d, does not answer at %s: waiting until it does or has ended", l.dir, pid, info.Server)
			waiting = true
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return false, err
		}
		if err := pause(bounded, lockPoll); err != nil {
			return false, err
		}
	}
}

// answers reports whether the API server is ready, which everybody may ask it.
func answers(ctx context.Context, l layout, server string) bool {
	ca, err := os.ReadFile(l.cert(clusterCA))
	if err != nil {
		return false
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	api := newProbe(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}, server)
	defer api.close()
	_, err = api.get(ctx, "/readyz")
	return err == nil
}

func readReady(l layout) (readyInfo, error) {
	var info readyInfo
	data, err := os.ReadFile(l.readyFile())
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("%s: %w", l.readyFile(), err)
	}
	return info, nil
}

func printReady(info readyInfo, stdout io.Writer) error {
	line, err := info.line()
	if err == nil {
		_, err = fmt.Fprintln(stdout, line)
	}
	return err
}
