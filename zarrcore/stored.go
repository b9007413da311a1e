package zarrcore

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// DirLooks is how many looks it takes to go through another directory.
const DirLooks = object.DirLooks

// Looks returns how many looks at the objects of an array an open, or a stat, may wait for: one for
// each object, and DirLooks for each directory.
func Looks(m *meta.Array) int { return scan.Looks(m) }

// Stored is what a store holds of an array, without the array's documents.
type Stored struct {
	Bytes   int64     // that the objects have
	Objects int64     // chunks, or shards, that are stored
	Of      int64     // how many the array has
	ModTime time.Time // of the newest
	Whole   bool      // false: not all was seen, and the numbers are the least that there is
	Looks   int       // that counting took; see Looks
}

// Stored counts what is stored of the array n, with at most so many looks. It needs no codec, so
// that an array that cannot be decoded is counted as well. A store that cannot list what it holds
// is ErrCannotList.
func (h *nodes) Stored(ctx context.Context, n *Node, most int) (Stored, error) {
	if h.catalog.IsUnlistable() {
		return Stored{}, &Error{Op: "list", Path: n.Path, Err: store.ErrCannotList}
	}
	objects, err := h.keysOf(ctx, n)
	if err != nil {
		return Stored{}, err
	}
	s, err := scan.Walk(ctx, h.store, objects, most)
	if err != nil {
		return Stored{}, err
	}
	return Stored{
		Bytes: s.Bytes, Objects: int64(len(s.Objects)), Of: objects.Chunks(),
		ModTime: s.ModTime, Whole: s.IsWhole(), Looks: s.Looks,
	}, nil
}

// keysOf returns the keys of the objects of the array n.
func (h *nodes) keysOf(ctx context.Context, n *Node) (*object.Keys, error) {
	m := *n.Meta
	probed := *n
	probed.Meta = &m
	h.catalog.ProbeSeparator(ctx, &probed)
	return object.NewKeys(&m, n.Path)
}

// ObjectFolders calls visit with each folder between the array n and its objects, and with the
// rights to it. It looks at no object, so that it takes as long as there are folders. An error of
// visit ends it and is returned.
func (h *nodes) ObjectFolders(
	ctx context.Context, n *Node, visit func(key string, to store.Rights) error,
) error {
	objects, err := h.keysOf(ctx, n)
	if err != nil {
		return err
	}
	return objects.Folders(ctx, h.store, visit)
}
