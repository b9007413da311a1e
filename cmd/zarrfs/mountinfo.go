package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

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

// usersText names the processes that use the mount at dir, as far as this user may look. It leaves
// out stuck ones: an unmount shows whether they use the mount.
func usersText(dir string) string {
	m, ok := mountAt(dir)
	if !ok {
		return ""
	}
	var users []string
	for _, pid := range processes() {
		if pid == os.Getpid() {
			continue
		}
		if uses, _ := askAbout(pid, func() bool { return usesMount(pid, m) }); uses {
			users = append(users, processText(pid))
		}
	}
	return strings.Join(users, ", ")
}

// usesMount reports whether a process works in the mount, or has a file of it open or mapped. It
// looks at names and numbers only: to touch the files themselves could wait for the mount's server.
func usesMount(pid int, m mountEntry) bool {
	proc := procOf(pid)
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
