package view

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// npyView shows an array as NumPy's .npy file: its header, then the array's bytes, in the order in
// which it is stored.
type npyView struct{}

func (npyView) Name() string { return "npy" }

func (npyView) Has(Subject) bool { return true }

func (npyView) HasBy() Criterion { return ByNothing }

// IsListed is false for lists and for any values of JSON. Whether a .npy can hold them is known
// only after decoding. An unlisted file can be opened, and a program that copies a tree does not
// fail on it.
func (npyView) IsListed(a Subject) bool { return !a.isOfAnyValues() }

// IsDescription is false where the elements have no fixed size: a .npy does not say that.
func (npyView) IsDescription(m *meta.Array) bool { return !zarrcore.IsVlen(m) }

func (npyView) IsWritable() bool { return true }

func (npyView) IsKeeper() bool { return true }

func (npyView) Parse(text []byte) (npy.Info, error) { return npy.Parse(text) }

func (npyView) Size(n *zarrcore.Node) (int64, error) {
	if zarrcore.IsVlen(n.Meta) {
		return 0, errUncounted
	}
	size, err := ArraySize(n)
	// not even the type is understood
	if err != nil || n.Meta == nil || n.Err != nil && n.Meta.Type.Size == 0 {
		return 0, err
	}
	head, err := npy.Header(n.Meta.Type.Descr(), n.IsInFortranOrder(), n.Meta.Shape)
	if err != nil {
		return 0, err
	}
	if size > 1<<63-1-int64(len(head)) {
		return 0, errno.ErrTooBig
	}
	return size + int64(len(head)), nil
}

func (v npyView) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error) {
	c, err := OpenFlat(ctx, h, path, v)
	if errors.Is(err, zarrcore.ErrVlen) {
		return openFixed(ctx, h, path)
	}
	return c, err
}

// Parts returns the length of the header, and the array of the bytes behind it. For an array in
// Fortran order, that is the transposed array.
func (npyView) Parts(a *zarrcore.Array) (head int64, data *zarrcore.Array, err error) {
	text, err := npyHeader(a)
	data, fortran := a.Transposed()
	if !fortran {
		data = a
	}
	return int64(len(text)), data, err
}

// Header returns the header that NumPy would write.
func (npyView) Header(
	_ context.Context, a *zarrcore.Array,
) (text []byte, to store.Rights, err error) {
	text, err = npyHeader(a)
	return text, to, err
}

func npyHeader(a *zarrcore.Array) ([]byte, error) {
	_, fortran := a.Transposed()
	return npy.Header(a.Meta().Type.Descr(), fortran, a.Meta().Shape)
}

func (npyView) Tail(int64) int64 { return 0 }
