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

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/terminal"
)

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
	return fmt.Sprintf("%s (pid %d)", terminal.Line(strings.TrimSpace(string(name))), pid)
}

// stoppedAsked is how often awaitEnd looks whether the process is stopped.
const stoppedAsked = 200 * time.Millisecond

// awaitEnd waits until a process is gone. It gives up before wait is over if the process is stopped
// all the time.
func awaitEnd(pid int, wait time.Duration) error {
	if pid <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
	} else if errors.Is(err, unix.ESRCH) {
		return nil // gone already
	}
	deadline, ran := time.Now().Add(wait), time.Now()
	for {
		left := time.Until(deadline)
		switch {
		case !program.IsStopped(pid):
			ran = time.Now()
		case time.Since(ran) > answerPatience:
			return withCode(exitBusy, fmt.Errorf("unmounted, but process %d, which served it, is stopped; "+
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

// endsWithin reports whether a process ends within a time. Its descriptor fd is -1 if none can be
// had, as without memory. Then the process is looked for by its number.
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

// searchTime bounds a search among all processes. The kernel answers nothing about a process that
// is stuck in an exec, or in a page fault of a dead mount. It answers when the process goes on.
const searchTime = 3 * time.Second

// namesInTime returns what a search finds within searchTime, and whether that is all.
func namesInTime(search func(found func(string))) (names []string, all bool) {
	found := make(chan string, 1)
	go func() {
		defer close(found)
		search(func(name string) { found <- name })
	}()
	for enough := time.After(searchTime); ; {
		select {
		case name, more := <-found:
			if !more {
				return names, true
			}
			names = append(names, name)
		case <-enough:
			return names, false
		}
	}
}

// textInTime writes what a search finds within searchTime.
func textInTime(search func(found func(string))) string {
	names, all := namesInTime(search)
	if !all {
		names = append(names, "perhaps others that could not be asked")
	}
	return strings.Join(names, ", ")
}
