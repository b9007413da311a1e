package zarrcore

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Stored is what a store holds of an array, without the array's documents.
type Stored struct {
	Bytes   int64     // that the objects have
	Objects int64     // chunks, or shards, that are stored
	Of      int64     // how many the array has
	ModTime time.Time // of the newest
	Whole   bool      // false: counting stopped before all had been seen, and the numbers are the least that there is
	Looks   int       // that counting took; see Looks
}

// Stored counts what is stored of the array n, with at most so many looks. It needs no codec, so that an array that cannot be decoded is
// counted as well. A store that cannot list what it holds is ErrCannotList.
func (h *Hierarchy) Stored(ctx context.Context, n *Node, most int) (Stored, error) {
	if h.catalog.Unlistable() {
		return Stored{}, &Error{Op: "list", Path: n.Path, Err: store.ErrCannotList}
	}
	m := *n.Meta
	probed := *n
	probed.Meta = &m
	h.catalog.ProbeSeparator(ctx, &probed)
	objects, err := object.NewKeys(&m, n.Path)
	if err != nil {
		return Stored{}, err
	}
	a := &Array{h: h, path: n.Path, meta: &m, objects: &object.Layout{Keys: objects}}
	s, err := a.walk(ctx, most)
	if err != nil {
		return Stored{}, err
	}
	return Stored{Bytes: s.bytes, Objects: int64(len(s.objects)), Of: objects.Chunks(), ModTime: s.modTime, Whole: s.whole, Looks: s.looks}, nil
}
