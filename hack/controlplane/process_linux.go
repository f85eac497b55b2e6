package main

import "syscall"

// childAttr puts a child into its own process group and lets the kernel kill it if this program
// dies without having stopped it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
