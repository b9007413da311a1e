package mounttest

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
	"time"
)

// watch ends the daemons of the tests a minute before the time of go test is up. While a daemon
// does not answer, programs that wait for it cannot be killed, nor can the tests. With the daemon
// its mount ends, and so does all that waits for it. The daemons are those whose state folder is
// state.
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

// daemons returns the processes named zarrfs whose state folder is state.
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
