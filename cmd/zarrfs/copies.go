package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A mount namespace that is made while a mount stands, as that of a container, has a copy of the mount. A copy keeps the file system
// alive after the mount was taken out of the tree here, and the process that serves it as well. So does a bind mount of it.

// copyNames is how many processes of one mount namespace are named.
const copyNames = 3

// copiesText names the processes whose mount namespace has a copy of the mount, and where, as far as this user may look.
func copiesText(m mountEntry) string {
	return namedInTime(func(found func(string)) {
		here, _ := os.Readlink("/proc/self/ns/mnt")
		folders := map[string]string{} // by mount namespace: where the copy is, empty without a copy
		users := map[string]int{}      // by mount namespace
		for _, pid := range processes() {
			proc := fmt.Sprintf("/proc/%d/", pid)
			namespace, err := os.Readlink(proc + "ns/mnt")
			if err != nil {
				continue
			}
			dir, known := folders[namespace]
			if !known {
				dir = m.copyIn(proc + "mountinfo")
				folders[namespace] = dir
			}
			if users[namespace]++; dir == "" || users[namespace] > copyNames {
				continue
			}
			if namespace != here {
				found(fmt.Sprintf("%s at %s", processText(pid), dir))
			} else if users[namespace] == 1 {
				found("the mount at " + dir)
			}
		}
		for namespace, n := range users {
			if folders[namespace] != "" && namespace != here && n > copyNames {
				found(fmt.Sprintf("%d more there", n-copyNames))
			}
		}
	})
}

// copyIn returns the folder at which the file system of m is mounted according to a mountinfo file, the first of several. The number of
// its device does not suffice: it is given to another file system once this one has ended.
func (m mountEntry) copyIn(mountinfo string) string {
	for _, e := range mountsIn(mountinfo) {
		if e.dev == m.dev && e.kind == m.kind && e.source == m.source && e.options == m.options {
			return e.dir
		}
	}
	return ""
}

// isMounted reports that the file system of m is mounted in this process's namespace.
func (m mountEntry) isMounted() bool { return m.copyIn("/proc/self/mountinfo") != "" }

// processes returns the numbers of all processes that this one sees, the oldest first.
func processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, cmp.Compare[int])
	return pids
}

// processText names a process.
func processText(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return fmt.Sprintf("%s (pid %d)", strings.TrimSpace(string(name)), pid)
}

// connection is the kernel's end of a mount.
type connection struct{ abort *os.File }

// connectionOf returns the connection of a mount. The user that mounted may end it where the file system fusectl is mounted and can
// be written to; otherwise it is not known. It stays that of this mount when another one gets the number of its device.
func connectionOf(m mountEntry) connection {
	_, minor, _ := strings.Cut(m.dev, ":")
	f, err := os.OpenFile("/sys/fs/fuse/connections/"+minor+"/abort", os.O_WRONLY, 0)
	if err != nil {
		return connection{}
	}
	return connection{f}
}

// end has the kernel end all that waits for the program that serves the mount, in all namespaces, and all that will be asked of it.
func (c connection) end() error {
	if c.abort == nil {
		return os.ErrNotExist
	}
	_, err := c.abort.WriteString("1")
	return err
}

// close ends the use of c, not the connection.
func (c connection) close() {
	if c.abort != nil {
		c.abort.Close()
	}
}

// releasePatience is how long the process that served a mount has for its end before somebody is told what it waits for.
const releasePatience = time.Second

// awaitRelease waits, after m was taken out of the tree, for the end of the process that served it. It says which copies of the mount that
// process goes on for, and with force ends them. All that was written has been stored before, and that process stores again when it ends.
func awaitRelease(m mountEntry, c connection, pid int, force bool, wait time.Duration) error {
	if pid > 0 && awaitEnd(pid, min(wait, releasePatience)) == nil {
		return nil
	}
	by := copiesText(m)
	switch {
	case force && c.end() == nil:
		if by != "" {
			fmt.Fprintln(stderr, "zarrfs: copies of the mount in other mount namespaces are cut off:", by)
		}
	case by == "" && pid <= 0:
		return nil
	case by != "":
		fmt.Fprintf(stderr, "zarrfs: %s is unmounted here, but copies of the mount go on, as containers have them: %s; waiting for their end …\n", m.dir, by)
	}
	serving := m.isServedBy(pid)
	if force && by != "" && c.abort == nil && serving {
		unix.Kill(pid, unix.SIGTERM) // it ends them itself
		wait = max(wait, detachedFor+rescueMost)
	}
	err := awaitEnd(pid, wait)
	if err == nil && pid > 0 {
		return nil
	}
	if by = copiesText(m); by == "" {
		return err
	}
	return withCode(exitBusy, stillCopied(m, pid, serving, by))
}

func stillCopied(m mountEntry, pid int, serving bool, by string) error {
	cure := "End these programs"
	if serving {
		cure = fmt.Sprintf("End these programs, or have process %d, which serves them, end within %s with `kill %[1]d`", pid, detachedFor)
	}
	return fmt.Errorf("%s is unmounted here, but copies of the mount in other mount namespaces, as containers have them, go on: %s\n%s; umount with --force cuts them off at once", m.dir, by, cure)
}

// sayCopies waits until the mount is taken out of the tree, by whatever program, and then logs which copies of it this process goes on for.
func (e *ending) sayCopies() {
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0) // os.Open would have Go's poller take the events
	if err != nil {
		return
	}
	defer unix.Close(mounts)
	for e.entry.isMounted() {
		changed := []unix.PollFd{{Fd: int32(mounts), Events: unix.POLLPRI}}
		if _, err := unix.Poll(changed, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if e.goneWithin(releasePatience) { // not at once, for programs may mount all the time
			return
		}
	}
	if by := copiesText(e.entry); by != "" {
		e.log.Warn("unmounted here, but copies of the mount in other mount namespaces go on; this process ends with them, or some time after SIGTERM",
			"dir", e.config.dir, "by", by, "after", detachedFor)
	}
}
