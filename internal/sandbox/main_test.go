// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"testing"
)

// children are what this binary does instead of testing when it is started with
// the name of one, as the operator's binary does with a subcommand.
var children = map[string]func() error{
	"sandbox": func() error { return Serve(os.Stdin, os.Stdout) },
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			if err := child(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// newTestRunner makes a Runner whose children are of one kind.
func newTestRunner(t *testing.T, child string, change func(*Options)) *Runner {
	t.Helper()
	options := Options{Command: []string{executable(t), child}}
	if change != nil {
		change(&options)
	}
	runner, err := NewRunner(options)
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
