//go:build unix && !linux

package main

import "syscall"

// childAttr puts a child into its own process group. Outside Linux nothing stops the children of
// a program that is killed with SIGKILL.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
