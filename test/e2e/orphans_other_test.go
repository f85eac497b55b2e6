// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e

import "syscall"

// endWithParent does nothing here: only Linux can.
func endWithParent() *syscall.SysProcAttr { return nil }
