package program

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

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
