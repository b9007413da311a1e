package zarrcore

import (
	"context"
	"errors"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/band"
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
	a.draft.opens(1)
	r := &Reader{a: a}
	if a.bands != nil {
		r.cursor = a.bands.Cursor()
	}
	return r
}

// Close ends the reader. It is to be called once.
func (r *Reader) Close() {
	r.a.draft.opens(-1)
	if r.cursor != nil {
		r.cursor.Close()
	}
}

// Pieces are the bytes of a read, in order, in memory that is shared with the
// cache: they must not be written to, nor used after Release.
type Pieces struct {
	Bufs    [][]byte
	release func()
}

// Release ends the use of the bytes.
func (p *Pieces) Release() {
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// Read returns bytes [off, off+n) of the array, as far as it has them.
func (r *Reader) Read(ctx context.Context, off, n int64) (*Pieces, error) {
	if off < 0 || off >= r.a.Size() || n <= 0 {
		return &Pieces{}, nil
	}
	n = min(n, r.a.Size()-off)
	if r.sequential(off, n) && r.a.draft.clean() && r.a.draft.inOrder().earlier.Load() == nil && !r.a.past.Load() && r.a.mayHold(off, n) {
		lease, err := r.cursor.Read(ctx, off, n)
		if err == nil {
			r.a.h.count.Served.Add(n)
			return &Pieces{Bufs: lease.Bufs, release: lease.Release}, nil
		}
		// One bad chunk spoils its band, but not the reads that do not touch it.
		if errors.Is(err, band.ErrNoRoom) {
			r.a.noRoom.Do(func() { r.a.h.log.Warn("reading chunk by chunk", "array", r.a.gen.Path, "err", err) })
		}
	}
	return r.a.pieces(ctx, off, n)
}
