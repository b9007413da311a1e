package dirstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// object is an open file. It is not an *os.File: that costs two more system calls and five
// allocations per chunk.
type object struct {
	ctx context.Context
	key string
	st  unix.Stat_t
	fd  int
	// uses is twice the number of running ReadAt calls, plus one once Close was called. The call
	// that makes it 1 closes fd. So no read ever uses a descriptor number that the kernel has given
	// to another file meanwhile.
	uses atomic.Int64
}

// newObject owns fd, also when it fails.
func newObject(ctx context.Context, fd int, key string) (store.Object, error) {
	o := &object{ctx: ctx, key: key, fd: fd}
	err := fstat(fd, &o.st)
	if err == nil {
		err = objectKind(&o.st)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return o, nil
}

func objectKind(st *unix.Stat_t) error {
	switch kindOf(st) {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return fs.ErrNotExist
	}
	return ErrNotRegular
}

// Size is the file's length when it was opened.
func (o *object) Size() int64 { return o.st.Size }

// Info describes the file at its opening.
func (o *object) Info() store.Info { return infoOf(o.key, &o.st) }

// ReadAt reads full or fails, as io.ReaderAt says.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("offset %d is negative: %w", off, fs.ErrInvalid)
	}
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	if !o.acquire() {
		return 0, fs.ErrClosed
	}
	defer o.release()
	return readFull(o.fd, p, off)
}

// Peek reads the beginning of an object; see store.Peeker. It asks what the file is only where the
// read leaves that open: pipes and sockets cannot be read at an offset, nor directories at all.
func (d *reader) Peek(ctx context.Context, key string, p []byte) (n int, err error) {
	r, err := d.begin(ctx)
	if err != nil {
		return 0, err
	}
	fd, err := r.open(key, objectFlags)
	if err != nil {
		return 0, r.explain(key, err)
	}
	defer unix.Close(fd)
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.Pread(fd, p, 0)
	}
	if err == nil && 0 < n && n < len(p) {
		return n, nil
	}
	var st unix.Stat_t
	if statErr := fstat(fd, &st); statErr != nil {
		return 0, statErr
	}
	if kindErr := objectKind(&st); kindErr != nil {
		return 0, kindErr
	}
	return max(n, 0), err
}

func readFull(fd int, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		m, err := unix.Pread(fd, p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		default:
			n += m
		}
	}
	return n, nil
}

func (o *object) acquire() bool {
	for {
		n := o.uses.Load()
		if n&1 != 0 {
			return false
		}
		if o.uses.CompareAndSwap(n, n+2) {
			return true
		}
	}
}

func (o *object) release() {
	if o.uses.Add(-2) == 1 {
		unix.Close(o.fd)
	}
}

// Close closes the file as soon as no read runs.
func (o *object) Close() error {
	n := o.uses.Or(1)
	switch {
	case n&1 != 0:
		return fs.ErrClosed
	case n == 0:
		return unix.Close(o.fd)
	}
	return nil
}

func fstat(fd int, st *unix.Stat_t) error {
	for {
		if err := unix.Fstat(fd, st); err != unix.EINTR {
			return err
		}
	}
}

func kindOf(st *unix.Stat_t) uint32 { return uint32(st.Mode) & unix.S_IFMT }

func infoOf(key string, st *unix.Stat_t) store.Info {
	return store.Info{
		Name: store.Base(key),
		Dir:  kindOf(st) == unix.S_IFDIR,
		Size: st.Size,
		// st_blocks counts units of 512 bytes, whatever the file system's own
		Stored:  st.Blocks * 512,
		ModTime: time.Unix(st.Mtim.Unix()),
		Changed: time.Unix(st.Ctim.Unix()),
		Version: version(st),
	}
}

// version joins inode, mtime, ctime and size. The inode tells replaced files apart, the change time
// also files rewritten in place whose mtime was set back.
func version(st *unix.Stat_t) string {
	b := make([]byte, 0, 64)
	for _, n := range [...]int64{int64(st.Ino), st.Mtim.Nano(), st.Ctim.Nano(), st.Size} {
		b = append(strconv.AppendUint(b, uint64(n), 36), '.')
	}
	return string(b[:len(b)-1])
}
