package zstd

import (
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns memory of n bytes right before a page that can't be touched, so that an access
// beyond it ends the program.
func guarded(t testing.TB, n int) []byte {
	page := unix.Getpagesize()
	size := (n + page - 1) &^ (page - 1)
	m, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mprotect(m[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return m[size-n : size : size]
}
