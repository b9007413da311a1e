package material

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/scratch"
	"github.com/zarrfs/zarrfs/fs/view"
)

const (
	// pieceSize is how many bytes are written at once: pieces of a megabyte make large folios.
	pieceSize = 1 << 20
	// mostSlices is the most slices that one writev takes well. If there are more, one copy costs
	// less than their bookkeeping.
	mostSlices = 512
)

// work materialises m, of the array at path.
func (t *Files) work(path string, m *File, c view.Content) {
	defer t.writing.Done()
	defer close(m.finished)
	defer t.release()
	t.release() // what has made room for it
	err := t.write(path, m, c)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
	m.users--
	m.opened = time.Now()
	if err == nil && m.dropped {
		err = errOutdated
	}
	log := t.o.Log.To.With("file", path, "view", m.view.Name(), "bytes", m.size, "took",
		time.Since(m.began))
	if err == nil {
		m.ready = true
		log.Debug("unpacked into the scratch folder")
		return
	}
	if errors.Is(err, errInMemory) {
		t.giveUp(err)
	}
	log.Debug("not unpacked into the scratch folder", "err", err)
	outdated := m.dropped
	t.drop(m)
	if !outdated && t.ctx.Err() == nil {
		m.of.files[m.view] = &File{table: t, of: m.of, view: m.view, print: m.print,
			life: life{failed: time.Now()}}
	}
}

// errInMemory says that the scratch folder is not a disk: a file there would take the memory of the
// programs.
var errInMemory = errors.New("the scratch folder is in memory")

// suits returns why the scratch folder may not hold size bytes more, and have as much free beside,
// or nil.
func suits(dir string, size int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("scratch folder %s: %w", dir, err)
	}
	if s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC {
		return fmt.Errorf("%s: %w", dir, errInMemory)
	}
	if free := int64(s.Bavail) * s.Bsize; free < 2*size {
		return fmt.Errorf("scratch folder %s has %d bytes free, expected twice %d: %w", dir, free,
			size, syscall.ENOSPC)
	}
	return nil
}

// write decodes the file once more, in order, so that it shares the bands of the programs that read
// it.
func (t *Files) write(path string, m *File, c view.Content) (err error) {
	defer c.Close()
	defer t.o.Log.RecoverTo("materialise", path, &err)
	if err := suits(t.o.Dir, m.size); err != nil {
		return err
	}
	file, err := scratch.Unnamed(t.o.Dir)
	if err != nil {
		return err
	}
	if err := t.register(m, file); err != nil {
		file.Close()
		return err
	}
	if err := scratch.Allocate(file, m.size); err != nil {
		return err
	}
	if err := t.fill(file, c, m); err != nil {
		return err
	}
	// before this all was of that print, for a print never comes back
	if c.Array().Fingerprint() != m.print {
		return errOutdated
	}
	return nil
}

// fill writes all bytes of the content.
func (t *Files) fill(file *os.File, c view.Content, m *File) error {
	for off := int64(0); off < m.size; off += pieceSize {
		if err := t.progress(m, off); err != nil {
			return err
		}
		if err := writePiece(t.ctx, file, c, off, min(pieceSize, m.size-off)); err != nil {
			return err
		}
	}
	return nil
}

// writePiece writes the n bytes of c at off to the same place of file.
func writePiece(ctx context.Context, file *os.File, c view.Content, off, n int64) error {
	r, err := c.Read(ctx, off, n)
	if err != nil {
		return err
	}
	defer r.Done()
	if int64(r.N) != n {
		return fmt.Errorf("expected %d bytes at %d, found %d: %w", n, off, r.N, io.ErrUnexpectedEOF)
	}
	bufs := r.Slices
	if len(bufs) > mostSlices {
		b := r.Bytes(make([]byte, 0, n))
		bufs = [][]byte{b}
	}
	written, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		written, err = unix.Pwritev(int(file.Fd()), bufs, off)
	}
	if err == nil && int64(written) != n {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write to the scratch folder: %w", err)
	}
	return nil
}
