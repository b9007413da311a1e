package fs

import (
	"context"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// npyView shows an array as NumPy's .npy file: its header, then the array's bytes in C order.
type npyView struct{}

func (npyView) name() string { return "npy" }

func (npyView) size(n *zarrcore.Node) (int64, error) {
	size, err := arraySize(n)
	if err != nil || n.Meta == nil || n.Err != nil && n.Meta.Type.Size == 0 { // not even the type is understood
		return 0, err
	}
	head, err := npy.Header(n.Meta.Type.Descr(), false, n.Meta.Shape)
	if err != nil {
		return 0, err
	}
	if size > 1<<63-1-int64(len(head)) {
		return 0, errTooBig
	}
	return size + int64(len(head)), nil
}

func (npyView) open(ctx context.Context, h *zarrcore.Hierarchy, path string) (content, error) {
	return openFlat(ctx, h, path, func(a *zarrcore.Array) ([]byte, error) {
		return npy.Header(a.Meta().Type.Descr(), false, a.Meta().Shape)
	})
}
