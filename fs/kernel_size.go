package fs

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// If the answer to a READ for the page cache is too short, the kernel fills the page with zeros. A
// program sees them as long as the kernel believes that the file reaches that far. A request for
// another size is such a case. The program that truncates the file already has the answer. But a
// reader may see the page before that program gets a CPU to note the new size. On a busy machine
// that takes many milliseconds.

const (
	sizeWait  = 5 * time.Second        // that a READ waits for the kernel to note another size of the file, at most
	sizeAsked = 500 * time.Microsecond // between two questions which size the kernel has
	sizeNoted = 50 * time.Millisecond  // in which a program that is not kept from its CPU notes the answer
	sizeLate  = time.Second            // in which one that is notes it, mostly; these two are for where the kernel cannot be asked
)

// readShort answers a READ for the page cache that has found only r, less than the kernel asks for.
// It reads again until the kernel has noted the size of the file.
func (h *handle) readShort(req *wire.Request, r *view.Found, off, n int64) (_ *view.Found, err error) {
	for end := time.Now().Add(sizeWait); int64(r.N) < n && h.node.overrated(off+int64(r.N)) && time.Now().Before(end); {
		r.Done()
		time.Sleep(sizeAsked)
		if r, err = h.read(req, off, n); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// overrated reports whether the kernel still believes that a truncated file has a byte at off.
func (n *fileNode) overrated(off int64) bool {
	answered := time.Since(time.Unix(0, n.resized.Load()))
	if n.sizing.Load() > 0 {
		answered = 0
	}
	if answered > sizeWait {
		return false
	}
	size, known := n.kernelSize()
	if !known { // the program that cut the file may wait for the very page that is to be read
		return answered < sizeNoted || answered < sizeLate && program.WaitsForCPU(int(n.sizer.Load()))
	}
	return size > off
}

// sizes notes that a thread asks for another size. It returns a function that notes that the kernel
// is about to get the answer.
func (n *fileNode) sizes(thread int) (sized func()) {
	n.sizing.Add(1)
	return func() {
		n.sizer.Store(int64(thread))
		n.resized.Store(time.Now().UnixNano())
		n.sizing.Add(-1)
	}
}

// kernelSize returns the size that the kernel believes the file to have. It is asked through the
// mount, for what it knows by itself: a request that came back to the daemon might wait for the
// very page that is to be read. So the size is not known if the kernel has forgotten a name on the
// way to the file. It is not known either if the mount was moved, or before Linux 5.12.
func (n *fileNode) kernelSize() (size int64, known bool) {
	path := filepath.Join(n.fs.keep.mount, n.Path(nil))
	const cached = 0x20 // RESOLVE_CACHED of openat2(2)
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: cached})
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_SIZE|unix.STATX_INO, &st)
	return int64(st.Size), err == nil && st.Ino == n.StableAttr().Ino
}
