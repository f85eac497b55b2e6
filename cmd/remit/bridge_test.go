// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/mcp/bridge"
)

// bridgeOptions parses a command line as the bridge does.
func bridgeOptions(t *testing.T, environment map[string]string, args ...string) (bridge.Options, error) {
	t.Helper()
	flags := &bridgeFlags{}
	command := newBridgeCommandFor(flags)
	if err := command.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return flags.options(command.Flags().Args(), func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	})
}

// N1: what the flags name is the server's environment, by the names that it knows, and nothing else.
func TestBridgeEnvironment(t *testing.T) {
	environment := map[string]string{"PATH": "/bin", "REMIT_ENV_TOKEN": "canary", "KEY": "k", "HOSTNAME": "h", "EMPTY": ""}
	got, err := bridgeOptions(t, environment,
		"--env", "GREETING=a=b", "--env", "NOTHING=", "--env-from", "TOKEN=REMIT_ENV_TOKEN", "--env-from", "KEY",
		"--inherit-env", "PATH", "--inherit-env", "EMPTY", "--inherit-env", "HOME",
		"--credential-env", "API_KEY", "--", "node", "index.js", "--env", "X=1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"GREETING=a=b", "NOTHING=", "TOKEN=canary", "KEY=k", "PATH=/bin", "EMPTY="}, got.Env); diff != "" {
		t.Errorf("the environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GREETING", "NOTHING", "PATH", "EMPTY"}, got.Plain); diff != "" {
		t.Errorf("what may be shown (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"node", "index.js", "--env", "X=1"}, got.Command); diff != "" {
		t.Errorf("the command (-want +got):\n%s", diff)
	}
	if got.CredentialEnv != "API_KEY" || got.Shared {
		t.Errorf("got %+v", got)
	}
	if got, err := bridgeOptions(t, nil, "--sessions", "Shared", "--", "node"); err != nil || !got.Shared || got.Env == nil {
		t.Errorf("shared: %+v, %v", got, err)
	}
}

func TestBridgeRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		want string
	}{
		"no command":     {nil, "there is no command: give the server's after --"},
		"no value":       {[]string{"--env", "A", "x"}, `--env: "A" is not NAME=VALUE`},
		"no name":        {[]string{"--env", "=canary", "x"}, `--env: "=canary" is not NAME=VALUE`},
		"no variable":    {[]string{"--env-from", "A=B", "x"}, `--env-from: there is no variable "B"`},
		"other sessions": {[]string{"--sessions", "Pooled", "x"}, `--sessions: "Pooled" is neither PerSession nor Shared`},
	} {
		if _, err := bridgeOptions(t, nil, row.args...); err == nil || err.Error() != row.want {
			t.Errorf("%s: got %v, want %s", name, err, row.want)
		}
	}
}

// A server in this process is not there for other replicas.
func TestLocalStdioIsForOneReplica(t *testing.T) {
	flags := hostingFlags{localStdio: true}
	if _, err := flags.local(true, logr.Discard()); err == nil {
		t.Error("--local-stdio with --leader-elect is taken")
	}
	local, err := flags.local(false, logr.Discard())
	if err != nil || local == nil {
		t.Fatalf("%v, %v", local, err)
	}
	local.Close()
	if local, err := (&hostingFlags{}).local(true, logr.Discard()); err != nil || local != nil {
		t.Errorf("without the flag: %v, %v", local, err)
	}
}
