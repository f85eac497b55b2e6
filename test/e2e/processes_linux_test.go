// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// processesWith are the processes whose command line or environment holds a text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	for _, file := range []string{"cmdline", "environ"} {
		paths, err := filepath.Glob("/proc/[0-9]*/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err == nil && bytes.Contains(content, []byte(text)) {
				found = append(found, path+": "+string(bytes.ReplaceAll(content, []byte{0}, []byte(" "))))
			}
		}
	}
	return found
}
