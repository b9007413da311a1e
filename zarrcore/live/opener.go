package live

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// An opener opens arrays: it reads what is stored at a path, and binds it to what is known of the
// array that was there before.
type opener struct {
	*common
	arrays *Arrays // those that it opens are among them
}

// openHere is Open for a caller that holds locks of drafts.
func (h *opener) openHere(ctx context.Context, path string) (*Array, error) {
	return h.openAfter(ctx, path, h.unprepared)
}

// An opening is what must still hold when an array has been opened. Otherwise it is opened again.
type opening struct {
	where    string // the identity of its directory; "": unknown
	gathered bool   // no array that is open elsewhere is in that directory; see gather
	renames  uint64 // what table.look returned
}

// A preparation is what is done before an array is opened in a new version.
type preparation func(ctx context.Context, path string) (opening, error)

// unprepared is the preparation of nothing.
func (h *opener) unprepared(ctx context.Context, path string) (opening, error) {
	return opening{where: h.whereIs(ctx, path)}, nil
}

// openAfter is Open. If the array is not open yet in its current version, prepare is called first.
func (h *opener) openAfter(
	ctx context.Context, path string, prepare preparation,
) (*Array, error) {
	n, err := h.of.Catalog.Array(ctx, path)
	if err != nil {
		return nil, err
	}
	a := h.open.current(path, n.Version)
	if a == nil {
		if h.IsWritable() {
			n = nil
		}
		if a, err = h.renewed(ctx, path, n, prepare); err != nil {
			return nil, err
		}
	}
	a.lineage.opened.Store(time.Now().UnixNano())
	a.watch.Refresh(ctx)
	return a, nil
}

// maxRounds is how often an array is opened again because something has changed meanwhile. A round
// takes less than a millisecond, so nobody is refused for what happens now and then.
const maxRounds = 10_000

// renewed returns the array at path. No generation of the array is open in the version that was
// just found. n is the node found, if no flush can have replaced it; otherwise it is nil.
func (h *opener) renewed(
	ctx context.Context, path string, n *catalog.Node, prepare preparation,
) (*Array, error) {
	for range maxRounds {
		o, err := prepare(ctx, path)
		if err != nil {
			return nil, err
		}
		if err := h.open.await(ctx, path); err != nil {
			return nil, err
		}
		var old *Array
		old, o.renames = h.open.look(path)
		if a, err := h.succeed(ctx, path, n, old, o); a != nil || err != nil {
			return a, err
		}
		n = nil
	}
	return nil, &catalog.Error{Op: "open", Path: path, Err: errRestless}
}

// succeed makes the generation that follows old, or the first one if old is nil. It
// returns nil if another caller has done so meanwhile. The document may have been
// replaced by our own flush, which is not a change of others: so it is read again
// while no flush replaces it. If o does not hold any more, it returns nil, too.
func (h *opener) succeed(
	ctx context.Context, path string, n *catalog.Node, old *Array, o opening,
) (_ *Array, err error) {
	var known string
	if old != nil {
		if err := old.lineage.prepareSuccessor(ctx); err != nil {
			return nil, err
		}
		old.draft.reshaping.RLock()
		defer old.draft.reshaping.RUnlock()
		known = h.open.version(old.draft)
	}
	if n == nil {
		if n, err = h.of.Catalog.Array(ctx, path); err != nil {
			return nil, err
		}
	}
	// Another program may have renamed it meanwhile, also to here, for the document, and away.
	if where, isThere := h.locate(ctx, path); !isThere || where != o.where {
		return nil, nil
	}
	if a := h.open.current(path, n.Version); a != nil {
		return a, nil
	}
	a, err := h.newArray(n, nil, h.newLineage(n.Path, o.where))
	if err != nil {
		return nil, &catalog.Error{Op: "open", Path: path, Err: err}
	}
	if old == nil {
		return h.open.adopt(a, nil, o), nil
	}
	return h.follow(a, old, n, known, o), nil
}

// follow makes a the generation after old, or takes what has changed into old; see succeed. n
// describes a. The version known counted before n was read.
func (h *opener) follow(a, old *Array, n *catalog.Node, known string, o opening) *Array {
	if !h.open.isThere(n.Path, o.renames) {
		return nil
	}
	l := old.lineage
	l.pair.Lock() // nobody writes to it
	defer l.pair.Unlock()
	joined, again := false, false
	if !l.isOtherThan(&a.lineage.place) {
		joined, again = old.draft.joinEarly(n, known)
	}
	switch {
	case joined:
		return h.open.current(n.Path, n.Version)
	case again || !l.hasYielded():
		return nil
	}
	return h.open.adopt(a, old, o)
}

// newLineage returns the lineage of an array that was just found at path, in the directory where.
func (h *opener) newLineage(path, where string) *lineage {
	return &lineage{place: place{path: path, where: where, renames: &h.renames}}
}

// newArray binds the array of a lineage, as n describes it. If source is not nil, the array is
// source with its axes reversed.
func (h *opener) newArray(n *catalog.Node, source *meta.Array, l *lineage) (*Array, error) {
	if catalog.IsVlen(n.Meta) {
		return nil, ErrVlen
	}
	gen, err := generation.New(*n.Meta, n.Path, h.open.nextID(), source)
	if err != nil {
		return nil, err
	}
	a := &Array{shown: shown{of: &h.of, gen: gen}, version: n.Version}
	a.handle = handle{h.arrays, l, h.newDraft(l, a)}
	if source == nil {
		l.straight = a.draft
	}
	a.reads = pieces.New(h.of.Shared, gen, (*reading)(a), a.draft.set, a.draft.lengths)
	a.bands = band.NewSet(gen.Grid, gen.Meta.Fill, a.reads, h.of.Bands)
	a.watch = scan.NewWatch(h.of.Store, gen.Objects.Keys, h.of.Fresh, a.newEpoch)
	return a, nil
}

// newDraft returns the draft of an array of a lineage that was just opened, in the array's order.
func (h *opener) newDraft(l *lineage, a *Array) *draft {
	d := &draft{generations: generations{h: h.common}, place: &l.place, order: cOrder}
	if a.gen.Source != nil {
		d.order = fortranOrder
	}
	d.state.init(h.of.Dirty.NewSet(), a.gen.Rows())
	d.live.Store(a)
	return d
}
