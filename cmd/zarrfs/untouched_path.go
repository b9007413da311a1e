package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// linksMost is how many links a path may lead through, as in the kernel.
const linksMost = 40

// located returns the absolute path to which a path leads. It does not touch a FUSE mount, nor
// anything in one, because the program of the mount may not answer. So links there are not
// followed.
func located(path string) string {
	var mounts []string
	for _, m := range allMounts() {
		if strings.HasPrefix(m.kind, "fuse") {
			mounts = append(mounts, m.dir)
		}
	}
	at, left := "/", strings.Split(absolute(path), "/")
	for links := 0; len(left) > 0; {
		next := filepath.Join(at, left[0])
		left = left[1:]
		if slices.Contains(mounts, next) {
			return filepath.Join(next, filepath.Join(left...))
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > linksMost {
			links--
			at = next
			continue
		}
		broken.note(to)
		if filepath.IsAbs(to) {
			at = "/"
		}
		left = append(strings.Split(to, "/"), left...)
	}
	return at
}

// absolute does what filepath.Abs does, without a look at the working folder. That folder may be in
// a mount that does not answer.
func absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(workingFolder(), path)
	}
	return filepath.Clean(path)
}

// workingFolder returns the folder where this process is. It asks only the kernel.
func workingFolder() string {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buffer)
	if err != nil { // it was removed
		return "/"
	}
	return unix.ByteSliceToString(buffer[:n])
}
