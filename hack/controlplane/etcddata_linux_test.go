package main

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Killed after etcd made its log and before it wrote its own membership there, an etcd can never
// elect a leader again. A control plane starts there all the same.
func TestStartAfterEtcdWasKilledInItsFirstStart(t *testing.T) {
	p := newTestPlane(t)
	log, said := testLogger(t)
	cp := &controlPlane{layout: layout{dir: p.dir}, assets: assets{dir: p.assets}, log: log, fail: func(error) {}}
	if err := cp.layout.create(); err != nil {
		t.Fatal(err)
	}
	if err := cp.prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cp.takeDown)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := cp.startEtcd(ctx); err != nil {
		t.Fatal(err)
	}
	kill(t, cp.running[0])
	rewindFirstStart(t, cp.layout)

	ports, err := freePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	unbooted, err := cp.component(etcdName, etcdGrace, etcdArgs(cp.layout, ports[0], ports[1])).start()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "etcd sees a cluster without members", func() bool {
		data, err := os.ReadFile(unbooted.log)
		return err == nil && strings.Contains(string(data), "switched to configuration voters=()")
	})
	kill(t, unbooted)

	if err := cp.startEtcd(ctx); err != nil {
		t.Fatalf("start after a killed first start: %v", err)
	}
	if !strings.Contains(said.String(), "etcd was never ready on what is in "+cp.layout.etcdData()) {
		t.Errorf("no line says that data are removed: %q", said)
	}
	if exists(t, cp.layout.etcdUnready()) {
		t.Error("the mark of an etcd that was never ready stays when it is ready")
	}
}

func kill(t *testing.T, p *process) {
	t.Helper()
	if err := signalGroup(p.cmd.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.exited
}

// rewindFirstStart takes etcd's data back to the moment at which its log was just made, when the
// log holds three records and nothing has been committed to the database.
func rewindFirstStart(t *testing.T, l layout) {
	t.Helper()
	member := filepath.Join(l.etcdData(), "member")
	if err := os.RemoveAll(filepath.Join(member, "snap")); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(member, "wal", "0000000000000000-0000000000000000.wal")
	info, err := os.Stat(segment)
	if err != nil {
		t.Fatal(err)
	}
	// A checksum, the ids of member and cluster, and a snapshot of nothing; then come zeroes.
	end := endOfRecord(t, segment, 3)
	for _, size := range []int64{end, info.Size()} {
		if err := os.Truncate(segment, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := touch(l.etcdUnready()); err != nil {
		t.Fatal(err)
	}
}

// endOfRecord finds where the nth record of a segment ends. Each begins with eight bytes: in the
// lower seven its length, in the highest how many bytes of padding follow it.
func endOfRecord(t *testing.T, segment string, n int) int64 {
	t.Helper()
	f, err := os.Open(segment)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var end int64
	for range n {
		var frame uint64
		if err := binary.Read(io.NewSectionReader(f, end, 8), binary.LittleEndian, &frame); err != nil {
			t.Fatal(err)
		}
		length, padding := frame&(1<<56-1), frame>>56&7
		end += int64(8 + length + padding)
	}
	return end
}

// One directory, and a kill at each stage of a start: the last start is as good as any.
func TestStartAfterKilledStarts(t *testing.T) {
	p := newTestPlane(t)
	l := layout{dir: p.dir}
	for _, appears := range []string{
		l.pidFile(),
		l.key(etcdClient),
		l.etcdUnready(),
		l.log(etcdName),
		filepath.Join(l.etcdData(), "member", "wal"),
		l.log(apiserverName),
	} {
		runner := p.program(t, "run", "--dir", p.dir)
		if err := runner.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = runner.Process.Kill() })
		eventually(t, appears+" is there", func() bool { return exists(t, appears) })
		_ = runner.Process.Kill()
		_ = runner.Wait()
		eventually(t, "a killed runner takes its components along", func() bool { return len(p.processes(t)) == 0 })
	}
	p.run(t)
	p.kubectl(t, "admin", "get", "serviceaccount", "default")
}
