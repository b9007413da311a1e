package integration

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// watch ends the daemons of the tests a minute before the time of go test is up. A program that
// waits for a daemon which does not answer cannot be killed, nor can the tests. With the daemon its
// mount ends, and so does all that waits for it. The daemons are those whose state folder is state.
func watch(state string) {
	flag.Parse()
	limit, ok := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if !ok || limit == 0 {
		return
	}
	time.AfterFunc(limit-min(time.Minute, limit/4), func() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		fmt.Fprintf(os.Stderr, "the time is nearly up, and these wait:\n%s\n", stacks)
		endDaemons(state)
	})
}

// endDaemons ends the daemons whose state folder is state. The first signal prints stacks into
// their logs.
func endDaemons(state string) {
	timeIsUp.Store(true)
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		for _, pid := range daemons(state) {
			syscall.Kill(pid, sig)
		}
		time.Sleep(time.Second)
	}
}

// timeIsUp says that the tests have ended their daemons.
var timeIsUp atomic.Bool

// whyGone is what a test that meets a dead daemon has to say of it.
func whyGone() string {
	if timeIsUp.Load() {
		return "\nThe tests have ended their daemons, because the time of -timeout is nearly up."
	}
	return ""
}

// TestWatchIsNamed: where a test fails because the time was up, its failure says so. Otherwise it
// looks as if the daemon had ended for no reason.
func TestWatchIsNamed(t *testing.T) {
	bin, state, dir := zarrfs(t), t.TempDir(), t.TempDir()
	store := filepath.Join(t.TempDir(), "s.zarr")
	run(t, bin, "create", store, "--group")
	t.Setenv("XDG_STATE_HOME", state)
	run(t, bin, "mount", store, dir)
	defer timeIsUp.Store(false)
	if timeIsUp.Load() {
		t.Fatal("the time is up already")
	}
	endDaemons(state)
	err := tryUnmount(bin, dir)
	if err == nil || !strings.Contains(err.Error(), "ended before it could say") ||
		!strings.Contains(err.Error(), "-timeout is nearly up") {
		t.Errorf("umount after the end of the daemon: %v", err)
	}
}

// daemons returns the processes named zarrfs that have that state folder.
func daemons(state string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(comm), "zarrfs") {
			continue // to ask more of one that waits for a mount may take as long
		}
		dir := filepath.Dir(name)
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		pid, err2 := strconv.Atoi(filepath.Base(dir))
		ours := bytes.Contains(environ, []byte("XDG_STATE_HOME="+state+"\x00"))
		if err == nil && err2 == nil && ours {
			pids = append(pids, pid)
		}
	}
	return pids
}
