package fs

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// rawView shows an array's bytes alone: C order, in the array's type and byte order.
type rawView struct{}

func (rawView) name() string { return "raw" }

func (rawView) size(n *zarrcore.Node) (int64, error) { return arraySize(n) }

func (rawView) open(ctx context.Context, h *zarrcore.Hierarchy, path string) (content, error) {
	return openFlat(ctx, h, path, nil)
}

// arraySize returns the array's bytes from its metadata.
func arraySize(n *zarrcore.Node) (int64, error) {
	if n.Meta == nil {
		return 0, n.Err
	}
	// A type that was not understood has size 0.
	size := uint64(n.Meta.Type.Size)
	overflow := false
	for _, dim := range n.Meta.Shape {
		if dim == 0 {
			return 0, nil
		}
		hi, lo := bits.Mul64(size, uint64(dim))
		overflow = overflow || hi != 0 || lo > 1<<63-1
		size = lo
	}
	if overflow {
		return 0, fmt.Errorf("array of shape %v: %w", n.Meta.Shape, errTooBig)
	}
	return int64(size), nil
}

// flat is the content of a view that is a header and the array's bytes after it.
type flat struct {
	head   []byte
	arr    *zarrcore.Array
	reader *zarrcore.Reader
}

// openFlat opens the array and lets header, if there is one, make the bytes before it.
func openFlat(ctx context.Context, h *zarrcore.Hierarchy, path string, header func(*zarrcore.Array) ([]byte, error)) (content, error) {
	arr, err := h.OpenArray(ctx, path)
	if err != nil {
		return nil, tooBig(ctx, h, path, err)
	}
	var head []byte
	if header != nil {
		if head, err = header(arr); err != nil {
			return nil, err
		}
	}
	if arr.Size() > 1<<63-1-int64(len(head)) {
		return nil, errTooBig
	}
	return &flat{head: head, arr: arr, reader: arr.NewReader()}, nil
}

// tooBig returns errTooBig in place of err if the array at path has more bytes than a file can have.
func tooBig(ctx context.Context, h *zarrcore.Hierarchy, path string, err error) error {
	n, nodeErr := h.Node(ctx, path)
	if nodeErr != nil {
		return err
	}
	if _, sizeErr := arraySize(n); errors.Is(sizeErr, errTooBig) {
		return sizeErr
	}
	return err
}

// again returns the same bytes for another reader.
func (c *flat) again() *flat { return &flat{head: c.head, arr: c.arr, reader: c.arr.NewReader()} }

func (c *flat) size() int64            { return int64(len(c.head)) + c.arr.Size() }
func (c *flat) array() *zarrcore.Array { return c.arr }
func (c *flat) close()                 { c.reader.Close() }

func (c *flat) read(ctx context.Context, off, n int64) (*reply, error) {
	head := int64(len(c.head))
	if off+n <= head {
		return &reply{slices: [][]byte{c.head[off : off+n]}, n: int(n)}, nil
	}
	if off >= head {
		return c.readArray(ctx, off-head, n, nil)
	}
	return c.readArray(ctx, 0, off+n-head, c.head[off:])
}

// readArray returns front and then the n bytes of the array at off.
func (c *flat) readArray(ctx context.Context, off, n int64, front []byte) (*reply, error) {
	p, err := c.reader.Read(ctx, off, n)
	if err != nil {
		return nil, err
	}
	r := &reply{slices: p.Bufs, n: int(n) + len(front), pinned: p}
	if len(front) > 0 {
		r.slices = append([][]byte{front}, p.Bufs...)
	}
	return r, nil
}

func (c *flat) nextData(ctx context.Context, off int64) (start, end int64, err error) {
	head := int64(len(c.head))
	if off < head {
		return off, head, nil // the header is data; what follows is asked for next
	}
	start, end, err = c.arr.NextData(ctx, off-head)
	return start + head, end + head, err
}
