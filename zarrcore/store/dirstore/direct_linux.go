package dirstore

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// directAlign is what address, offset and length of a direct write are multiples of. Disks and file
// systems that ask for more refuse.
const directAlign = 4096

// writeDirect writes what it can of data to the beginning of a new file past the page cache, and
// returns how many bytes that were. Whatever stands against it, writing the rest in the ordinary
// way either succeeds or says what is the matter.
func writeDirect(fd int, data []byte) (n int) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%directAlign != 0 {
		return 0
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_DIRECT); err != nil {
		return 0
	}
	whole := data[:len(data)&^(directAlign-1)]
	for n < len(whole) {
		m, err := unix.Pwrite(fd, whole[n:min(len(whole), n+1<<30)], int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 || m%directAlign != 0 {
			break
		}
		n += m
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags); err != nil {
		return 0
	}
	return n
}
