package bridge

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Install copies the program that is running to a path, where everybody may run it. What is there already is
// replaced at once or not at all.
func Install(path string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("install the bridge: %w", err)
	}
	from, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("install the bridge: %w", err)
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(path), ".remit-*")
	if err != nil {
		return fmt.Errorf("install the bridge: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(to.Name())
			err = fmt.Errorf("install the bridge: %w", err)
		}
	}()
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Chmod(0o755)
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(to.Name(), path)
	}
	return err
}
