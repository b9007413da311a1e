package view

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// fixedMost is the most bytes of an element in the .npy view of an array whose elements have no
// fixed size: one long text among many short ones would make a file of nothing but padding.
const fixedMost = 64 << 10

// fixed is the content of a .npy file of such an array: NumPy's header, and its elements as strings
// of the width of the widest.
type fixed struct {
	head  []byte
	arr   *zarrcore.VlenArray
	width int64 // units of an element
	bytes int64 // the file's size
}

func (npyView) Accepts(kind vlen.Kind) bool { return kind.Unit() != 0 }

func (npyView) Counted(arr *zarrcore.VlenArray, found zarrcore.Count) (int64, error) {
	c, err := fixedOf(arr, found)
	if err != nil {
		return 0, err
	}
	return c.Size(), nil
}

func (npyView) Appends() bool { return false }

// Take makes the strings of a .npy file the elements of the array at path.
func (npyView) Take(
	ctx context.Context, h *zarrcore.Hierarchy, path string, text Written, _, durable bool,
) error {
	header, t, err := ReadHeader(npyView{}, path+".npy", text)
	if err != nil {
		return err
	}
	if header.Fortran && len(header.Shape) > 1 {
		return fmt.Errorf("strings in Fortran order cannot become elements of no fixed size: %w",
			errors.ErrUnsupported)
	}
	return h.WriteFixed(ctx, path, io.NewSectionReader(text, header.Len, text.Size-header.Len), t,
		header.Shape, durable)
}

// openFixed opens the array at path and counts it, for its elements' width.
func openFixed(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error) {
	arr, err := h.OpenVlen(ctx, path)
	if err != nil {
		return nil, err
	}
	if arr.Kind().Unit() == 0 {
		return nil, fmt.Errorf("NumPy has no strings for %s, read .jsonl: %w", arr.Kind(),
			errors.ErrUnsupported)
	}
	arr.Open()
	c, err := newFixed(ctx, arr)
	if err != nil {
		arr.Close()
		return nil, err
	}
	return c, nil
}

func newFixed(ctx context.Context, arr *zarrcore.VlenArray) (*fixed, error) {
	found, err := arr.Count(ctx)
	if err != nil {
		return nil, err
	}
	return fixedOf(arr, found)
}

// fixedOf works out header and size from what counting the array has found.
func fixedOf(arr *zarrcore.VlenArray, found zarrcore.Count) (*fixed, error) {
	unit := arr.Kind().Unit()
	c := &fixed{arr: arr, width: max(found.Width, 1)} // NumPy has no strings of no bytes
	switch {
	case found.Width < 0 || unit == 0:
		return nil, fmt.Errorf("NumPy has no strings for elements that are not strings, read "+
			".jsonl: %w", errors.ErrUnsupported)
	case c.width > fixedMost/unit:
		return nil, fmt.Errorf("an element of %d bytes in NumPy, expected at most %d, read "+
			".jsonl: %w", c.width*unit, fixedMost, errors.ErrUnsupported)
	}
	descr := fmt.Sprintf("'<U%d'", c.width)
	if unit == 1 {
		descr = fmt.Sprintf("'|S%d'", c.width)
	}
	var err error
	if c.head, err = npy.Header(descr, false, arr.Meta().Shape); err != nil {
		return nil, err
	}
	c.bytes = int64(len(c.head)) + arr.Len()*c.width*unit // 2^36 elements of 2^16 bytes at most
	return c, nil
}

func (c *fixed) Size() int64            { return c.bytes }
func (c *fixed) Array() *zarrcore.Array { return nil }
func (c *fixed) Rights() store.Rights   { return c.arr.ObjectRights() }
func (c *fixed) Close()                 { c.arr.Close() }

func (c *fixed) Read(ctx context.Context, off, n int64) (*Found, error) {
	return readSome(n, func(p []byte) (int, error) {
		k := 0
		if head := int64(len(c.head)); off < head {
			k = copy(p, c.head[off:])
		}
		if k == len(p) {
			return k, nil
		}
		more, err := c.arr.ReadFixed(ctx, p[k:], off+int64(k)-int64(len(c.head)), c.width)
		return k + more, err
	})
}

func (c *fixed) NextData(_ context.Context, off int64) (start, end int64, err error) {
	return off, c.bytes, nil
}
