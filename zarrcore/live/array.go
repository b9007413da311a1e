package live

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
)

// An Array is an array of the hierarchy as a flat file: its elements in C
// order, in its data type and byte order. It stands for one generation: once
// the array's metadata changes, Open returns another Array, and this one
// goes on showing the old shape. All methods may be called concurrently.
type Array struct {
	shown
	handle
	reads   *pieces.Array
	version string // of its documents; guarded by table.mu; a slice has none
	// The version of its document with which a missing object was last found to be the fill value.
	filled atomic.Pointer[string]
	slice  *slice // nil: it is all of an array
}

// Meta returns the array's metadata; the caller must not change it. Attributes and names of
// dimensions are those that were last found in its document.
func (a *Array) Meta() *meta.Array {
	now := a.lineage.described.Load()
	if now == nil || a.slice != nil || a.gen.Source != nil {
		return a.gen.Meta
	}
	return a.gen.Meta.Described(now)
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
