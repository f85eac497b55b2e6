package bridge

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// ownGroup makes the child the leader of a process group, and has the kernel kill it if the bridge dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reapOrphans collects processes that children started and left behind, as far as they became children of
// the bridge: in a container it is process 1, and nobody else would. Leaders are left to those who wait for
// them, and outside a container only the bridge's own groups are touched.
func reapOrphans(ctx context.Context, groups func() map[int]bool) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	for {
		select {
		case <-ctx.Done():
			return
		case <-died:
			reapZombies(groups())
		}
	}
}

func reapZombies(groups map[int]bool) {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || groups[pid] {
			continue
		}
		zombie, parent, group := readStat(name)
		if zombie && parent == os.Getpid() && (groups[group] || os.Getpid() == 1) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// readStat reads state, parent and group of /proc/PID/stat. They follow the name, which may hold anything
// but ends with the last parenthesis (proc_pid_stat(5)).
func readStat(pid string) (zombie bool, parent, group int) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false, 0, 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return false, 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	group, _ = strconv.Atoi(string(fields[2]))
	return string(fields[0]) == "Z", parent, group
}
