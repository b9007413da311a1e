package program

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WaitsForCPU reports whether a thread can run, or runs, and does not wait for anything else.
func WaitsForCPU(thread int) bool { return isIn(thread, "R") }

// IsStopped reports whether a thread was stopped, as by SIGSTOP, and does nothing until it gets
// SIGCONT.
func IsStopped(thread int) bool { return isIn(thread, "T") }

// isIn reports whether a thread is in the state of that letter.
func isIn(thread int, state string) bool {
	_, fields := stat(thread)
	return len(fields) > 0 && fields[0] == state
}

// stat returns the name of a thread's program, and the fields behind it, of which the first is the
// thread's state: see proc_pid_stat(5). They are empty if the thread cannot be seen.
func stat(thread int) (name string, fields []string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", thread))
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')') // a name may hold both
	if err != nil || open < 0 || end < open {
		return "", nil
	}
	return string(text[open+1 : end]), strings.Fields(string(text[end+1:]))
}

// HasZarr reports whether the process has loaded numcodecs, as each program does that uses
// zarr-python. It does not report one that the daemon may not look into.
func (p Process) HasZarr() bool {
	answer := make(chan bool, 1)
	go func() {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
		answer <- err == nil && bytes.Contains(maps, []byte("/numcodecs/"))
	}()
	select {
	case has := <-answer:
		return has
	case <-time.After(askTime):
		return false
	}
}

// HasGroup reports whether a group is among the supplementary groups of a thread. A thread that
// cannot be seen, in another namespace of processes, has none.
func HasGroup(thread int, gid uint32) bool {
	groups, _ := status(thread, "Groups:")
	return slices.Contains(strings.Fields(groups), strconv.FormatUint(uint64(gid), 10))
}

// status returns a line of the status of a thread: see proc_pid_status(5).
func status(thread int, name string) (value string, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}
