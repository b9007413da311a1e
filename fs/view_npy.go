package fs

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// npyView shows an array as NumPy's .npy file: its header, then the array's bytes, in the order in which it is stored.
type npyView struct{}

func (npyView) name() string { return "npy" }

func (npyView) has(subject) bool { return true }

// lists is false for lists and for any values of JSON. Whether a .npy can hold them is known only after decoding. An unlisted file can
// be opened, and a program that copies a tree does not fail on it.
func (npyView) lists(a subject) bool { return !a.anyValues() }

// describes is false where the elements have no fixed size: a .npy does not say that.
func (npyView) describes(m *meta.Array) bool { return !zarrcore.IsVlen(m) }

func (npyView) writable() bool { return true }

func (npyView) keeps() bool { return true }

func (npyView) parse(text []byte) (npy.Info, error) { return npy.Parse(text) }

func (npyView) size(n *zarrcore.Node) (int64, error) {
	if zarrcore.IsVlen(n.Meta) {
		return 0, errUncounted
	}
	size, err := arraySize(n)
	if err != nil || n.Meta == nil || n.Err != nil && n.Meta.Type.Size == 0 { // not even the type is understood
		return 0, err
	}
	head, err := npy.Header(n.Meta.Type.Descr(), n.InFortranOrder(), n.Meta.Shape)
	if err != nil {
		return 0, err
	}
	if size > 1<<63-1-int64(len(head)) {
		return 0, errno.ErrTooBig
	}
	return size + int64(len(head)), nil
}

func (v npyView) open(ctx context.Context, h *zarrcore.Hierarchy, path string) (content, error) {
	c, err := openFlat(ctx, h, path, v)
	if errors.Is(err, zarrcore.ErrVlen) {
		return openFixed(ctx, h, path)
	}
	return c, err
}

// parts returns the header that NumPy would write, and the array whose bytes follow: of one in Fortran order the
// transposed one.
func (npyView) parts(a *zarrcore.Array) (head []byte, data *zarrcore.Array, err error) {
	data, fortran := a.Transposed()
	if !fortran {
		data = a
	}
	head, err = npy.Header(a.Meta().Type.Descr(), fortran, a.Meta().Shape)
	return head, data, err
}
