package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// sizeFlag is a number of bytes on the command line: 1048576, 128MiB, 4G (as GiB), 25% of memory.
type sizeFlag int64

// String writes the size as it may be given.
func (s *sizeFlag) String() string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n := int64(*s); n != 0 && n&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set reads the size.
func (s *sizeFlag) Set(text string) error {
	n, err := parseSize(text, memoryTotal)
	*s = sizeFlag(n)
	return err
}

// Type names the kind of value in help texts.
func (s *sizeFlag) Type() string { return "SIZE" }

// sizeUnits by suffix, in bytes. A bare letter is binary, as in dd and du.
var sizeUnits = map[string]float64{
	"": 1, "B": 1,
	"K": 1 << 10, "KIB": 1 << 10, "KB": 1e3,
	"M": 1 << 20, "MIB": 1 << 20, "MB": 1e6,
	"G": 1 << 30, "GIB": 1 << 30, "GB": 1e9,
	"T": 1 << 40, "TIB": 1 << 40, "TB": 1e12,
}

// parseSize reads a size; "%" is of total().
func parseSize(text string, total func() int64) (int64, error) {
	end := len(text)
	for end > 0 && !(text[end-1] >= '0' && text[end-1] <= '9' || text[end-1] == '.') {
		end--
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(text[:end]), 64)
	unit := strings.ToUpper(strings.TrimSpace(text[end:]))
	factor, known := sizeUnits[unit]
	if unit == "%" {
		factor, known = float64(total())/100, true
	}
	if err != nil || !known || number < 0 || math.IsInf(number, 0) || number*factor >= 1<<63 {
		return 0, fmt.Errorf("size %q: expected a number and a unit, as 128MiB, 4GiB or 25%%", text)
	}
	return int64(number * factor), nil
}

// defaultCache is the cache size where none is given: a quarter of the memory that is free, within limits.
func defaultCache() int64 {
	return min(max(memoryAvailable()/4, 256<<20), 4<<30)
}

// defaultDirty is how much may be written and not stored where no size is given.
func defaultDirty() int64 { return min(memoryTotal()/8, 2<<30) }

// memoryTotal returns the memory this process may use, in bytes: of the machine, or of its control group if less.
func memoryTotal() int64 { return min(memInfo("MemTotal:"), cgroupLimit()) }

// memoryAvailable returns how much of it is free or can be made so.
func memoryAvailable() int64 { return min(memInfo("MemAvailable:"), cgroupLimit()) }

// memInfo returns a line of /proc/meminfo in bytes, 4 GiB if there is none.
func memInfo(key string) int64 {
	b, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return 4 << 30
}

// cgroupLimit returns the memory limit of the control group, which is how containers are limited.
func cgroupLimit() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return math.MaxInt64
}
