package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/terminal"
)

// procFolder is where the kernel shows processes. Tests take another.
var procFolder = "/proc"

// procOf returns the folder of a process, with a slash.
func procOf(pid int) string { return fmt.Sprintf("%s/%d/", procFolder, pid) }

// processes returns the numbers of all processes that this one sees, the oldest first.
func processes() (pids []int) {
	entries, _ := os.ReadDir(procFolder)
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
	name, _ := askAbout(pid, func() []byte {
		name, _ := os.ReadFile(procOf(pid) + "comm")
		return name
	})
	return fmt.Sprintf("%s (pid %d)", terminal.Line(strings.TrimSpace(string(name))), pid)
}

// stoppedAsked is how often awaitEnd looks whether the process is stopped.
const stoppedAsked = 200 * time.Millisecond

// awaitEnd waits until a process has ended. It gives up before wait is over if the process stays
// stopped.
func awaitEnd(pid int, wait time.Duration) error {
	if pid <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
	} else if errors.Is(err, unix.ESRCH) {
		return nil // ended already
	}
	deadline, ran := time.Now().Add(wait), time.Now()
	for {
		left := time.Until(deadline)
		switch {
		case !program.IsStopped(pid):
			ran = time.Now()
		case time.Since(ran) > answerPatience:
			return withCode(exitBusy,
				fmt.Errorf("unmounted, but process %d, which served it, is stopped; "+
					"let it end with `kill -CONT %[1]d`", pid))
		}
		if left <= 0 {
			return withCode(exitBusy, fmt.Errorf("unmounted, but process %d, which served it, "+
				"has not ended within %s", pid, wait))
		}
		if endsWithin(pid, fd, min(left, stoppedAsked)) {
			return nil
		}
	}
}

// endsWithin reports whether a process ends within a time. Its descriptor fd is -1 if the kernel
// gives none, for example without memory. Then the process is looked for by its number.
func endsWithin(pid, fd int, wait time.Duration) bool {
	if fd >= 0 {
		ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ended, int(wait.Milliseconds())+1)
		if err == nil || errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
	time.Sleep(wait)
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// questionTime is how long the kernel has for an answer about a process. A process may be stuck in
// an exec, or in a page fault of a dead mount. The kernel does not answer until that goes on.
var questionTime = 2 * time.Second

// stuckProcesses has the processes about which a question is still open.
var stuckProcesses sync.Map

// askAbout returns the answer to a question about a process, unless the process is stuck. A
// question that is still open ends with this process, if not before.
func askAbout[T any](pid int, question func() T) (answer T, answered bool) {
	if _, stuck := stuckProcesses.Load(pid); stuck {
		return answer, false
	}
	done := make(chan T, 1)
	go func() { done <- question() }()
	select {
	case answer = <-done:
		return answer, true
	case <-time.After(questionTime):
		stuckProcesses.Store(pid, true)
		go func() {
			<-done
			stuckProcesses.Delete(pid)
		}()
		return answer, false
	}
}

// usersText names the processes that use the mount at dir, as far as this user may look. It leaves
// out stuck ones: an unmount shows whether they use the mount.
func usersText(dir string) string {
	m, ok := mountAt(dir)
	if !ok {
		return ""
	}
	var users []string
	for _, pid := range processes() {
		if pid == os.Getpid() {
			continue
		}
		if uses, _ := askAbout(pid, func() bool { return usesMount(pid, m) }); uses {
			users = append(users, processText(pid))
		}
	}
	return strings.Join(users, ", ")
}

// usesMount reports whether a process works in the mount, or has a file of it open or mapped. It
// looks at names and numbers only: to touch the files themselves could wait for the mount's server.
func usesMount(pid int, m mountEntry) bool {
	proc := procOf(pid)
	links := []string{proc + "cwd", proc + "root", proc + "exe"}
	fds, _ := os.ReadDir(proc + "fd")
	for _, fd := range fds {
		links = append(links, proc+"fd/"+fd.Name())
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && (target == m.dir || strings.HasPrefix(target, m.dir+"/")) {
			return true
		}
	}
	maps, _ := os.ReadFile(proc + "maps")
	return strings.Contains(string(maps), " "+mapsDev(m.dev)+" ")
}

// mapsDev writes a device as /proc/PID/maps does: in hexadecimal.
func mapsDev(dev string) string {
	var major, minor int
	fmt.Sscanf(dev, "%d:%d", &major, &minor)
	return fmt.Sprintf("%02x:%02x", major, minor)
}
