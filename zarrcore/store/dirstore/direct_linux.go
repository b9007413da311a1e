package dirstore

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// directAlign is what address, offset and length of a direct write are multiples of. Disks and file
// systems that ask for more refuse.
const directAlign = 4096

// writeDirect writes what it can of data to the end of a new file past the page cache. The file has
// off bytes. It returns how many bytes it wrote. Whatever stands against it, writing the rest in
// the ordinary way either succeeds or says what is the matter.
func writeDirect(fd int, data []byte, off int64) (n int) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	if len(data) < directAlign || at%directAlign != 0 || off%directAlign != 0 {
		return 0
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return 0
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_DIRECT); err != nil {
		return 0
	}
	whole := data[:len(data)&^(directAlign-1)]
	for n < len(whole) {
		m, err := unix.Pwrite(fd, whole[n:min(len(whole), n+1<<30)], off+int64(n))
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
