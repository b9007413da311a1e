package view

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// jsonView shows the metadata and attributes of an array or group.
type jsonView struct{}

func (jsonView) Name() string { return "json" }

func (jsonView) Has(Subject) bool { return true }

func (jsonView) HasBy() Criterion { return ByNothing }

func (jsonView) IsListed(Subject) bool { return true }

func (jsonView) IsDescription(*meta.Array) bool { return true }

func (jsonView) IsWritable() bool { return true }

func (jsonView) IsKeeper() bool { return true }

func (jsonView) Size(n *zarrcore.Node) (int64, error) { return int64(len(n.Document)), nil }

func (jsonView) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error) {
	n, err := h.Node(ctx, path)
	if err != nil {
		return nil, err
	}
	return snapshot(n.Document), nil
}

// Snapshot returns a content of these bytes, which nobody changes.
func Snapshot(text []byte) Content { return snapshot(text) }

// TextOf returns the text of a document that was opened, and nil for any other content.
func TextOf(c Content) []byte {
	text, _ := c.(snapshot)
	return text
}

// snapshot is a content that was taken whole when the file was opened.
type snapshot []byte

func (s snapshot) Size() int64            { return int64(len(s)) }
func (s snapshot) Array() *zarrcore.Array { return nil }

// Rights implements Content.
func (s snapshot) Rights() store.Rights { return store.Rights{} }
func (s snapshot) Close()               {}

func (s snapshot) Read(_ context.Context, off, n int64) (*Found, error) {
	return &Found{Slices: [][]byte{s[off : off+n]}, N: int(n)}, nil
}

func (s snapshot) NextData(_ context.Context, off int64) (start, end int64, err error) {
	return off, s.Size(), nil
}
