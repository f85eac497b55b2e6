package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// readyInfo is what a program needs to use a control plane. All paths are absolute.
type readyInfo struct {
	// PID is the runner's; a SIGTERM to it stops everything.
	PID     int    `json:"pid"`
	Server  string `json:"server"`
	Version string `json:"version"`
	Dir     string `json:"dir"`
	Kubectl string `json:"kubectl"`
	// Kubeconfigs has the keys admin, author, approver and operator.
	Kubeconfigs map[string]string `json:"kubeconfigs"`
	AuditLog    string            `json:"auditLog,omitempty"`
}

// line is the one line that run and start print.
func (r readyInfo) line() (string, error) {
	data, err := json.Marshal(r)
	return "ready " + string(data), err
}

type runOptions struct {
	dir       string
	bin       string
	auditLog  string
	manifests []string
	parentPID int
}

func parseRunOptions(name string, args []string) (runOptions, error) {
	var o runOptions
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "directory of the control plane: its data, logs and kubeconfigs (required)")
	bin := binFlag(flags)
	flags.StringVar(&o.auditLog, "audit-log", "", "file that gets the API server's audit log, one JSON object per line")
	flags.Func("manifests", "file or directory to apply as admin, by kustomize if it has a kustomization; may be repeated", func(path string) error {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		if _, err := os.Stat(abs); err != nil {
			return err
		}
		o.manifests = append(o.manifests, abs)
		return nil
	})
	flags.IntVar(&o.parentPID, "parent-pid", 0, "stop when the process with this id ends")
	if err := parse(flags, args); err != nil {
		return runOptions{}, err
	}
	o.bin = *bin
	return o, o.resolve(name)
}

func (o *runOptions) resolve(name string) error {
	var err error
	if o.dir, err = requiredDir(name, o.dir); err != nil {
		return err
	}
	if o.parentPID < 0 {
		return fmt.Errorf("%s: --parent-pid %d: want the id of a process", name, o.parentPID)
	}
	if o.auditLog != "" {
		o.auditLog, err = filepath.Abs(o.auditLog)
	}
	return err
}

func requiredDir(name, dir string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("%s: --dir is required: name a directory for the control plane", name)
	}
	return filepath.Abs(dir)
}

// args are the flags that give these options to another process.
func (o runOptions) args() []string {
	args := []string{"--dir=" + o.dir}
	if o.bin != "" {
		args = append(args, "--bin="+o.bin)
	}
	if o.auditLog != "" {
		args = append(args, "--audit-log="+o.auditLog)
	}
	for _, path := range o.manifests {
		args = append(args, "--manifests="+path)
	}
	if o.parentPID != 0 {
		args = append(args, "--parent-pid="+strconv.Itoa(o.parentPID))
	}
	return args
}

func runCommand(ctx context.Context, args []string, stdout io.Writer, log *logger) error {
	opts, err := parseRunOptions("run", args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if opts.parentPID != 0 {
		if err := stopWithParent(ctx, opts.parentPID, cancel); err != nil {
			return err
		}
	}
	a, err := findAssets(ctx, opts.bin, log)
	if err != nil {
		return err
	}
	l := layout{dir: opts.dir}
	if err := l.create(); err != nil {
		return err
	}
	unlock, err := tryLock(l.pidFile())
	if errors.Is(err, errLocked) {
		return fmt.Errorf("--dir %s: a control plane runs there already: stop it, or name another directory", l.dir)
	}
	if err != nil {
		return err
	}
	defer unlock()
	cp := &controlPlane{layout: l, assets: a, log: log, fail: cancel}
	return cp.run(ctx, opts, stdout)
}

// run is the whole life of a control plane. Nothing that it started outlives it.
func (cp *controlPlane) run(ctx context.Context, opts runOptions, stdout io.Writer) error {
	if err := cp.prepare(time.Now()); err != nil {
		return err
	}
	err := cp.serve(ctx, opts, stdout)
	err = errors.Join(err, removeIfExists(cp.layout.readyFile()))
	cp.takeDown()
	return err
}

// serve returns when ctx ends or something fails. Only before readiness is a stop on request an
// error, because the caller waits for a line that does not come.
func (cp *controlPlane) serve(ctx context.Context, opts runOptions, stdout io.Writer) error {
	began := time.Now()
	info, err := cp.bringUp(ctx, opts)
	if err != nil {
		return err
	}
	cp.log.printf("Kubernetes %s ready at %s after %s", info.Version, info.Server, time.Since(began).Round(100*time.Millisecond))
	if err := announce(cp.layout, info, stdout); err != nil {
		return err
	}
	<-ctx.Done()
	err = context.Cause(ctx)
	if asked, ok := errors.AsType[*stopRequest](err); ok {
		cp.log.printf("stopping: %s", asked.why)
		return nil
	}
	return err
}

// prepare writes the files that the components read.
func (cp *controlPlane) prepare(now time.Time) error {
	// First, since a file that a killed runner left behind would now be taken for this one's.
	if err := removeIfExists(cp.layout.readyFile()); err != nil {
		return err
	}
	creds, err := writeCredentials(cp.layout, now)
	if err != nil {
		return err
	}
	cp.creds = creds
	return writeFile(cp.layout.auditPolicy(), auditPolicy, 0o600)
}

// announce tells other processes by file and the caller by line.
func announce(l layout, info readyInfo, stdout io.Writer) error {
	line, err := info.line()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(l.readyFile(), append(data, '\n'), 0o600); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, line)
	return err
}

func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
