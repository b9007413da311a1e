package program

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mount is a mount of zarrfs on this machine.
type Mount struct {
	Dir    string // where it is
	Root   string // the folder of it that is mounted there, "/" for all
	Source string // its store
	Device string // copies of a mount, as of mount --bind, have the same
}

// MountsBeside returns the mount at dir with the copies of it, and all others.
func MountsBeside(dir string) (it, others []Mount) {
	all := mounts()
	at := slices.IndexFunc(all, func(m Mount) bool { return m.Dir == dir })
	if at < 0 {
		return nil, all
	}
	for _, m := range all {
		if m.Device == all[at].Device {
			it = append(it, m)
		} else {
			others = append(others, m)
		}
	}
	return it, others
}

// mounts returns the mounts of zarrfs. The kernel answers by itself, so that takes no time.
func mounts() (all []Mount) {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 2 || r[0] != "fuse.zarrfs" {
			continue
		}
		all = append(all, Mount{Device: l[2], Root: UnescapePath(l[3]),
			Dir: UnescapePath(l[4]), Source: UnescapePath(r[1])})
	}
	return all
}

// UnescapePath undoes the octal escapes of a path in a mountinfo file: of spaces and the like.
func UnescapePath(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
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

// Copies reports whether the process was started to copy, or move, the file from to the file to, as
// far as its arguments say. Ask bounds the time.
func (p Process) Copies(from, to string) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	return slices.ContainsFunc(p.startedIn(), func(dir string) bool {
		return copies(words, dir, from, to)
	})
}

// startedIn returns the folders in which the process may have been started. Rsync goes down from
// there.
func (p Process) startedIn() (folders []string) {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
	for variable := range strings.SplitSeq(string(environ), "\x00") {
		if dir, ok := strings.CutPrefix(variable, "PWD="); ok {
			folders = append(folders, dir)
		}
	}
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
	for ; filepath.IsAbs(dir) && dir != "/"; dir = filepath.Dir(dir) {
		folders = append(folders, dir)
	}
	return append(folders, "/")
}

// copies reports whether a command copies from to to. Its words are relative to dir. Each may be a
// source, and each behind that its target: which ones are options' values is not known.
func copies(words []string, dir, from, to string) bool {
	byRsync := isRsync(words[0])
	files := filesOf(words[1:], byRsync)
	for i, file := range files {
		if !filepath.IsAbs(file) {
			files[i] = dir + "/" + file // which keeps a slash at the end
		}
	}
	for i, source := range files {
		below, ok := strings.CutPrefix(from, filepath.Clean(source))
		if !ok || below != "" && below[0] != '/' {
			continue
		}
		name := path.Base(source)
		if byRsync && strings.HasSuffix(source, "/") {
			name = "" // it copies what is in the folder
		}
		isTarget := func(target string) bool {
			return filepath.Join(target, name, below) == to ||
				below == "" && filepath.Clean(target) == to
		}
		if slices.ContainsFunc(files[i+1:], isTarget) {
			return true
		}
	}
	return false
}

// filesOf returns the words of a command except its options, with the target at the end.
func filesOf(words []string, byRsync bool) (files []string) {
	var target []string
	for i := 0; i < len(words); i++ {
		dir, isTarget := strings.CutPrefix(words[i], "--target-directory=")
		switch {
		case isTarget:
			target = append(target, dir)
		case words[i] == "-t" && !byRsync && i+1 < len(words):
			i++
			target = append(target, words[i])
		case words[i] != "" && words[i][0] != '-':
			files = append(files, words[i])
		}
	}
	return append(files, target...)
}
