package wire

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/program"
)

// If the answer to a READ for the page cache is too short, the kernel fills the page with zeros. A
// program sees them as long as the kernel believes in a file of that size. A request for another
// size is such a case. The program that truncates the file already has the answer. But a
// reader may see the page before that program gets a CPU to note the new size. On a busy machine
// that takes many milliseconds.

const (
	// SizeWait is how long a READ waits at most for the kernel to note another size of the file.
	SizeWait = 5 * time.Second
	// SizeAsked is the time between two questions which size the kernel has.
	SizeAsked = 500 * time.Microsecond

	// These two are for a kernel that cannot be asked. A program that has a CPU notes the answer
	// within sizeNoted. A program that waits for a CPU mostly notes it within sizeLate.
	sizeNoted = 50 * time.Millisecond
	sizeLate  = time.Second
)

// Sizing is what is known of the requests for another size of a file.
type Sizing struct {
	waiting  atomic.Int64 // requests that the kernel waits for
	answered atomic.Int64 // when the last of them was answered, in nanoseconds since 1970
	thread   atomic.Int64 // that sent it
}

// Begin notes that a thread asks for another size. It returns a function that notes that the kernel
// is about to get the answer.
func (s *Sizing) Begin(thread int) (sized func()) {
	s.waiting.Add(1)
	return func() {
		s.thread.Store(int64(thread))
		s.answered.Store(time.Now().UnixNano())
		s.waiting.Add(-1)
	}
}

// Overrates reports whether the kernel still believes that a truncated file has a byte at off. The
// file has that inode number, and path returns where it is.
func (s *Sizing) Overrates(off int64, number uint64, path func() string) bool {
	answered := time.Since(time.Unix(0, s.answered.Load()))
	if s.waiting.Load() > 0 {
		answered = 0
	}
	if answered > SizeWait {
		return false
	}
	size, known := kernelSize(path(), number)
	if !known { // the program that truncated the file may itself wait for this page
		return answered < sizeNoted || answered < sizeLate &&
			program.WaitsForCPU(int(s.thread.Load()))
	}
	return size > off
}

// Shows reports whether the kernel believes that the file at path has a byte at off. The file has
// that inode number. The kernel has asked for bytes up to end. If its size cannot be known, a whole
// page behind off says the same: the kernel asks for no page behind the end of the file.
func Shows(path string, number uint64, off, end int64) bool {
	size, known := kernelSize(path, number)
	if !known {
		return end-off >= pageSize
	}
	return size > off
}

// pageSize is that of the kernel, in bytes.
var pageSize = int64(os.Getpagesize())

// kernelSize returns the size of the file at path as the kernel believes it, if the file has that
// inode number. The kernel is asked through the mount, but only for what it knows by itself. A
// request back to the daemon might wait for the very page that is to be read. So the size is not
// known if the kernel has forgotten a name on the way to the file. It is not known either if the
// mount was moved, or before Linux 5.12.
func kernelSize(path string, number uint64) (size int64, known bool) {
	fd, err := openKnown(path)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	return sizeOf(fd, number, unix.AT_STATX_DONT_SYNC)
}

// openKnown opens a file to look at it, if the kernel knows all names of its path.
func openKnown(path string) (fd int, err error) {
	const cached = 0x20 // RESOLVE_CACHED of openat2(2)
	how := unix.OpenHow{Flags: lookOnly, Resolve: cached}
	return unix.Openat2(unix.AT_FDCWD, path, &how)
}

// lookOnly are the flags of open(2) for a file of which only the size is asked.
const lookOnly = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

// sizeOf asks the kernel for the size of an open file, by one of AT_STATX_DONT_SYNC and
// AT_STATX_FORCE_SYNC. It is not known if the file has another inode number.
func sizeOf(fd int, number uint64, sync int) (size int64, known bool) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|sync, unix.STATX_SIZE|unix.STATX_INO, &st)
	return int64(st.Size), err == nil && st.Ino == number
}

// sizeTries is how often the kernel is made to ask for the size of a file. It ignores the answer if
// it gets a notice for the file in between.
const sizeTries = 10

// tellSize makes the kernel ask the daemon of a mount for the size of the file at path, which has
// that inode number. It goes on until the kernel believes that the file reaches to end, or the file
// is not there. The daemon itself must not call it; see Teller.
func tellSize(path string, number uint64, end int64) {
	fd, err := openKnown(path)
	if err != nil { // the kernel believes each name for a second: it asks the daemon again
		fd, err = unix.Open(path, lookOnly, 0)
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for range sizeTries {
		if _, known := sizeOf(fd, number, unix.AT_STATX_FORCE_SYNC); !known {
			return
		}
		if size, known := sizeOf(fd, number, unix.AT_STATX_DONT_SYNC); !known || size >= end {
			return
		}
	}
}
