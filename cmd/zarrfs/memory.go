package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Memory defaults follow what the process may really take. The limits are the machine's memory, the
// control groups of the process with all their ancestors, and the address space (ulimit -v). SLURM,
// systemd and containers set control groups. Other processes may have used most of such a group,
// and the kernel ends one of them if the group needs more.

// memoryLimits are the amounts of memory, in bytes, that the defaults follow.
type memoryLimits struct {
	total     int64 // that the process may take
	left      int64 // of it, what others in its control groups do not use
	available int64 // of that, what is free or can be freed
}

// memory returns the limits of this process.
func memory() memoryLimits {
	root := os.DirFS("/")
	limit, left := groupLimit(root)
	addresses := addressLimit(root)
	m := memoryLimits{total: min(memInfo(root, "MemTotal:"), limit, addresses)}
	m.left = min(m.total, left)
	m.available = min(memInfo(root, "MemAvailable:"), m.left)
	return m
}

// memoryTotal returns how much memory this process may take, in bytes.
func memoryTotal() int64 { return memory().total }

const (
	// leastCache and mostCache bound the default of the cache, in bytes. Where control groups leave
	// less than four times the lower bound, the cache is a quarter of what they leave.
	leastCache = 256 << 20
	mostCache  = 4 << 30
	// mostDirty bounds the default of what may be written and not stored, in bytes.
	mostDirty = 2 << 30
)

// cache returns the cache size where none is given: a quarter of the memory that is free, within
// bounds.
func (m memoryLimits) cache() int64 {
	return min(max(m.available/4, min(leastCache, m.left/4)), mostCache)
}

// dirty returns how much may be written and not stored where no size is given.
func (m memoryLimits) dirty() int64 { return min(m.left/8, mostDirty) }

// defaultCache is the cache size where none is given.
func defaultCache() int64 { return memory().cache() }

// defaultDirty is how much may be written and not stored where no size is given.
func defaultDirty() int64 { return memory().dirty() }

// memInfo returns a line of /proc/meminfo in bytes, 4 GiB if there is none.
func memInfo(root fs.FS, key string) int64 {
	b, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return 4 << 30
}

// addressLimit returns how much memory fits into the address space that the process may still take:
// a quarter of it, because threads, arenas of Go's runtime and mapped scratch files take addresses
// without taking memory.
func addressLimit(root fs.FS) int64 {
	if left, limited := addressesLeft(root); limited {
		return left / 4
	}
	return math.MaxInt64
}

// addressesLeft returns how many bytes of address space the process may still take, if that is
// limited.
func addressesLeft(root fs.FS) (left int64, limited bool) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur > math.MaxInt64 {
		return 0, false
	}
	return max(0, int64(limit.Cur)-addressesTaken(root)), true
}

// leastAddresses is how many bytes of address space a mount needs beside what the program has when
// it starts: with less, Go's runtime may end it in the middle of its work.
const leastAddresses = 512 << 20

// enoughAddresses returns an error where the address space is limited to less than a mount needs.
func enoughAddresses() error {
	left, limited := addressesLeft(os.DirFS("/"))
	if !limited || left >= leastAddresses {
		return nil
	}
	return fmt.Errorf("the limit of the address space (ulimit -v) leaves %s, and a mount needs "+
		"%s: raise the limit, or limit memory by a control group instead",
		bytesText(left), bytesText(leastAddresses))
}

// addressesTaken returns the size of the process's address space in bytes, 0 if it cannot be known.
func addressesTaken(root fs.FS) int64 {
	b, _ := fs.ReadFile(root, "proc/self/statm")
	pages, _, _ := strings.Cut(string(b), " ")
	n, _ := strconv.ParseInt(pages, 10, 64)
	return n * int64(os.Getpagesize())
}

// groupFiles are the files of a control group that say what memory it may take, and what it takes.
type groupFiles struct {
	limits []string
	used   string
	cached []string // lines of memory.stat: of what is used, pages of files, which can be dropped
}

// groupKinds are those files by the type of file system that shows the group; see cgroups(7).
var groupKinds = map[string]groupFiles{
	"cgroup": {[]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes",
		[]string{"total_inactive_file", "total_active_file"}},
	"cgroup2": {[]string{"memory.max", "memory.high"}, "memory.current",
		[]string{"inactive_file", "active_file"}},
}

// groupLimit returns the least memory limit of the control groups of the process and of their
// ancestors. It also returns the least that one of them leaves to this process.
func groupLimit(root fs.FS) (limit, left int64) {
	limit, left = math.MaxInt64, math.MaxInt64
	info, _ := fs.ReadFile(root, "proc/self/mountinfo")
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(info)) {
		m, ok := parseMountinfo(line)
		files, shows := groupKinds[m.kind]
		if !ok || !shows {
			continue
		}
		group, ok := groupOf(string(groups), m)
		if !ok {
			continue
		}
		for ; ; group = path.Dir(group) {
			most := files.limitIn(root, path.Join(m.dir, group))
			limit = min(limit, most)
			left = min(left, files.leftIn(root, path.Join(m.dir, group), most))
			if group == "." { // the mounted folder, perhaps the one of a container's group
				break
			}
		}
	}
	return limit, left
}

// leastLeft is the part of a group's limit on which this process counts at least, as a divisor. It
// cannot work with nothing, and others may need less later.
const leastLeft = 8

// leftIn returns what is left of the limit of the group that a folder shows.
func (f groupFiles) leftIn(root fs.FS, folder string, limit int64) int64 {
	if limit == math.MaxInt64 {
		return limit
	}
	used, _ := numberIn(root, folder, f.used)
	stat, _ := fs.ReadFile(root, inRoot(folder, "memory.stat"))
	for line := range strings.Lines(string(stat)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && slices.Contains(f.cached, name) {
			used -= n
		}
	}
	return max(limit-max(used, 0), limit/leastLeft)
}

// groupOf returns the folder of the process's memory group below the mounted folder of m, "." for
// that folder itself. So it is where the group lies outside of what is mounted. ok is false where m
// shows no memory groups.
func groupOf(groups string, m mountEntry) (group string, ok bool) {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // number:controllers:path
		if len(fields) < 3 {
			continue
		}
		unified := fields[1] == ""
		if unified != (m.kind == "cgroup2") || !unified &&
			!(hasOption(fields[1], "memory") && hasOption(m.options, "memory")) {
			continue
		}
		below, inside := strings.CutPrefix(fields[2]+"/", strings.TrimSuffix(m.root, "/")+"/")
		if !inside || strings.Contains(below, "..") {
			return ".", true
		}
		return path.Clean("./" + below), true
	}
	return "", false
}

// hasOption reports whether a list separated by commas has an item.
func hasOption(list, item string) bool {
	for option := range strings.SplitSeq(list, ",") {
		if option == item {
			return true
		}
	}
	return false
}

// limitIn returns the least limit that files in the folder of a group name.
func (f groupFiles) limitIn(root fs.FS, folder string) int64 {
	limit := int64(math.MaxInt64)
	for _, name := range f.limits {
		if n, ok := numberIn(root, folder, name); ok { // otherwise it is "max"
			limit = min(limit, n)
		}
	}
	return limit
}

// numberIn returns the positive number that a file in a folder has.
func numberIn(root fs.FS, folder, name string) (n int64, ok bool) {
	b, err := fs.ReadFile(root, inRoot(folder, name))
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n > 0
}

// inRoot returns the name that a file in a folder has for fs.FS.
func inRoot(folder, name string) string { return strings.TrimPrefix(path.Join(folder, name), "/") }
