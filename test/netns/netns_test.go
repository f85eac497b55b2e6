// SPDX-License-Identifier: Apache-2.0

package netns_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/test/netns"
)

// reports is set in the process that tells what it sees.
const reports = "REMIT_TEST_NETNS_REPORTS"

func TestMain(m *testing.M) {
	netns.Main()
	if os.Getenv(reports) != "" {
		report()
		return
	}
	os.Exit(m.Run())
}

// report tells the interfaces, and whether loopback can be used.
func report() {
	interfaces, err := net.Interfaces()
	if err != nil {
		panic(err)
	}
	for _, i := range interfaces {
		os.Stdout.WriteString(i.Name + "\n")
	}
	ctx := context.Background()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	connection.Close()
	os.Stdout.WriteString("argument " + os.Args[1] + "\n")
}

// A program in a namespace has the loopback interface and no other, and gets its arguments as they are.
func TestCommand(t *testing.T) {
	if err := netns.Available(t.Context()); err != nil {
		t.Skip(err)
	}
	command := netns.Command(t.Context(), os.Args[0], "a b")
	command.Env = append(command.Env, reports+"=1")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if diff := cmp.Diff([]string{"lo", "argument a b"}, strings.Split(strings.TrimSpace(string(output)), "\n")); diff != "" {
		t.Errorf("what it saw (-want +got):\n%s", diff)
	}
}

// A program that fails to start says why.
func TestCommandWithoutAProgram(t *testing.T) {
	if err := netns.Available(t.Context()); err != nil {
		t.Skip(err)
	}
	output, err := netns.Command(t.Context(), "no-such-program").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "the program is not found") {
		t.Errorf("got %v: %s", err, output)
	}
}
