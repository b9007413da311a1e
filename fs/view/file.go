package view

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
	content Content
	off     int64
}

// Open opens the view of that name of the node at path.
func Open(ctx context.Context, h *zarrcore.Hierarchy, path, name string) (*File, error) {
	v := Named(name)
	if v == nil {
		_, err := Parse(name)
		return nil, err
	}
	c, err := OpenCounted(ctx, h, path, v)
	if err != nil {
		return nil, err
	}
	return &File{ctx: ctx, content: c}, nil
}

// OpenCounted opens a view whose size must be known, if need be by counting the array.
func OpenCounted(
	ctx context.Context, h *zarrcore.Hierarchy, path string, v View,
) (Content, error) {
	c, err := v.Open(ctx, h, path)
	if err != nil {
		return nil, err
	}
	if u, ok := c.(uncounted); ok {
		if err := u.count(ctx); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.content.Size() }

// Left returns what the file lacks of the hierarchy below its node, and why.
func (f *File) Left() []error {
	if many, ok := f.content.(*Composite); ok {
		return many.Left()
	}
	return nil
}

// Close ends the reading.
func (f *File) Close() error {
	f.content.Close()
	return nil
}

// Read reads the next bytes, as io.Reader does.
func (f *File) Read(p []byte) (int, error) {
	n := min(int64(len(p)), f.content.Size()-f.off)
	if n <= 0 {
		return 0, io.EOF
	}
	r, err := f.content.Read(f.ctx, f.off, n)
	if err != nil {
		return 0, err
	}
	defer r.Done()
	b := r.Bytes(p[:0])
	f.off += int64(len(b))
	return len(b), nil
}

// WriteTo writes all that is left to w, without a copy in between.
func (f *File) WriteTo(w io.Writer) (written int64, err error) {
	for f.off < f.content.Size() && err == nil {
		var n int64
		n, err = f.writeSome(w)
		written += n
	}
	return written, err
}

func (f *File) writeSome(w io.Writer) (written int64, err error) {
	want := min(writeMost, f.content.Size()-f.off)
	r, err := f.content.Read(f.ctx, f.off, want)
	if err != nil {
		return 0, err
	}
	defer r.Done()
	for _, s := range r.Slices {
		n, err := w.Write(s)
		written += int64(n)
		f.off += int64(n)
		if err != nil {
			return written, err
		}
	}
	if written < want {
		return written, fmt.Errorf("expected %d bytes, found %d: %w", want, written,
			io.ErrUnexpectedEOF)
	}
	return written, nil
}
