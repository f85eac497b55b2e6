package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	progressEvery = 10 * time.Second
	// keptLines bounds what is remembered of a failing build's output.
	keptLines = 40
	// interruptGrace is how long an interrupted go command may take to remove its work files.
	interruptGrace = 5 * time.Second
)

// goCommand prepares a go command that ignores the user's workspace and cross-compilation.
func (b *builder) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(),
		"PWD="+b.module,
		"CGO_ENABLED=0",
		"GOWORK=off",
		"GOOS="+runtime.GOOS,
		"GOARCH="+runtime.GOARCH,
	)
	return cmd
}

// goVersion asks in the module's directory, where the toolchain line of go.mod counts.
func (b *builder) goVersion(ctx context.Context) (string, error) {
	out, err := b.goCommand(ctx, "env", "GOVERSION").Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("go env GOVERSION: %w: a Go toolchain must be in PATH", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (b *builder) goBuild(ctx context.Context, t target, out, label string) error {
	cmd := b.goCommand(ctx, "build", "-v", "-mod=readonly", "-trimpath", "-ldflags", b.ldflags, "-o", out, t.pkg)
	cmd.SysProcAttr = childAttr()
	cmd.Cancel = func() error { return signalGroup(cmd.Process, syscall.SIGTERM) }
	cmd.WaitDelay = interruptGrace
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := spawn(cmd.Start); err != nil {
		return ended(ctx, err)
	}
	seen := &buildOutput{}
	stopReport := reportEvery(progressEvery, func(elapsed time.Duration) {
		b.log.printf("%s: %s, %s", label, seen.summary(), elapsed.Round(time.Second))
	})
	seen.read(stderr)
	err = cmd.Wait()
	stopReport()
	if err != nil {
		return ended(ctx, fmt.Errorf("go build %s: %w\n%s", t.pkg, err, seen.rest()))
	}
	return nil
}

// ended prefers the reason why ctx ended over an error that only follows from it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reportEvery calls report at each interval until the returned function is called.
func reportEvery(interval time.Duration, report func(elapsed time.Duration)) (stop func()) {
	began := time.Now()
	ticker := time.NewTicker(interval)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ticker.C:
				report(time.Since(began))
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		wg.Wait()
	}
}

// buildOutput tells progress in the output of "go build -v" from what explains a failure.
type buildOutput struct {
	mu         sync.Mutex
	packages   int
	downloaded int
	kept       []string
}

// read consumes r to its end; a line beyond the scanner's bound ends the reading, not the build.
func (o *buildOutput) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		o.add(lines.Text())
	}
	_, _ = io.Copy(io.Discard, r)
}

func (o *buildOutput) add(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.downloaded++
	case line != "" && !strings.ContainsAny(line, " \t#:"):
		o.packages++
	default:
		if len(o.kept) == keptLines {
			o.kept = o.kept[1:]
		}
		o.kept = append(o.kept, line)
	}
}

func (o *buildOutput) summary() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.packages == 0 && o.downloaded > 0 {
		return fmt.Sprintf("%d modules downloaded", o.downloaded)
	}
	if o.packages == 0 {
		return "linking from the build cache"
	}
	return fmt.Sprintf("%d packages compiled", o.packages)
}

func (o *buildOutput) rest() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.kept, "\n")
}
