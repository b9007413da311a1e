package fs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// movers are the programs that copy or move trees and never look at what they have just written. To
// them the other views of an array that they make are hidden until they make them too. A program of
// another kind sees the views of its new array at once, as a script does that writes x.npy and
// reads x.raw. Programs that only remove or find files need not be here.
//
// This and copiers are the only lists of programs. docs/decisions/0008 says what depends on them.
var movers = map[string]bool{
	"cp": true, "mv": true, "install": true, "tar": true, "gtar": true, "bsdtar": true, "cpio": true, "bsdcpio": true,
	"pax": true, "rsync": true, "unzip": true, "7z": true, "7za": true, "7zz": true, "busybox": true,
}

// copiers are the programs that copy single files. A script that maps a.npy and appends to a.raw is
// not one of them, and may do so.
var copiers = map[string]bool{"cat": true, "dd": true, "tee": true, "pv": true, "ddrescue": true}

// process is a program that runs. The time of its start tells it from a later one of the same
// number.
type process struct {
	pid    int
	start  string
	mover  bool
	copier bool // or copies single files
}

// caller returns the process that sent a request; pid 0 is one that cannot be seen.
func caller(ctx context.Context) process {
	thread := threadOf(ctx)
	if thread == 0 {
		return process{}
	}
	return processOf(thread)
}

// threadOf returns the thread that sent a request; 0 is one that cannot be seen.
func threadOf(ctx context.Context) int {
	c, ok := ctx.(*fuse.Context)
	if !ok {
		return 0
	}
	return int(c.Pid)
}

// askTime bounds a question about a process.
const askTime = time.Second

// processOf returns the process of a thread. The kernel answers no question about a process in
// execve(2), which closes descriptors and so may wait for this daemon's answer to a FLUSH: whoever
// answers that must not ask. Should it happen all the same, the process stays unknown.
func processOf(thread int) process {
	answer := make(chan process, 1)
	go func() { answer <- askFor(thread) }()
	select {
	case p := <-answer:
		return p
	case <-time.After(askTime):
		return process{pid: thread}
	}
}

// askFor looks the process of a thread up.
func askFor(thread int) process {
	p := process{pid: thread}
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread)); err == nil {
		for line := range strings.Lines(string(status)) {
			if value, ok := strings.CutPrefix(line, "Tgid:"); ok {
				p.pid, _ = strconv.Atoi(strings.TrimSpace(value))
				break
			}
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return p
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p
	}
	name := stat[open+1 : end]
	p.mover = movers[string(name)]
	p.copier = p.mover || copiers[string(name)]
	if fields := strings.Fields(string(stat[end+1:])); len(fields) > 19 {
		p.start = fields[19]
	}
	return p
}
