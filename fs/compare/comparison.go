package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/layout/npy"
)

// Comparison is a file that a program believes to write, and that is compared with what the array
// has.
type Comparison struct {
	by      program.Process
	path    string
	view    view.View
	with    view.View // by which the program has changed the array
	content view.Content

	mu    sync.Mutex
	shift int64 // how much longer the header of the array's file is than the program's
	reach int64 // up to where the file was compared
	sized int64 // the size set by the program; it may be more than reach

	shared func() bool // reports whether another program writes to the array; nil: none does
	err    error       // the difference
}

// compare returns a comparison with view v of the array at path, as it is now.
func (f *Files) compare(path string, v, with view.View) (*Comparison, error) {
	content, err := view.OpenCounted(f.ctx, f.h, path, v)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, errDiffers(path, v, with) // this view cannot show what came by the other one
	}
	if err != nil {
		return nil, err
	}
	return &Comparison{path: path, view: v, with: with, content: content}, nil
}

// begin notes that the program begins to write the file.
func (c *Comparison) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift, c.reach, c.sized, c.err = 0, 0, 0, nil
}

// Write compares p, which the program writes at off. What it leaves out before that is zero bytes.
func (c *Comparison) Write(ctx context.Context, p []byte, off int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if head, ok := c.view.(view.HeaderView); ok && off == 0 {
		p, off = c.header(ctx, head, p)
	}
	if c.err == nil {
		c.zeros(ctx, off)
	}
	c.equal(ctx, p, off)
	c.reach = max(c.reach, off+int64(len(p)))
	return c.judge()
}

// judge returns the difference, unless another program has begun to write to the array meanwhile:
// then the array is as that program leaves it. The caller holds mu.
func (c *Comparison) judge() error {
	if c.err != nil && c.shared != nil && c.shared() {
		c.err = nil
	}
	return c.err
}

// header compares the header at the beginning of p, which another program may have written, and so
// have another length. It returns what follows, and where that is. The caller holds mu.
func (c *Comparison) header(ctx context.Context, v view.HeaderView, p []byte) ([]byte, int64) {
	theirs, err := v.Parse(p)
	if err != nil {
		return p, 0 // not complete: it must be the same
	}
	ours := make([]byte, min(theirs.Len+headerMore, c.content.Size()))
	if err := c.read(ctx, ours, 0); err != nil {
		c.err = err
		return nil, 0
	}
	is, err := v.Parse(ours)
	if err != nil || !sameArray(is, theirs) {
		c.err = c.differs()
		return nil, 0
	}
	c.shift = is.Len - theirs.Len
	c.reach = theirs.Len
	return p[theirs.Len:], theirs.Len
}

// sameArray reports whether two headers describe the same array.
func sameArray(a, b npy.Info) bool {
	return a.Descr == b.Descr && a.Fortran == b.Fortran && slices.Equal(a.Shape, b.Shape)
}

// headerMore is how many bytes our header may be longer than another one.
const headerMore = 1 << 16

// comparedAtOnce is how many bytes are compared at once.
const comparedAtOnce = 1 << 20

// noBytes is what a program has left out.
var noBytes [comparedAtOnce]byte

// zeros compares the bytes up to end that the program has left out. The caller holds mu.
func (c *Comparison) zeros(ctx context.Context, end int64) {
	for c.err == nil && c.reach < end {
		n := min(end-c.reach, int64(len(noBytes)))
		c.equal(ctx, noBytes[:n], c.reach)
		c.reach += n
	}
}

// equal compares p with the bytes at off. The caller holds mu.
func (c *Comparison) equal(ctx context.Context, p []byte, off int64) {
	if c.err != nil || len(p) == 0 {
		return
	}
	if off+c.shift+int64(len(p)) > c.content.Size() {
		c.err = c.differs()
		return
	}
	found := make([]byte, len(p))
	err := c.read(ctx, found, off+c.shift)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && !bytes.Equal(p, found) {
		err = c.differs()
	}
	c.err = err
}

// read fills p with the bytes of the array's file at off. The file ends before them, which is
// io.ErrUnexpectedEOF, if another program has truncated it since its size was asked.
func (c *Comparison) read(ctx context.Context, p []byte, off int64) error {
	for len(p) > 0 {
		r, err := c.content.Read(ctx, off, int64(len(p)))
		if err != nil {
			return err
		}
		n := 0
		for _, s := range r.Slices {
			n += copy(p[n:], s)
		}
		r.Done()
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// differs says that the file is not what the array has.
func (c *Comparison) differs() error { return errDiffers(c.path, c.view, c.with) }

func errDiffers(path string, v, with view.View) error {
	name, other := view.FileOf(path, v), view.FileOf(path, with)
	return fmt.Errorf("%w: %s has other data than %s, which this program wrote before. The array "+
		"has the data of %[3]s: copy only the file that you changed", syscall.EBUSY, name, other)
}

// SetSize notes the size that the program has set. What it does not write below that is zero bytes.
func (c *Comparison) SetSize(size int64) error {
	if size == 0 {
		c.begin()
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sized = size
	if c.err == nil && (size+c.shift > c.content.Size() || size < c.reach) {
		c.err = c.differs()
	}
	return c.judge()
}

// Close returns an error if the program has written less than the array has. A difference was an
// error already.
func (c *Comparison) Close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil
	}
	c.zeros(ctx, c.sized)
	if c.err == nil && c.reach+c.shift != c.content.Size() {
		c.err = c.differs()
	}
	return c.judge()
}

// Running are those that programs make of the files of one array.
type Running struct {
	mu  sync.Mutex // innermost
	all []*Comparison
}

// Begin makes what a program writes to view v a comparison, if it must be one. Otherwise it returns
// nil. where returns the array's path.
func (r *Running) Begin(
	f *Files, where func() string, by program.Process, v view.View,
) (*Comparison, error) {
	if c := r.Of(by, v); c != nil {
		return c, nil
	}
	path := where()
	with := f.begins(path, v, by, view.IsHeaded(v))
	if with == nil {
		return nil, nil
	}
	c, err := f.compare(path, v, with)
	if err != nil {
		return nil, err
	}
	c.by = by
	c.shared = func() bool { return f.isShared(where(), by) }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, c)
	return c, nil
}

// Of returns the comparison that a program makes of view v; nil: it writes.
func (r *Running) Of(by program.Process, v view.View) *Comparison {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.all {
		if c.view == v && c.by.Is(by) {
			return c
		}
	}
	return nil
}

// End ends the comparisons of view v, whose last handle is closed.
func (r *Running) End(v view.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.all[:0]
	for _, c := range r.all {
		if c.view == v {
			c.content.Close()
		} else {
			left = append(left, c)
		}
	}
	r.all = left
}
