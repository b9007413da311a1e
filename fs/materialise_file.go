package fs

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// namedFirst begins the name of a file, while it has one, where the file system has no files without.
const namedFirst = ".zarrfs-file-"

// unnamed returns a new file in dir that has no name, so that nothing is left of it whatever ends the program.
func unnamed(dir string) (*os.File, error) {
	file, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err == nil {
		return file, nil
	}
	if file, err = os.CreateTemp(dir, namedFirst+"*"); err != nil { // not every file system has unnamed files
		return nil, err
	}
	if err = os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// allocate gives the file size bytes and their blocks, so that it cannot run out of space later.
func allocate(file *os.File, size int64) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Fallocate(int(file.Fd()), 0, 0, size)
	}
	if err != nil {
		return fmt.Errorf("allocate %d bytes in the scratch folder: %w", size, err)
	}
	return nil
}

// writePiece writes the n bytes of c at off to the same place of file.
func writePiece(ctx context.Context, file *os.File, c content, off, n int64) error {
	r, err := c.read(ctx, off, n)
	if err != nil {
		return err
	}
	defer r.Done()
	if int64(r.n) != n {
		return fmt.Errorf("expected %d bytes at %d, found %d: %w", n, off, r.n, io.ErrUnexpectedEOF)
	}
	bufs := r.slices
	if len(bufs) > maxPieces {
		b, _ := r.Bytes(make([]byte, 0, n))
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
