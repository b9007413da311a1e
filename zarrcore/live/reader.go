package live

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
)

// A Reader is one program's way through an array: it knows whether the program
// reads in order, and then prepares what comes next. Its methods may be called
// concurrently.
type Reader struct {
	a      *Array
	cursor *band.Cursor // nil where bands do not serve the array

	mu    sync.Mutex
	start int64 // where the sequence began
	next  int64 // end of its furthest request
	run   int64 // bytes requested in it
}

// NewReader returns a reader, to be closed when it is no longer used.
func (a *Array) NewReader() *Reader {
	a.opens(1)
	r := &Reader{a: a}
	if a.bands != nil {
		r.cursor = a.bands.Cursor()
	}
	return r
}

// Close ends the reader. It is to be called once.
func (r *Reader) Close() {
	r.a.opens(-1)
	if r.cursor != nil {
		r.cursor.Close()
	}
}

// Read returns bytes [off, off+n) of the array, as far as it has them.
func (r *Reader) Read(ctx context.Context, off, n int64) (*Pieces, error) {
	if off < 0 || off >= r.a.Size() || n <= 0 {
		return &Pieces{}, nil
	}
	n = min(n, r.a.Size()-off)
	if r.joinsSequence(off, n) && r.mayUseBands() && r.a.MayHold(off, n) {
		lease, err := r.cursor.Read(ctx, off, n)
		if err == nil {
			r.a.of.Shared.Count.Served.Add(n)
			return pieces.Of(lease.Bufs, lease.Release), nil
		}
		// One bad chunk spoils its band, but not the reads that do not touch it.
		if errors.Is(err, band.ErrNoRoom) {
			r.a.noRoom.Do(func() {
				r.a.of.Log.Warn("no room to read ahead, so reads of this array are slower",
					"array", r.a.gen.Path, "err", err)
			})
		}
	}
	return r.a.pieces(ctx, off, n)
}

// mayUseBands reports whether all bytes that count are stored, so that the array's bands have them.
func (r *Reader) mayUseBands() bool {
	l := r.a.lineage
	return l.isClean() && l.earlier.Load() == nil && !r.a.past.Load()
}

// pieces returns bytes [off, off+n), which lie in the array, wherever it is now.
func (a *Array) pieces(ctx context.Context, off, n int64) (*Pieces, error) {
	if a.slice != nil {
		return a.slice.read(ctx, off, n)
	}
	p, err := a.read(ctx, off, n)
	if isMoved(err) {
		a.Arrive(ctx)
		if live := a.Live(); live != a && off+n <= live.Size() {
			return live.pieces(ctx, off, n)
		}
	}
	if err == nil {
		a.of.Shared.Count.Served.Add(n)
	}
	return p, err
}

// ReadStacked returns bytes [off, off+n) of all chunks one behind the other; see
// layout.Grid.Stacked. They must lie in them.
func (a *Array) ReadStacked(ctx context.Context, off, n int64) (*Pieces, error) {
	p, err := a.readStacked(ctx, off, n)
	if isMoved(err) {
		a.Arrive(ctx)
		if live := a.Live(); live != a && slices.Equal(live.gen.Meta.Shape, a.gen.Meta.Shape) {
			return live.ReadStacked(ctx, off, n)
		}
	}
	if err == nil {
		a.of.Shared.Count.Served.Add(n)
	}
	return p, err
}

func (a *Array) readStacked(ctx context.Context, off, n int64) (*Pieces, error) {
	if err := a.saveOthers(ctx); err != nil {
		return nil, err
	}
	return a.reads.Stacked(ctx, off, n)
}

// isMoved reports whether a read has failed because the array is at another path by now.
func isMoved(err error) bool { return errors.Is(err, pieces.ErrMoved) }

// read is pieces at the path that the array had when it was opened.
func (a *Array) read(ctx context.Context, off, n int64) (*Pieces, error) {
	if err := a.saveOthers(ctx); err != nil {
		return nil, err
	}
	return a.reads.Read(ctx, off, n)
}

// Pieces are the bytes of a read, in order, in memory that is shared with the cache.
type Pieces = pieces.Pieces

// A reading is what an array says to its reads.
type reading Array

func (r *reading) IsBusy() bool { return r.draft.busy.Load() }

// CutIn returns the byte of a chunk from which on what is stored does not count
// any more, because those rows were truncated: its size where none were.
func (r *reading) CutIn(chunk int64) int64 {
	d := r.draft
	if d.truncation.IsNone() {
		return r.gen.Grid.BytesOf(chunk)
	}
	low := d.truncatedAt(r.gen.Objects.Holder(chunk))
	return r.gen.BytesBefore(chunk, low)
}

func (r *reading) Epoch() uint64 { return r.checked() }

func (r *reading) IsPast() bool { return r.past.Load() }

func (r *reading) Stay(ctx context.Context, chunk int64, isMissing bool) error {
	p := r.draft.place
	if !isMissing && !p.replaced.Load() { // otherwise it may be another array's
		return nil
	}
	hasLeft, err := p.hasLeft(ctx)
	if hasLeft {
		return pieces.ErrMoved
	}
	if err == nil && isMissing {
		err = r.isFill(ctx, chunk)
	}
	return err
}
