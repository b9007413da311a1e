package fs

import (
	"context"
	"fmt"
	"io"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// writeMost is how many bytes WriteTo writes at once.
const writeMost = 1 << 20

// A File is a view of a node, read without a mount. It is not safe for concurrent use.
type File struct {
	ctx     context.Context
	content content
	off     int64
}

// OpenView opens the view of that name of the node at path.
func OpenView(ctx context.Context, h *zarrcore.Hierarchy, path, name string) (*File, error) {
	v := viewNamed(name)
	if v == nil {
		_, err := ParseViews(name)
		return nil, err
	}
	c, err := v.open(ctx, h, path)
	if err != nil {
		return nil, err
	}
	if u, ok := c.(uncounted); ok {
		if err := u.count(ctx); err != nil {
			c.close()
			return nil, err
		}
	}
	return &File{ctx: ctx, content: c}, nil
}

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.content.size() }

// Close ends the reading.
func (f *File) Close() error {
	f.content.close()
	return nil
}

// Read reads the next bytes, as io.Reader does.
func (f *File) Read(p []byte) (int, error) {
	n := min(int64(len(p)), f.content.size()-f.off)
	if n <= 0 {
		return 0, io.EOF
	}
	r, err := f.content.read(f.ctx, f.off, n)
	if err != nil {
		return 0, err
	}
	defer r.done()
	b := r.bytes(p[:0])
	f.off += int64(len(b))
	return len(b), nil
}

// WriteTo writes all that is left to w, without a copy in between.
func (f *File) WriteTo(w io.Writer) (written int64, err error) {
	for f.off < f.content.size() && err == nil {
		var n int64
		n, err = f.writeSome(w)
		written += n
	}
	return written, err
}

func (f *File) writeSome(w io.Writer) (written int64, err error) {
	want := min(writeMost, f.content.size()-f.off)
	r, err := f.content.read(f.ctx, f.off, want)
	if err != nil {
		return 0, err
	}
	defer r.done()
	for _, s := range r.slices {
		n, err := w.Write(s)
		written += int64(n)
		f.off += int64(n)
		if err != nil {
			return written, err
		}
	}
	if written < want {
		return written, fmt.Errorf("expected %d bytes, found %d: %w", want, written, io.ErrUnexpectedEOF)
	}
	return written, nil
}
