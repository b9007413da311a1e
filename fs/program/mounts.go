package program

import (
	"os"
	"slices"
	"strconv"
	"strings"
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
