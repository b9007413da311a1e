package view

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// rawView shows an array's bytes alone: C order, in the array's type and byte order.
type rawView struct{}

func (rawView) Name() string { return "raw" }

func (rawView) Has(Subject) bool { return true }

func (rawView) HasBy() Criterion { return ByNothing }

func (rawView) IsListed(a Subject) bool { return !a.isVlen() }

func (rawView) IsDescription(*meta.Array) bool { return false }

func (rawView) IsWritable() bool { return true }

func (rawView) IsKeeper() bool { return true }

func (rawView) Size(n *zarrcore.Node) (int64, error) { return ArraySize(n) }

func (v rawView) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error) {
	return OpenFlat(ctx, h, path, v)
}

func (rawView) Parts(a *zarrcore.Array) (head int64, data *zarrcore.Array, err error) {
	return 0, a, nil
}

func (rawView) Header(context.Context, *zarrcore.Array) (text []byte, to store.Rights, err error) {
	return nil, to, nil
}

func (rawView) Tail(int64) int64 { return 0 }

// ArraySize returns the array's bytes from its metadata.
func ArraySize(n *zarrcore.Node) (int64, error) {
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
		return 0, fmt.Errorf("array of shape %v: %w", n.Meta.Shape, errno.ErrTooBig)
	}
	return int64(size), nil
}
