// Package program says which program has sent a request, whether it is one that copies or moves
// files, and whether it runs. No other part of the mount reads /proc of other processes, or depends
// on names of programs.
package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Process is a program that runs. The time of its start tells it from a later one of the same
// number.
type Process struct {
	PID    int // 0: it cannot be seen
	Start  string
	Mover  bool // it is one of Movers
	Copier bool // or copies single files
}

// askTime bounds a question about a process.
const askTime = time.Second

// OfThread returns the process of a thread; 0 is one that cannot be seen. The kernel answers no
// question about a process in execve(2), which closes descriptors and so may wait for this daemon's
// answer to a FLUSH: the handler of a FLUSH must not ask. If it happens all the same, the process
// stays unknown.
func OfThread(thread int) Process {
	if thread == 0 {
		return Process{}
	}
	answer := make(chan Process, 1)
	go func() { answer <- find(thread) }()
	select {
	case p := <-answer:
		return p
	case <-time.After(askTime):
		return Process{PID: thread}
	}
}

// find looks the process of a thread up.
func find(thread int) Process {
	p := Process{PID: group(thread)}
	name, fields := stat(p.PID)
	p.Mover = Movers[name]
	p.Copier = p.Mover || copiers[name]
	p.Start = start(fields)
	return p
}

// start returns when a process has started, of which stat has returned the fields.
func start(fields []string) string {
	if len(fields) <= 19 {
		return ""
	}
	return fields[19]
}

// Is reports whether p is the process other, whatever program that runs by now.
func (p Process) Is(other Process) bool { return p.PID == other.PID && p.Start == other.Start }

// HasEnded reports whether it is certain that the process does not run any more.
func (p Process) HasEnded() bool {
	_, fields := stat(p.PID)
	return p.Start != "" && start(fields) != p.Start
}

// group returns the number of a thread's process, or otherwise its own.
func group(thread int) int {
	value := status(thread, "Tgid:")
	if pid, err := strconv.Atoi(value); err == nil {
		return pid
	}
	return thread
}

// asked holds a place for each question that is being answered, so that those without an answer do
// not take all threads.
var asked = make(chan struct{}, 64)

// Ask returns the answer to a question, or the zero value if it does not come in time.
func Ask[T any](question func() T) (answer T) {
	end := time.After(askTime)
	select {
	case asked <- struct{}{}:
	case <-end:
		return answer
	}
	answers := make(chan T, 1)
	go func() {
		defer func() { <-asked }()
		answers <- question()
	}()
	select {
	case answer = <-answers:
	case <-end:
	}
	return answer
}

// Reads returns the paths of the files that the process has open for reading alone. It looks at
// names only: touching the files could wait for their mount. Ask bounds the time.
func (p Process) Reads() (paths []string) {
	folder := fmt.Sprintf("/proc/%d/fd", p.PID)
	open, _ := os.ReadDir(folder)
	for _, fd := range open {
		link := filepath.Join(folder, fd.Name())
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&0o600 != 0o400 {
			continue
		}
		if to, err := os.Readlink(link); err == nil {
			paths = append(paths, to)
		}
	}
	return paths
}
