package main

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isServedBy reports whether a process serves the mount, so that it may be ended together with it.
// The mount itself is not trusted: any user can serve a mount of our kind and let it name any
// process. Root would end that process. So the process must belong to the user who mounted. It must
// also hold the kernel's other end of this mount, if the kernel shows that end (since Linux 6.16).
func (m mountEntry) isServedBy(pid int) bool {
	return m.mayBeServedBy(pid, func(connection string) bool {
		return connection == m.minor() || connection == ""
	})
}

// server returns the process that serves the mount, without a request to the mount. It returns 0 if
// the kernel shows no such process, or several. A new mount may get the number of an ended one,
// whose process may still exist.
func (m mountEntry) server() (pid int) {
	count := 0
	for _, candidate := range processes() {
		if m.mayBeServedBy(candidate, func(connection string) bool {
			return connection == m.minor()
		}) {
			pid = candidate
			count++
		}
	}
	if count != 1 {
		return 0
	}
	return pid
}

// isServedHere reports whether the process that serves the mount is in this one's mount namespace.
// named is the process that the mount names, or 0 if it does not answer.
func (m mountEntry) isServedHere(named int) bool {
	here, err := mountNamespace("self")
	there, known := namespaceOf(m.serverOr(named))
	return err == nil && known && here == there
}

// serverOr returns the process that serves the mount, or 0 if it is not known. It is the process
// that the mount names, if that serves it here: in another pid namespace a process has another
// number. A process with privileges of its own cannot be looked into, and is trusted.
func (m mountEntry) serverOr(named int) int {
	if m.isServedBy(named) {
		return named
	}
	if pid := m.server(); pid > 0 {
		return pid
	}
	owner, known := m.owner()
	believed, _ := askAbout(named, func() bool {
		_, err := os.ReadDir(procOf(named) + "fd")
		return known && runsAs(named, owner) && errors.Is(err, iofs.ErrPermission)
	})
	if believed {
		return named
	}
	return 0
}

// mayBeServedBy reports whether a process belongs to the user who mounted and holds the kernel's
// end of a mount that is the right one.
func (m mountEntry) mayBeServedBy(pid int, right func(connection string) bool) bool {
	owner, known := m.owner()
	may, _ := askAbout(pid, func() bool {
		return known && runsAs(pid, owner) && slices.ContainsFunc(connectionsOf(pid), right)
	})
	return may
}

// minor returns the number by which the kernel names the mount's connection.
func (m mountEntry) minor() string {
	_, minor, _ := strings.Cut(m.dev, ":")
	return minor
}

// runsAs reports whether a process may do only what this user may do.
func runsAs(pid, uid int) bool {
	status, _ := os.ReadFile(procOf(pid) + "status")
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

// connectionsOf returns the connections that a process may serve: one for each descriptor of
// /dev/fuse. The name of a connection is empty if the kernel does not show it.
func connectionsOf(pid int) (connections []string) {
	devices := procOf(pid) + "fd"
	fds, _ := os.ReadDir(devices)
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(devices, fd.Name())); err != nil ||
			to != "/dev/fuse" {
			continue
		}
		info, _ := os.ReadFile(procOf(pid) + "fdinfo/" + fd.Name())
		_, after, _ := strings.Cut(string(info), "fuse_connection:")
		connection, _, _ := strings.Cut(after, "\n")
		connections = append(connections, strings.TrimSpace(connection))
	}
	return connections
}
