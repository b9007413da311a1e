package main

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An overlay that has a mount as a layer keeps it after it was taken out of the tree. So does a
// mount namespace without a process. A file keeps such a namespace, as `unshare --mount=FILE` makes
// it.

// unseenText names what is mounted here and may keep the file system of m alive without a program.
func unseenText(m mountEntry) string {
	var holders []string
	for _, e := range allMounts() {
		switch {
		case e.kind == "overlay" && e.mayHaveLayerIn(m.dir):
			holders = append(holders, "the overlay at "+e.dir)
		case e.kind == "nsfs" && strings.HasPrefix(e.root, "mnt:"):
			holders = append(holders, "the mount namespace of "+e.dir)
		}
	}
	return strings.Join(holders, ", ")
}

// mayHaveLayerIn reports whether an overlay may have a layer in dir.
func (m mountEntry) mayHaveLayerIn(dir string) bool {
	for option := range strings.SplitSeq(m.options, ",") {
		name, layers, _ := strings.Cut(option, "=")
		if !strings.HasPrefix(name, "lowerdir") && name != "upperdir" {
			continue
		}
		for layer := range strings.SplitSeq(layers, ":") {
			if mayBeIn(dir, filepath.Clean(layer)) {
				return true
			}
		}
	}
	return false
}

// mayBeIn reports whether a path may lie in dir. The kernel shows a layer as it was given, so
// nobody knows from which folder a relative one starts: it may be one that leads to dir.
func mayBeIn(dir, path string) bool {
	for ; path != "." && path != "/"; path = filepath.Dir(path) {
		leads := !filepath.IsAbs(path) && strings.HasSuffix(dir, "/"+strings.TrimLeft(path, "./"))
		if path == dir || leads {
			return true
		}
	}
	return false
}

// sayUnseen says what may keep the process that serves m.
func sayUnseen(m mountEntry, pid int) {
	if holders := unseenText(m); holders != "" {
		fmt.Fprintf(stderr, "zarrfs: %s is unmounted here; waiting for the end of process %d, "+
			"which may go on for %s …\n", m.dir, pid, holders)
	}
}

// stillHeld says why the process that serves m may go on, although no copy of m is found in a
// program.
func stillHeld(m mountEntry, pid int, err error) error {
	holders := "an overlay with a layer in the mount, or a mount namespace that is kept by a file"
	if found := unseenText(m); found != "" {
		holders = found
	}
	if !seesAll() {
		holders = fmt.Sprintf("a program of another user, whose mounts you may not see "+
			"(`sudo zarrfs umount %s` names it), or %s", m.dir, holders)
	}
	return fmt.Errorf("%w. No program is found that uses a copy of the mount.\n"+
		"It may be kept by: %s\nEnd that, or run `kill %d`: the process then ends within %s",
		err, holders, pid, detachedFor)
}

// seesAll reports whether this user may see the mounts of all processes.
func seesAll() bool {
	return !slices.ContainsFunc(processes(), func(pid int) bool {
		refused, _ := askAbout(pid, func() bool {
			_, err := mountNamespace(strconv.Itoa(pid))
			return errors.Is(err, iofs.ErrPermission)
		})
		return refused
	})
}
