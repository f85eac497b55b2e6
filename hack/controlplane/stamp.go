package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const stampFile = "stamp.json"

// stamp says what the binaries beside it were built from. It is written last, so that its
// presence means that all of them are whole.
type stamp struct {
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	// Inputs is the SHA-256 of go.mod, go.sum and the linker flags, in hex.
	Inputs string `json:"inputs"`
}

func newStamp(p pins, goVersion, ldflags string) stamp {
	h := sha256.New()
	for _, part := range [][]byte{goMod, goSum, []byte(ldflags)} {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return stamp{
		Kubernetes: p.kubernetes,
		Etcd:       p.etcd,
		Go:         goVersion,
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
		Inputs:     hex.EncodeToString(h.Sum(nil)),
	}
}

// fresh reports whether dir holds every binary, built from what want says.
func (want stamp) fresh(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, stampFile))
	if err != nil {
		return false
	}
	var have stamp
	if json.Unmarshal(data, &have) != nil || have != want {
		return false
	}
	return len(missing(dir, allBinaries...)) == 0
}

func (want stamp) write(dir string) error {
	data, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, stampFile), append(data, '\n'), 0o644)
}

// missing lists the names that are no executable file in dir.
func missing(dir string, names ...string) []string {
	var gone []string
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			gone = append(gone, name)
		}
	}
	return gone
}

// writeFile replaces path as a whole: a reader sees the old content or the new one.
func writeFile(path string, data []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if chmodErr := tmp.Chmod(mode); err == nil {
		err = chmodErr
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
