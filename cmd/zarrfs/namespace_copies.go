package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A mount namespace that is made while a mount exists, such as that of a container, has a copy of
// the mount. A copy keeps the file system and the process that serves it alive, after the mount was
// taken out of the tree here. So does a bind mount.

// copyNames is how many processes of one mount namespace are named.
const copyNames = 3

// copiesText names the processes whose mount namespace has a copy of the mount, and where, as far
// as this user may look. It leaves out stuck ones.
func copiesText(m mountEntry) string {
	var copies []string
	here, _ := mountNamespace("self")
	folders := map[string]string{} // by mount namespace: where the copy is, empty without a copy
	users := map[string]int{}      // by mount namespace
	for _, pid := range processes() {
		namespace, known := namespaceOf(pid)
		if !known {
			continue
		}
		dir, known := folders[namespace]
		if !known {
			mountinfo := procOf(pid) + "mountinfo"
			if dir, known = askAbout(pid, func() string { return m.copyIn(mountinfo) }); !known {
				continue // another process of the namespace may answer
			}
			folders[namespace] = dir
		}
		if users[namespace]++; dir == "" || users[namespace] > copyNames {
			continue
		}
		if namespace != here {
			copies = append(copies, fmt.Sprintf("%s at %s", processText(pid), dir))
		} else if users[namespace] == 1 {
			copies = append(copies, "the mount at "+dir)
		}
	}
	for namespace, n := range users {
		if folders[namespace] != "" && namespace != here && n > copyNames {
			copies = append(copies, fmt.Sprintf("%d more there", n-copyNames))
		}
	}
	return strings.Join(copies, ", ")
}

// copyIn returns the folder at which the file system of m is mounted according to a mountinfo file,
// the first of several. The number of its device is not enough: another file system gets it when
// this one has ended.
func (m mountEntry) copyIn(mountinfo string) string {
	for _, e := range mountsIn(mountinfo) {
		if e.dev == m.dev && e.kind == m.kind && e.source == m.source && e.options == m.options {
			return e.dir
		}
	}
	return ""
}

// isMounted reports whether the file system of m is mounted in this process's namespace.
func (m mountEntry) isMounted() bool { return m.copyIn("/proc/self/mountinfo") != "" }

// leftOf returns the mount that was at dir until it was taken out of the tree, if a copy of it goes
// on. It also returns the folder where the copy is found from here. The mounts say where they were
// made. A mount that was made in another mount namespace does not count: its folder is another one.
func leftOf(dir string) (left mountEntry, at string, found bool) {
	dir = located(dir)
	type answer struct {
		mount mountEntry
		at    string
		is    bool
	}
	all := make(chan answer)
	candidates := copiesAnywhere()
	for at, m := range candidates {
		go func() {
			state, health := stateOf(at)
			unknown := health == silent || state.Dir == "" // or only its user may ask it
			was := state.Dir == dir || unknown && m.dir == dir
			all <- answer{m, at, was && m.isServedHere(state.Pid)}
		}()
	}
	for range candidates {
		if a := <-all; a.is {
			left, at, found = a.mount, a.at, true
		}
	}
	left.dir = dir
	return left, at, found
}

// copiesAnywhere returns the mounts of zarrfs in all mount namespaces that this user may look into.
// Each is listed once, by the folder where it is found from here.
func copiesAnywhere() map[string]mountEntry {
	here, _ := mountNamespace("self")
	seen := map[string]bool{} // namespaces and devices
	mounts := map[string]mountEntry{}
	for _, pid := range processes() {
		namespace, known := namespaceOf(pid)
		if !known || seen[namespace] {
			continue
		}
		mountinfo := procOf(pid) + "mountinfo"
		there, answered := askAbout(pid, func() []mountEntry { return mountsIn(mountinfo) })
		if !answered {
			continue
		}
		seen[namespace] = true
		root := procOf(pid) + "root"
		if namespace == here {
			root = ""
		}
		for _, m := range there {
			if m.kind == ourKind && !seen[m.dev] {
				seen[m.dev] = true
				mounts[root+m.dir] = m
			}
		}
	}
	return mounts
}

// mountNamespace names the mount namespace of a process; "self" is the calling one.
func mountNamespace(process string) (string, error) {
	return os.Readlink(procFolder + "/" + process + "/ns/mnt")
}

// namespaceOf names the mount namespace of a process, if this user may know it and the process is
// not stuck.
func namespaceOf(pid int) (namespace string, known bool) {
	namespace, _ = askAbout(pid, func() string {
		namespace, _ := mountNamespace(strconv.Itoa(pid))
		return namespace
	})
	return namespace, namespace != ""
}

// sayCopies waits until some program takes the mount out of the tree. Then it logs for which copies
// of the mount this process goes on.
func (e *ending) sayCopies() {
	// os.Open would have Go's poller take the events
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(mounts)
	for e.entry.isMounted() {
		changed := []unix.PollFd{{Fd: int32(mounts), Events: unix.POLLPRI}}
		if _, err := unix.Poll(changed, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if e.isGoneWithin(releasePatience) { // not at once, because programs may mount all the time
			return
		}
	}
	if by := copiesText(e.entry); by != "" {
		e.log.Warn("unmounted here, but copies of the mount in other mount namespaces go on; "+
			"this process ends with them, or some time after SIGTERM",
			"dir", e.config.dir, "by", by, "after", detachedFor)
	} else if by := unseenText(e.entry); by != "" {
		e.log.Warn("unmounted here, but something keeps the mount; "+
			"this process ends with it, or some time after SIGTERM",
			"dir", e.config.dir, "perhaps", by, "after", detachedFor)
	}
}
