// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepFiles keeps from the child what the operator itself was started with: what
// Go opens is never passed on, but what was open before is. An older kernel (before
// 5.11) refuses, and then such a file is open in the child too.
func keepFiles() {
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}

// ownSession makes the child the leader of a session, and has the kernel kill it
// with the operator.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

func killSession(leader *os.Process) error { return syscall.Kill(-leader.Pid, syscall.SIGKILL) }
