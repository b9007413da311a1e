package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/fs/program"
)

// mountEntry is a line of /proc/self/mountinfo.
type mountEntry struct {
	dir, kind, source string
	dev               string // major:minor
	options           string // of the file system, separated by commas
	root              string // the folder of the file system that is mounted
}

// owner returns the number of the user who made a FUSE mount; only they and root may end it.
func (m mountEntry) owner() (uid int, known bool) {
	for option := range strings.SplitSeq(m.options, ",") {
		if text, ok := strings.CutPrefix(option, "user_id="); ok {
			uid, err := strconv.Atoi(text)
			return uid, err == nil
		}
	}
	return 0, false
}

// isReadOnly reports whether nothing can be written by way of the mount.
func (m mountEntry) isReadOnly() bool {
	return slices.Contains(strings.Split(m.options, ","), "ro")
}

// allMounts returns what is mounted, in the order in which it was.
func allMounts() []mountEntry { return mountsIn("/proc/self/mountinfo") }

// mountsIn returns what is mounted according to a mountinfo file. An error is as if nothing were.
func mountsIn(mountinfo string) (all []mountEntry) {
	b, _ := os.ReadFile(mountinfo)
	for line := range strings.Lines(string(b)) {
		if m, parsed := parseMountinfo(line); parsed {
			broken.note(m.dir, m.source)
			all = append(all, m)
		}
	}
	return all
}

// ourMounts returns the mounts of zarrfs.
func ourMounts() []mountEntry {
	return slices.DeleteFunc(allMounts(), func(m mountEntry) bool { return m.kind != ourKind })
}

// ourKind is the type of file system that mounts of zarrfs have.
const ourKind = "fuse.zarrfs"

// mountAt returns what is mounted at dir, which may be a link to it, the last if there are several.
func mountAt(dir string) (found mountEntry, ok bool) { return mountIn(allMounts(), located(dir)) }

func mountIn(all []mountEntry, dir string) (found mountEntry, ok bool) {
	for _, m := range all {
		if m.dir == dir {
			found, ok = m, true
		}
	}
	return found, ok
}

// ourMountAt returns the mount of zarrfs at dir, which may be a link to it.
func ourMountAt(dir string) (mountEntry, error) {
	m, ok := mountAt(dir)
	switch {
	case !ok:
		return m, mountErr(notMounted(absolute(dir)))
	case !strings.HasPrefix(m.kind, "fuse"):
		return m,
			mountErr(fmt.Errorf("%s is a mount of type %s, not of zarrfs; unmount it with "+
				"`umount %[1]s`", m.dir, m.kind))
	}
	return m, nil
}

// notMounted says why there is no mount at a path.
func notMounted(path string) error {
	if m, ok := mountAround(path); ok {
		return fmt.Errorf("%s is not a mount, but lies in the one at %s: give that folder", path,
			m.dir)
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%s: %w; `zarrfs status` lists the mounts", path, bare(err))
	}
	return fmt.Errorf("%s is not a mount; `zarrfs status` lists the mounts", path)
}

// mountAround returns the mount of ours that path lies in.
func mountAround(path string) (mountEntry, bool) {
	all := allMounts()
	for dir := located(path); ; dir = filepath.Dir(dir) {
		if m, ok := mountIn(all, dir); ok || dir == filepath.Dir(dir) {
			return m, ok && m.kind == ourKind
		}
	}
}

// parseMountinfo reads one line: id, parent, major:minor, root, dir, options, tags, "-", kind,
// source, options. Plain spaces are between them; names may hold other ones.
func parseMountinfo(line string) (mountEntry, bool) {
	left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
	l, r := strings.Split(left, " "), strings.Split(right, " ")
	if !ok || len(l) < 6 || len(r) < 2 {
		return mountEntry{}, false
	}
	m := mountEntry{dir: program.UnescapePath(l[4]), dev: l[2], kind: r[0],
		source: program.UnescapePath(r[1]), root: program.UnescapePath(l[3])}
	if len(r) > 2 {
		m.options = r[2]
	}
	return m, true
}
