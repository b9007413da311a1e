package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mapCode asks the kernel for all pages of this program's code and constants. Otherwise the first
// request of each kind takes a page fault for each 64 KiB of code that it runs. The libraries of
// cloud stores have doubled the code: the first READ of a mount took 222 µs in place of 157 µs. The
// call fails before Linux 5.14, and nothing depends on it.
func mapCode() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		var start, end uintptr
		var rights string
		_, err := fmt.Sscanf(line, "%x-%x %s", &start, &end, &rights)
		if err == nil && rights[1] != 'w' && strings.HasSuffix(strings.TrimSpace(line), program) {
			unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_POPULATE_READ)
		}
	}
}
