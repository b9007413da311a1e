package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
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

// allMounts returns what is mounted, in the order in which it was.
func allMounts() []mountEntry { return mountsIn("/proc/self/mountinfo") }

// mountsIn returns what is mounted according to a mountinfo file. An error is as if nothing were.
func mountsIn(mountinfo string) (all []mountEntry) {
	b, _ := os.ReadFile(mountinfo)
	for line := range strings.Lines(string(b)) {
		if m, parsed := parseMountinfo(line); parsed {
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

// mountAt returns what is mounted at dir, the last if there are several.
func mountAt(dir string) (found mountEntry, ok bool) {
	dir = resolveParent(dir)
	for _, m := range allMounts() {
		if m.dir == dir {
			found, ok = m, true
		}
	}
	return found, ok
}

// ourMountAt returns the mount of zarrfs at dir, which may be a link to it, and its absolute path.
func ourMountAt(dir string) (mountEntry, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return mountEntry{}, err
	}
	m, ok := mountAt(dir)
	if !ok { // perhaps it was mounted by way of a link; a mount itself is not touched before it is known to answer
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			m, ok = mountAt(real)
		}
	}
	switch {
	case !ok:
		return m, mountErr(notMounted(dir))
	case !strings.HasPrefix(m.kind, "fuse"):
		return m, mountErr(fmt.Errorf("%s is a mount of type %s, not of zarrfs; unmount it with `umount %[1]s`", dir, m.kind))
	}
	return m, nil
}

// mountAround returns the mount of ours that path lies in.
func mountAround(path string) (mountEntry, bool) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		if m, ok := mountAt(dir); ok || dir == filepath.Dir(dir) {
			return m, ok && m.kind == ourKind
		}
	}
}

// parseMountinfo reads one line: id, parent, major:minor, root, dir, options, tags, "-", kind, source, options.
func parseMountinfo(line string) (mountEntry, bool) {
	left, right, ok := strings.Cut(line, " - ")
	l, r := strings.Fields(left), strings.Fields(right)
	if !ok || len(l) < 6 || len(r) < 2 {
		return mountEntry{}, false
	}
	m := mountEntry{dir: unescapeMount(l[4]), dev: l[2], kind: r[0], source: unescapeMount(r[1]), root: unescapeMount(l[3])}
	if len(r) > 2 {
		m.options = r[2]
	}
	return m, true
}

// unescapeMount undoes the octal escapes of spaces and the like.
func unescapeMount(s string) string {
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

// resolveParent follows links in all of a path but its end, which may be a stale mount that nobody can look at.
func resolveParent(dir string) string {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return dir
	}
	return filepath.Join(parent, filepath.Base(dir))
}

// searchTime bounds the search for who uses a mount. The kernel answers nothing about a process that is stuck in an
// exec or in a page fault of a dead mount, until it goes on.
const searchTime = 3 * time.Second

// usersText names the processes that use the mount at dir, as far as we may look and the kernel answers in time.
func usersText(dir string) string {
	m, ok := mountAt(dir)
	if !ok {
		return ""
	}
	return namedInTime(func(found func(string)) {
		for _, pid := range processes() {
			if pid != os.Getpid() && usesMount(pid, m) {
				found(processText(pid))
			}
		}
	})
}

// namedInTime returns what a search finds within searchTime.
func namedInTime(search func(found func(string))) string {
	found := make(chan string, 1)
	go func() {
		defer close(found)
		search(func(name string) { found <- name })
	}()
	var names []string
	for enough := time.After(searchTime); ; {
		select {
		case name, more := <-found:
			if !more {
				return strings.Join(names, ", ")
			}
			names = append(names, name)
		case <-enough:
			return strings.Join(append(names, "perhaps others that could not be asked"), ", ")
		}
	}
}

// usesMount tells whether a process works in the mount, or has a file of it open or mapped. It looks at names and
// numbers only: touching the files themselves could wait for the mount's server.
func usesMount(pid int, m mountEntry) bool {
	proc := fmt.Sprintf("/proc/%d/", pid)
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
