// Package mapped hands out memory that is not of the Go heap. It goes back to the system at once,
// where large garbage would stay until the collector finds it.
package mapped

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Least is the size, in bytes, from which buffers are worth a mapping. For smaller ones the system
// calls would cost more than a chunk of that size costs to decode. And a process may have only
// about 65,000 mappings.
const Least = 128 << 10

// Get returns n bytes of zeros, and reports whether they are mapped. They are of the Go heap if n
// is less than Least, if there are too many mappings, or if no addresses are left.
func Get(n int64) (b []byte, isMapped bool) {
	const access, kind = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON
	if n >= Least {
		if b, err := unix.Mmap(-1, 0, int(n), access, kind); err == nil {
			return b, true
		}
	}
	return make([]byte, n), false
}

// Put gives memory of Get back to the system. Nobody may use its bytes any more. It reports whether
// b was mapped, and does nothing if b is of the Go heap. err is set if b stays mapped: it lies amid
// others, and the process would have too many mappings without it.
func Put(b []byte) (was bool, err error) {
	err = unix.Munmap(b[:cap(b)])
	if errors.Is(err, unix.EINVAL) {
		return false, nil
	}
	return true, err
}
