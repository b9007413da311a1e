package program

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// HasZarr reports whether the process has loaded numcodecs, as each user of zarr-python does. It
// does not report one that the daemon may not look into.
func (p Process) HasZarr() bool {
	return Ask(func() bool {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
		return err == nil && bytes.Contains(maps, []byte("/numcodecs/"))
	})
}

// HasGroup reports whether a group is among the supplementary groups of a thread. A thread that
// cannot be seen, in another namespace of processes, has none.
func HasGroup(thread int, gid uint32) bool {
	groups := status(thread, "Groups:")
	return slices.Contains(strings.Fields(groups), strconv.FormatUint(uint64(gid), 10))
}

// status returns a line of the status of a thread: see proc_pid_status(5). It is empty if the
// thread cannot be seen.
func status(thread int, name string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// stopping are the signals that tell a program to stop.
var stopping = []syscall.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL, syscall.SIGTERM,
}

// IsToStop reports whether a signal waits for a thread that tells its program to stop, and that the
// program does not ignore or block.
func IsToStop(thread int) bool {
	waiting := signals(thread, "SigPnd:") | signals(thread, "ShdPnd:")
	waiting &^= signals(thread, "SigIgn:") | signals(thread, "SigBlk:")
	isWaiting := func(s syscall.Signal) bool { return waiting>>(s-1)&1 == 1 }
	return slices.ContainsFunc(stopping, isWaiting)
}

// signals returns a set of signals from the status of a thread: bit 0 is signal 1.
func signals(thread int, name string) uint64 {
	text := status(thread, name)
	set, _ := strconv.ParseUint(text, 16, 64)
	return set
}
