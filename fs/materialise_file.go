package fs

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/view"
)

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
	if len(bufs) > maxPieces {
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
