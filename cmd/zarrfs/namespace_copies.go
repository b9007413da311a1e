package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/program"
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

// connection is the kernel's end of a mount.
type connection struct{ abort *os.File }

// connectionOf returns the connection of a mount. The user that mounted may end it where the file
// system fusectl is mounted and can be written to; otherwise it is not known. It stays that of this
// mount when another one gets the number of its device.
func connectionOf(m mountEntry) connection {
	f, err := os.OpenFile("/sys/fs/fuse/connections/"+m.minor()+"/abort", os.O_WRONLY, 0)
	if err != nil {
		return connection{}
	}
	return connection{f}
}

// end makes the kernel end all requests that wait for the mount's program, in all namespaces. The
// kernel then also ends all later requests.
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

// releasePatience is how long the process that served a mount may take to end. Then a message says
// what it waits for.
const releasePatience = time.Second

// awaitRelease waits, after the mount was taken out of the tree, for the end of the mount's
// process. It names the copies of the mount that keep the process alive. With force it ends these
// copies. All writes have been stored before, and the process stores again when it ends.
func (u *unmounting) awaitRelease() error {
	if u.pid > 0 && awaitEnd(u.pid, min(u.wait, releasePatience)) == nil {
		return nil
	}
	by, serving, wait := copiesText(u.mount), u.mount.isServedBy(u.pid), u.wait
	switch {
	case by == "" && u.pid <= 0:
		return nil
	case u.force && u.kernel.end() == nil:
		sayCutOff(by)
	case u.force && by != "" && serving:
		u.signalTwice()
		wait = max(wait, detachedFor+rescueMost)
		sayCutOff(by)
	case by != "":
		fmt.Fprintf(stderr, "zarrfs: %s is unmounted here, but copies of the mount go on, as "+
			"containers have them: %s; waiting for their end …\n", u.mount.dir, by)
	default:
		sayUnseen(u.mount, u.pid)
	}
	err := awaitEnd(u.pid, wait)
	if err == nil && u.pid > 0 {
		return nil
	}
	if by = copiesText(u.mount); by == "" {
		return u.endHeld(err)
	}
	return withCode(exitBusy, stillCopied(u.mount, u.pid, serving, by))
}

// endHeld ends the process that serves the mount with force, after it has not ended in time though
// no program uses a copy. A process that is still storing says so at the second signal, and goes
// on.
func (u *unmounting) endHeld(err error) error {
	if err == nil || !u.mount.isServedBy(u.pid) || program.IsStopped(u.pid) {
		return err
	}
	if !u.force {
		return withCode(exitBusy, stillHeld(u.mount, u.pid, err))
	}
	u.signalTwice()
	return awaitEnd(u.pid, detachedFor+rescueMost)
}

func sayCutOff(by string) {
	if by != "" {
		fmt.Fprintln(stderr, "zarrfs: copies of the mount in other mount namespaces are cut off:",
			by)
	}
}

// signalTwice makes the process that serves the mount end. After the second signal it does not wait
// for programs that use a copy, unless they have written meanwhile.
func (u *unmounting) signalTwice() {
	// The process is opened before it is looked at, because another one may get its number later.
	fd, err := unix.PidfdOpen(u.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !u.mount.isServedBy(u.pid) {
		return
	}
	for range 2 {
		unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
		time.Sleep(unmountPause)
	}
}

func stillCopied(m mountEntry, pid int, serving bool, by string) error {
	cure := "End these programs"
	if serving {
		cure = fmt.Sprintf("End these programs, or run `kill %d`: that process serves the copies, "+
			"and then ends within %s", pid, detachedFor)
	}
	return fmt.Errorf("%s is unmounted here, but copies of the mount in other mount namespaces, "+
		"as containers have them, go on: %s\n%s; umount with --force cuts them off at once", m.dir,
		by, cure)
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
