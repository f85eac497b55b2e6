package main

import (
	"errors"
	"os"
	"path/filepath"
)

// prepareEtcdData leaves etcd either data on which it was ready once, or none. If none, it sets the
// mark that stands beside the data until etcd is ready, before which nobody can store anything.
// Data without the mark are never touched.
//
// An etcd that is killed in its first start may leave a log without any member in it. The next one
// takes that log for the whole cluster's, and waits for a leader that nobody can elect.
func prepareEtcdData(l layout, log *logger) error {
	data, err := os.ReadDir(l.etcdData())
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return touch(l.etcdUnready())
	}
	_, err = os.Stat(l.etcdUnready())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	log.printf("etcd was never ready on what is in %s: removing it", l.etcdData())
	for _, entry := range data {
		if err := os.RemoveAll(filepath.Join(l.etcdData(), entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
