// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// stackShare is the part of a program's memory that its stack may take, so
	// that deep nesting ends before the memory does.
	stackShare = 4
	// heapShare is the part, in percent, above which the collector works hard.
	heapShare = 90
)

// confine takes from the process what a program must not have, for good. It
// returns what could not be taken, and why.
func confine(limits startMessage) (missing []string) {
	// One program needs one processor, and the operator needs the others.
	runtime.GOMAXPROCS(1)
	debug.SetMaxStack(int(limits.Memory / stackShare))
	debug.SetMemoryLimit(heapInUse() + limits.Memory/100*heapShare)
	time.Local = time.UTC // what the system's zone is would need a file
	// The first timer of a process opens what the runtime waits on, and nothing
	// can be opened any more afterwards.
	time.AfterFunc(time.Hour, func() {}).Stop()
	return confineSystem(limits)
}

// heapInUse is the memory that the runtime counts before there is a program.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
