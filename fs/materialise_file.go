package fs

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// writePiece writes the n bytes of c at off to the same place of file.
func writePiece(ctx context.Context, file *os.File, c content, off, n int64) error {
	r, err := c.read(ctx, off, n)
	if err != nil {
		return err
	}
	defer r.done()
	if int64(r.n) != n {
		return fmt.Errorf("expected %d bytes at %d, found %d: %w", n, off, r.n, io.ErrUnexpectedEOF)
	}
	bufs := r.slices
	if len(bufs) > maxPieces {
		b := r.bytes(make([]byte, 0, n))
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
