package fs

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// jsonView shows the metadata and attributes of an array or group.
type jsonView struct{}

func (jsonView) name() string { return "json" }

func (jsonView) has(subject) bool { return true }

func (jsonView) lists(subject) bool { return true }

func (jsonView) describes(*meta.Array) bool { return true }

func (jsonView) writable() bool { return true }

func (jsonView) keeps() bool { return true }

func (jsonView) size(n *zarrcore.Node) (int64, error) { return int64(len(n.Document)), nil }

func (jsonView) open(ctx context.Context, h *zarrcore.Hierarchy, path string) (content, error) {
	n, err := h.Node(ctx, path)
	if err != nil {
		return nil, err
	}
	return snapshot(n.Document), nil
}

// snapshot is a content that was taken whole when the file was opened.
type snapshot []byte

func (s snapshot) size() int64            { return int64(len(s)) }
func (s snapshot) array() *zarrcore.Array { return nil }
func (s snapshot) close()                 {}

func (s snapshot) read(_ context.Context, off, n int64) (*found, error) {
	return &found{slices: [][]byte{s[off : off+n]}, n: int(n)}, nil
}

func (s snapshot) nextData(_ context.Context, off int64) (start, end int64, err error) {
	return off, s.size(), nil
}
