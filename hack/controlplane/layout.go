package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// layout names the files of one control plane below its directory.
type layout struct{ dir string }

// pidFile is locked for as long as the control plane runs. etcdUnready marks data on which etcd
// has not been ready yet.
func (l layout) pidFile() string             { return filepath.Join(l.dir, "controlplane.pid") }
func (l layout) readyFile() string           { return filepath.Join(l.dir, "controlplane.json") }
func (l layout) auditPolicy() string         { return filepath.Join(l.dir, "audit-policy.yaml") }
func (l layout) etcdData() string            { return filepath.Join(l.dir, "etcd") }
func (l layout) etcdUnready() string         { return filepath.Join(l.dir, "etcd.unready") }
func (l layout) kubectlCache() string        { return filepath.Join(l.dir, "cache") }
func (l layout) log(name string) string      { return filepath.Join(l.dir, "logs", name+".log") }
func (l layout) cert(name string) string     { return filepath.Join(l.dir, "pki", name+".crt") }
func (l layout) key(name string) string      { return filepath.Join(l.dir, "pki", name+".key") }
func (l layout) signingPublicKey() string    { return filepath.Join(l.dir, "pki", "sa.pub") }
func (l layout) kubeconfig(id string) string { return filepath.Join(l.dir, id+".kubeconfig") }

// create makes the directories. It takes over only a directory that is empty or its own, as it
// closes the directory to other users and replaces files in it.
func (l layout) create() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(l.pidFile()); len(entries) > 0 && err != nil {
		return fmt.Errorf("--dir %s: the directory holds files of something else: name a new or empty one", l.dir)
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	if err := touch(l.pidFile()); err != nil {
		return err
	}
	for _, dir := range []string{l.dir, l.etcdData(), filepath.Join(l.dir, "logs"), filepath.Join(l.dir, "pki")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l layout) writePair(name string, pair keyPair) error {
	return errors.Join(
		writeFile(l.cert(name), pair.cert, 0o600),
		writeFile(l.key(name), pair.key, 0o600),
	)
}
