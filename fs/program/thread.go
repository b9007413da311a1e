package program

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// WaitsForCPU reports whether a thread can run, or runs, and does not wait for anything else: see
// proc_pid_stat(5).
func WaitsForCPU(thread int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", thread))
	if err != nil {
		return false
	}
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before it may hold anything
	return strings.HasPrefix(state, " R")
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
