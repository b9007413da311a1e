package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Left is a folder of files that a killed process of this user has left.
type Left struct {
	Folder string
	Note   []byte
	Files  []string // that are not arrays

	Unstored []string // what programs wrote to files of arrays
	Bytes    int64    // of all
}

// LeftIn returns what killed processes have left in a scratch folder. It removes folders without
// files that are of use.
func LeftIn(scratch string) (all []Left) {
	folders, err := filepath.Glob(filepath.Join(scratch, namedFolder+"*"))
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		if left, ok := leftIn(folder); ok {
			all = append(all, left)
		}
	}
	return all
}

// leftIn looks at one folder. Others may make folders of that name too: in a scratch folder that
// users share, only those of this user count.
func leftIn(folder string) (left Left, ok bool) {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		return left, false
	}
	lock, err := os.OpenFile(filepath.Join(folder, NoteName),
		os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return left, false
	}
	defer lock.Close()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return left, false // its process runs
	}
	left.Folder = folder
	left.Note, _ = os.ReadFile(lock.Name())
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), NoteName) {
			continue
		}
		left.add(e.Name(), info.Size())
	}
	// not just being made
	if err == nil && left.isEmpty() && time.Since(info.ModTime()) > time.Minute {
		os.RemoveAll(folder)
	}
	return left, !left.isEmpty()
}

func (l *Left) isEmpty() bool { return len(l.Files)+len(l.Unstored) == 0 }

// add adds a file, unless that is of no use.
func (l *Left) add(name string, size int64) {
	kind := strings.TrimLeft(name, "0123456789")
	switch {
	case kind == "":
		return
	case strings.HasPrefix(kind, labelUnstored):
		l.Unstored = append(l.Unstored, name)
	default:
		l.Files = append(l.Files, name)
	}
	l.Bytes += size
}
