// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sharedFlags are those of the operator that tests share. The time for a model call is short enough
// to wait for twice, and long enough for a model that answers.
var sharedFlags = []string{"--model-timeout", "10s"}

// operator is the operator's binary, with the rights of its own service account and no others. The
// name of the replica is always the same, as that of a Pod of a StatefulSet or a restarted container.
type operator struct {
	flags []string
	*process
}

func startOperator(t *testing.T, flags ...string) *operator {
	t.Helper()
	// A log of its own for each, in the order in which they were started.
	logs.mu.Lock()
	logs.count++
	name := fmt.Sprintf("operator-%03d", logs.count)
	logs.mu.Unlock()
	args := append([]string{
		env.remit, "operator", "--identity", "e2e", "--egress-allow", "127.0.0.0/8",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0",
	}, flags...)
	p, err := program{name: name, args: args, environment: []string{"KUBECONFIG=" + env.ready.Kubeconfigs["operator"]}}.start(env.dir)
	if err != nil {
		t.Fatal(err)
	}
	return &operator{flags: flags, process: p}
}

var logs struct {
	mu    sync.Mutex
	count int
}

// ownOperator starts an operator for this test alone, which must not be parallel. It is stopped at
// the end of the test.
func ownOperator(t *testing.T, flags ...string) *operator {
	t.Helper()
	o := startOperator(t, flags...)
	t.Cleanup(func() { o.finish(t) })
	return o
}

// crash ends the operator as kill -9 does.
func (o *operator) crash(t *testing.T) {
	t.Helper()
	if o.hasEnded() {
		t.Fatalf("the operator ended by itself: %v\n%s", o.err, o.tail())
	}
	if err := o.kill(); err != nil {
		t.Fatal(err)
	}
	o.checkLog(t)
}

// restart starts it again, as it was started before.
func (o *operator) restart(t *testing.T) {
	t.Helper()
	o.process = startOperator(t, o.flags...).process
}

// finish stops the operator and looks at what it has logged.
func (o *operator) finish(t *testing.T) {
	t.Helper()
	if err := o.stop(); err != nil {
		t.Error(err)
	}
	o.checkLog(t)
}

// checkLog looks for what no operator may ever log.
func (o *operator) checkLog(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(o.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []string{"WARNING: DATA RACE", "panic", "goroutine "} {
		if at := bytes.Index(text, []byte(fault)); at >= 0 {
			t.Errorf("the operator's log holds %q:\n%s", fault, text[at:min(at+6000, len(text))])
			return
		}
	}
}

// shared is the operator of the tests that run beside each other.
var shared struct {
	mu       sync.Mutex
	users    int
	operator *operator
}

// useOperator makes the test parallel and gives it the operator that it shares with others, which
// runs as long as one of them does.
func useOperator(t *testing.T) *operator {
	t.Helper()
	t.Parallel()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		shared.operator = startOperator(t, sharedFlags...)
	}
	shared.users++
	t.Cleanup(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.users--; shared.users == 0 {
			shared.operator.finish(t)
		}
	})
	return shared.operator
}

// linesAbout are the lines of all operators' logs that hold a text, the last of them.
func linesAbout(t *testing.T, text string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(env.dir, "operator-*.log"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				found = append(found, lines.Text())
			}
		}
	}
	const most = 40
	return strings.Join(found[max(len(found)-most, 0):], "\n")
}
