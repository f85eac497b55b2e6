// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// asProcess makes the test binary the command itself.
const asProcess = "REMIT_TEST_AS_PROCESS"

func TestAsProcess(t *testing.T) {
	if os.Getenv(asProcess) == "" {
		t.Skip("run by TestSignals")
	}
	os.Args = append([]string{"remit"}, os.Args[len(os.Args)-2:]...)
	main()
}

// The first signal ends a command that waits for its input.
func TestSignals(t *testing.T) {
	if os.Getenv(asProcess) != "" {
		t.Skip("this is the process")
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAsProcess$", "lint", pipe)
			process.Env = append(os.Environ(), asProcess+"=1")
			var stderr bytes.Buffer
			process.Stderr = &stderr
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once it is opened for reading
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = writer.Close() }()
			if err := process.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = process.Wait()
			if code := process.ProcessState.ExitCode(); code != exitUnreadable || !bytes.Contains(stderr.Bytes(), []byte(pipe+": ")) {
				t.Errorf("it ended with %s, and wrote %s", process.ProcessState, &stderr)
			}
		})
	}
}
