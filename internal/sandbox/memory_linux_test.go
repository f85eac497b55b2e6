// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// watchMemory returns a check that this process, which stands for the operator,
// at no time since held much more memory than now.
func watchMemory(t *testing.T) (check func()) {
	t.Helper()
	most := int64(16 << 20)
	if underRace {
		most *= 8
	}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err) // 5 resets the peak (proc_pid_clear_refs(5))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resident := status(t, "VmRSS")
	return func() {
		t.Helper()
		runtime.ReadMemStats(&after)
		if grown := status(t, "VmHWM") - resident; grown > most {
			t.Errorf("the resident memory grew by %d bytes at its peak", grown)
		}
		if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > most {
			t.Errorf("%d bytes were allocated", allocated)
		}
	}
}

// status reads a line of /proc/self/status that counts kB, in bytes.
func status(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if key, value, _ := bytes.Cut(line, []byte(":")); string(key) == name {
			kilobytes, err := strconv.ParseInt(string(bytes.Fields(value)[0]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("/proc/self/status has no %s", name)
	return 0
}
