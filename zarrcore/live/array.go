package live

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// An Array is an array of the hierarchy as a flat file: its elements in C
// order, in its data type and byte order. It stands for one generation: once
// the array's metadata changes, Open returns another Array, and this one
// goes on showing the old shape. All methods may be called concurrently.
type Array struct {
	shown
	handle
	reads   *pieces.Array
	version string // of its documents; guarded by table.mu
	slice   *slice // nil: it is all of an array
}

// Open returns the array at path as it is stored now. While nothing has
// changed it returns the same Array, whose cached chunks stay in use. An array
// whose data cannot be read is an error that wraps errors.ErrUnsupported or
// meta.ErrInvalid, and a group is an error that wraps ErrNotArray.
func (h *Arrays) Open(ctx context.Context, path string) (*Array, error) {
	return h.openAfter(ctx, path, h.prepared)
}

// openHere is Open for a caller that holds locks of drafts.
func (h *Arrays) openHere(ctx context.Context, path string) (*Array, error) {
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

// prepared is the preparation of an array that nothing is known of under other names; see gather.
func (h *Arrays) prepared(ctx context.Context, path string) (opening, error) {
	where, err := finder{h}.gather(ctx, path)
	return opening{where: where, gathered: true}, err
}

// unprepared is the preparation of nothing.
func (h *Arrays) unprepared(ctx context.Context, path string) (opening, error) {
	return opening{where: h.whereIs(ctx, path)}, nil
}

// openAfter is Open. If the array is not open yet in its current version, prepare is called first.
func (h *Arrays) openAfter(
	ctx context.Context, path string, prepare preparation,
) (*Array, error) {
	n, err := h.of.Catalog.Array(ctx, path)
	if err != nil {
		return nil, err
	}
	a := h.open.current(path, n.Version)
	if a == nil {
		if h.Writable() {
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

// renewed returns the array at path, of which no generation in the version that
// was just found is open. n is what was found, where no flush can have replaced it;
// otherwise it is nil.
func (h *Arrays) renewed(
	ctx context.Context, path string, n *catalog.Node, prepare preparation,
) (a *Array, err error) {
	for a == nil && err == nil {
		var o opening
		if o, err = prepare(ctx, path); err != nil {
			break
		}
		if err = h.open.await(ctx, path); err != nil {
			break
		}
		var old *Array
		old, o.renames = h.open.look(path)
		a, err = h.succeed(ctx, path, n, old, o)
		n = nil
	}
	return a, err
}

// succeed makes the generation that follows old, nil if there is none, unless
// another has done so meanwhile: then it returns nil. The document may have been
// replaced by our own flush, which is not a change of others: so it is read again
// while no flush replaces it. If o does not hold any more, it returns nil, too.
func (h *Arrays) succeed(
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
	if h.whereIs(ctx, path) != o.where { // another program has renamed it meanwhile
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
	if !h.open.isThere(path, o.renames) {
		return nil, nil
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
		return h.open.current(path, n.Version), nil
	case again || !l.yielded():
		return nil, nil
	}
	return h.open.adopt(a, old, o), nil
}

// newLineage returns the lineage of an array that was just found at path, in the directory where.
func (h *Arrays) newLineage(path, where string) *lineage {
	return &lineage{place: place{path: path, where: where, renames: &h.renames}}
}

// newArray binds the array of a lineage that n describes, which is that of source with its axes
// reversed if there is a source.
func (h *Arrays) newArray(n *catalog.Node, source *meta.Array, l *lineage) (*Array, error) {
	if catalog.IsVlen(n.Meta) {
		return nil, ErrVlen
	}
	gen, err := generation.New(*n.Meta, n.Path, h.open.nextID(), source)
	if err != nil {
		return nil, err
	}
	a := &Array{shown: shown{of: &h.of, gen: gen}, version: n.Version}
	a.handle = handle{h, l, h.newDraft(l, a)}
	if source == nil {
		l.straight = a.draft
	}
	a.reads = pieces.New(h.of.Shared, gen, (*reading)(a), a.draft.set, a.draft.lengths)
	a.bands = band.NewSet(gen.Grid, gen.Meta.Fill, a.reads, h.of.Bands)
	a.watch = scan.NewWatch(h.of.Store, gen.Objects.Keys, h.of.Fresh, a.newEpoch)
	return a, nil
}

// next returns the array as the generation that follows a shows it. Bands go on where they have the
// same bytes.
func (a *Array) next(gen *generation.Array) *Array {
	b := &Array{shown: shown{of: a.of, gen: gen, bands: a.bands}, handle: a.handle}
	b.reads = pieces.New(a.of.Shared, gen, (*reading)(b), b.draft.set, b.draft.lengths)
	b.watch = a.watch.Next(gen.Objects.Keys, b.newEpoch)
	if gen.Grid != a.gen.Grid {
		b.bands = band.NewSet(gen.Grid, gen.Meta.Fill, b.reads, a.of.Bands)
	}
	return b
}

// carries reports whether b, found in the store, has the same data in the same places as a. Then
// what is written to a, or cached of it, holds for b.
func (a *Array) carries(b *Array) bool {
	return !a.lineage.isOtherThan(&b.lineage.place) &&
		a.gen.Matches(b.gen.Meta, a.draft.rows.Load())
}

// changed notes that this process has changed objects.
func (a *Array) changed() {
	a.watch.Forget()
	if a.bands != nil {
		a.bands.Invalidate()
	}
	if other := a.lineage.other(a.draft); other != nil {
		live := other.live.Load()
		live.watch.Forget()
		live.recheck()
	}
}

// newEpoch begins a new epoch of this array, and of the other way to see it, which caches the same
// objects.
func (a *Array) newEpoch() {
	a.recheck()
	if other := a.lineage.other(a.draft); other != nil {
		other.live.Load().recheck()
	}
}

// ReadAt reads len(p) bytes from byte off, as io.ReaderAt does.
func (a *Array) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		err := fmt.Errorf("negative offset %d", off)
		return 0, &catalog.Error{Op: "read", Path: a.gen.Path, Err: err}
	}
	if off >= a.Size() {
		return 0, io.EOF
	}
	pieces, err := a.pieces(ctx, off, min(int64(len(p)), a.Size()-off))
	if err != nil {
		return 0, err
	}
	defer pieces.Release()
	n := 0
	for _, b := range pieces.Bufs {
		n += copy(p[n:], b)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
