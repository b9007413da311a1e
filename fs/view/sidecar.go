package view

import (
	"context"
	"path"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// sidecarView is a text that says what the bytes in the .raw of an array are. An array that is the
// store's root has none: its store, and so its .raw, may be shown under any name.
type sidecarView struct {
	name       string
	header     func(v volume.Volume, data string) ([]byte, error)
	listedOnly bool // see IsListedOnly
}

// IsListedOnly implements ListedOnlyView.
func (s *sidecarView) IsListedOnly() bool { return s.listedOnly }

func (s *sidecarView) Name() string { return s.name }

// Has reports whether the format can hold the array.
func (s *sidecarView) Has(a Subject) bool {
	_, err := headerLen(a.Meta(), s.of("a.raw"))
	return err == nil && !a.isRoot
}

func (*sidecarView) HasBy() Criterion { return ByDocument }

func (*sidecarView) IsListed(Subject) bool { return true }

func (*sidecarView) IsDescription(*meta.Array) bool { return false }

func (*sidecarView) IsWritable() bool { return false }

func (*sidecarView) IsKeeper() bool { return false }

func (s *sidecarView) Size(n *zarrcore.Node) (int64, error) {
	if n.Meta == nil {
		return 0, n.Err
	}
	return headerLen(n.Meta, s.of("a.raw"))
}

// Open takes the text as it is now.
func (s *sidecarView) Open(ctx context.Context, h *zarrcore.Hierarchy, at string) (Content, error) {
	arr, err := h.OpenArray(ctx, at)
	if err != nil {
		return nil, err
	}
	found, err := described(ctx, arr)
	if err != nil {
		return nil, err
	}
	text, err := s.header(found.volume, names.File(names.Show(path.Base(at)), Named("raw").Name()))
	return rendered{snapshot(text), found.readers}, err
}

// of returns the header of arrays whose bytes are in the file data.
func (s *sidecarView) of(data string) func(volume.Volume) ([]byte, error) {
	return func(v volume.Volume) ([]byte, error) { return s.header(v, data) }
}
