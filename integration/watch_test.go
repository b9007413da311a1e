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
	"syscall"
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
		// Of these, the first prints stacks into their logs.
		for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
			for _, pid := range daemons(state) {
				syscall.Kill(pid, sig)
			}
			time.Sleep(time.Second)
		}
	})
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
