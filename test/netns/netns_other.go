// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netns

import (
	"context"
	"errors"
	"os/exec"
)

// Command runs the program without a namespace; see Available.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// Available says why no namespace can be made.
func Available(context.Context) error {
	return errors.New("network namespaces are a matter of Linux")
}

func enter() {}
