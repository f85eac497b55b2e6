package bridge

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The child leads a group of its own, and the whole group ends with the session, what ignores SIGTERM
// included. Nothing of it stays behind as a zombie, even where the bridge inherits the orphans.
func TestGroupEndsWithTheSession(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Command: helper(t, "plain"), Env: []string{"PATH=" + os.Getenv("PATH")}})
	session := r.open()
	pids := pidsOf(t, r, session)
	if pids[0] != pids[1] || pids[1] == groupOf(os.Getpid()) {
		t.Errorf("the child %d is in group %d, the bridge in %d", pids[0], pids[1], groupOf(os.Getpid()))
	}
	grandchild, err := strconv.Atoi(r.textOf(session, "spawn"))
	if err != nil {
		t.Fatal(err)
	}
	r.do("DELETE", session, "")
	for _, pid := range []int{pids[0], grandchild} {
		eventually(t, "the process is gone, and not as a zombie", func() bool { return !alive(pid) })
	}
}

// A shared process is the leader of a group too, which outlives every session and ends with the bridge.
func TestSharedGroupEndsWithTheBridge(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Command: helper(t, "plain"), Env: []string{"PATH=" + os.Getenv("PATH")}, Shared: true})
	session := r.open()
	pids := pidsOf(t, r, session)
	grandchild, err := strconv.Atoi(r.textOf(session, "spawn"))
	if err != nil {
		t.Fatal(err)
	}
	r.do("DELETE", session, "")
	if pids[0] != pids[1] || !alive(pids[0]) || !alive(grandchild) {
		t.Errorf("after its session the process %v, with %d, is gone", pids, grandchild)
	}
	r.stop()
	for _, pid := range []int{pids[0], grandchild} {
		eventually(t, "the process is gone, and not as a zombie", func() bool { return !alive(pid) })
	}
}

// An orphan that ends while its session lives is collected too.
func TestOrphansAreReaped(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	note := filepath.Join(dir, "pid")
	self := helper(t, "plain")
	// The shell leaves a process behind that ends at once, and then becomes the server.
	script := `(sh -c 'echo $$ > "$1.tmp"; mv "$1.tmp" "$1"' x "$0" &) ; exec "$@"`
	r := start(t, Options{Command: append([]string{sh, "-c", script, note}, self...), Env: []string{"PATH=" + os.Getenv("PATH")}})
	session := r.open()
	orphan, err := strconv.Atoi(strings.TrimSpace(waitForFile(t, note)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orphan is gone, and not as a zombie", func() bool { return !alive(orphan) })
	if got := r.textOf(session, "error-free"); got != "" {
		t.Errorf("the session: %q", got)
	}
}

// A child that is deaf to everything is killed.
func TestDeafChildIsKilled(t *testing.T) {
	ss := newSessions(mustDefaults(t, Options{Command: helper(t, "deaf")}))
	s, err := ss.open("", digest{})
	if err != nil {
		t.Fatal(err)
	}
	ss.endAll()
	if alive(s.process.child.pid) {
		t.Error("still there")
	}
}

// A bridge that is killed takes its children along.
func TestChildrenDieWithAKilledBridge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "address")
	bridge := exec.Command(helper(t, "")[0], "serve-bridge", file, "plain")
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, base: "http://" + waitForFile(t, file)}
	session := r.open()
	child := pidsOf(t, r, session)[0]
	if err := bridge.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = bridge.Wait() // killed, as meant
	eventually(t, "the child is gone", func() bool { return !alive(child) || isZombie(child) })
}

func isZombie(pid int) bool {
	zombie, _, _ := readStat(strconv.Itoa(pid))
	return zombie
}

func waitForFile(t *testing.T, file string) string {
	t.Helper()
	var data []byte
	eventually(t, "the file "+filepath.Base(file), func() bool {
		var err error
		data, err = os.ReadFile(file)
		return err == nil
	})
	return string(data)
}
