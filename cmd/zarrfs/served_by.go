package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// isServedBy reports whether a process serves the mount, so that it may be ended together with it. The mount itself is not believed: any
// user can serve one of our kind that names any process, and have root end that. So the process must belong to the user who mounted,
// and hold the kernel's other end of this mount, as far as the kernel shows which one that is (since Linux 6.16).
func (m mountEntry) isServedBy(pid int) bool {
	owner, known := m.owner()
	return known && runsAs(pid, owner) && holdsDevice(pid, m)
}

// runsAs reports whether all that a process may do is what this user may.
func runsAs(pid, uid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		ids, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		for id := range strings.FieldsSeq(ids) { // the real, effective, saved and file system's one
			if id != strconv.Itoa(uid) {
				return false
			}
		}
		return true
	}
	return false
}

// holdsDevice reports whether a process has open the device by which it answers for the mount.
func holdsDevice(pid int, m mountEntry) bool {
	_, minor, _ := strings.Cut(m.dev, ":")
	devices := fmt.Sprintf("/proc/%d/fd", pid)
	fds, _ := os.ReadDir(devices)
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(devices, fd.Name())); err != nil || to != "/dev/fuse" {
			continue
		}
		info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd.Name()))
		_, after, shown := strings.Cut(string(info), "fuse_connection:")
		connection, _, _ := strings.Cut(after, "\n")
		if !shown || strings.TrimSpace(connection) == minor {
			return true
		}
	}
	return false
}
