package view

import (
	"context"
	"fmt"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/view/axes"
	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// volumeView shows an array behind a header of a format for images or volumes.
type volumeView struct {
	name   string
	header func(volume.Volume) ([]byte, error)
	block  int64 // the array is filled up to whole blocks of so many bytes; 0: it is not
}

func (v *volumeView) Name() string { return v.name }

// Has reports whether the format can hold the array. Whether it can is known from shape and type.
func (v *volumeView) Has(a Subject) bool {
	_, err := headerLen(a.Meta(), v.header)
	return err == nil
}

func (*volumeView) HasBy() Criterion { return ByDocument }

// IsListed reports whether the format can also say how the values are packed. Otherwise the file is
// not listed, and opening it says why.
func (v *volumeView) IsListed(a Subject) bool {
	m := a.Meta()
	if m == nil {
		return true
	}
	vol, _ := axes.Of(axes.Known{Array: m})
	_, err := v.header(vol)
	return err == nil
}

func (*volumeView) IsDescription(*meta.Array) bool { return false }

func (*volumeView) IsWritable() bool { return true }

func (*volumeView) IsKeeper() bool { return false }

func (v *volumeView) Size(n *zarrcore.Node) (int64, error) {
	size, err := ArraySize(n)
	if err != nil || n.Meta == nil {
		return 0, err
	}
	head, err := headerLen(n.Meta, v.header)
	head += v.Tail(size)
	if err == nil && size > 1<<63-1-head {
		err = errno.ErrTooBig
	}
	return head + size, err
}

// Tail returns what the last block lacks.
func (v *volumeView) Tail(data int64) int64 {
	if v.block == 0 {
		return 0
	}
	return (v.block - data%v.block) % v.block
}

func (v *volumeView) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content,
	error) {
	return OpenFlat(ctx, h, path, v)
}

// Parts returns the length of the header, and the array. Its elements follow in C order, whatever
// their order in the store is.
func (v *volumeView) Parts(a *zarrcore.Array) (head int64, data *zarrcore.Array, err error) {
	head, err = headerLen(a.Meta(), v.header)
	return head, a, v.errOf(a, err)
}

// Header returns what the array's document and its groups say of it.
func (v *volumeView) Header(
	ctx context.Context, a *zarrcore.Array,
) (text []byte, to store.Rights, err error) {
	found, err := described(ctx, a)
	if err == nil {
		text, err = v.header(found.volume)
	}
	return text, found.readers, v.errOf(a, err)
}

// errOf returns an error with the name of the file, or nil.
func (v *volumeView) errOf(a *zarrcore.Array, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(".%s of %s: %w", v.name, a.Path(), err)
}

// headerLen returns the length of the header of an array, which depends on shape and type alone.
func headerLen(m *meta.Array, header func(volume.Volume) ([]byte, error)) (int64, error) {
	if m == nil {
		return 0, volume.ErrNot
	}
	bare := meta.Array{Shape: m.Shape, Type: m.Type}
	vol, ok := axes.Of(axes.Known{Array: &bare})
	if !ok {
		return 0, volume.ErrNot
	}
	head, err := header(vol)
	return int64(len(head)), err
}
