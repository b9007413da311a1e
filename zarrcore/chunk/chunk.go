// Package chunk holds decoded chunks in memory: a byte-bounded cache with
// single flight and pinning, and the recycled buffers behind it. It knows
// nothing of arrays, codecs or stores; a [Backing] loads what is missing.
//
// A chunk may be cached in parts, each in a buffer of its own, and only the gaps
// that a request touches are loaded. A part is never written to once it is
// there, so pinned bytes stay as they are.
//
// # Lock order
//
// Cache.mu, then Memory.mu. Neither is held while a Backing loads.
package chunk

import (
	"context"
	"errors"
	"sort"
)

// An ID names one chunk of one generation of an array.
type ID struct {
	Array uint64 // the array's generation, unique in the process
	Chunk int64  // C-order number of the chunk in the array's grid
}

// ErrTooLarge says that a chunk is too large to be held in memory at all.
var ErrTooLarge = errors.New("chunk is too large")

// A Backing is where the cache gets chunks from: the array that owns them.
type Backing interface {
	// Load decodes what is needed of a chunk.
	Load(ctx context.Context, id ID, need Need) (Loaded, error)
	// IsCurrent reports whether the chunk's object still has the version that
	// Load reported.
	IsCurrent(ctx context.Context, id ID, version string) bool
}

// A Need is what the cache asks a Backing to load.
type Need struct {
	Off, N int64 // bytes of the chunk, at least
	Size   int64 // of the whole chunk
	Parts  int   // parts of the chunk that are in the cache already

	// Version is that of the object from which other parts of the chunk are in
	// the cache, "" if none are. Load need not decode anything if it finds
	// another version.
	Version string

	// Buffer returns the memory for bytes [lo, hi) of the chunk, which hold
	// what is needed; capacity beyond its length may be used as scratch. It is
	// to be called at most once, and only when it is certain that the chunk is
	// stored: chunks that are not take no memory.
	Buffer func(lo, hi int64) ([]byte, error)
}

// Loaded is what a Backing has found.
type Loaded struct {
	// the chunk is not stored: its bytes are the fill value, and the buffer is unused
	Fill    bool
	Version string // of the object that holds the chunk
}

// A part is a decoded stretch of a chunk. Its bytes never change.
type part struct {
	lo     int64 // where it begins in the chunk
	buf    []byte
	inFile bool // buf is of Scratch
}

func (p *part) hi() int64 { return p.lo + int64(len(p.buf)) }

// parts are the decoded stretches of one chunk, sorted by where they begin.
// They may overlap. Additions make a new slice, so that a pin can keep its own.
// Each read of a cached chunk goes through them, so the loops take parts by address:
// a part is too large for registers, and a copy costs more than the rest of the loop.
type parts []part

// with returns ps with p added.
func (ps parts) with(p part) parts {
	i := sort.Search(len(ps), func(i int) bool { return ps[i].lo > p.lo })
	return append(append(append(make(parts, 0, len(ps)+1), ps[:i]...), p), ps[i:]...)
}

// gap returns the first stretch of [lo, hi) that no part has; empty if none.
func (ps parts) gap(lo, hi int64) (from, to int64) {
	for i := range ps {
		p := &ps[i]
		if p.lo > lo {
			return lo, min(hi, p.lo)
		}
		if lo = max(lo, p.hi()); lo >= hi {
			return hi, hi
		}
	}
	return lo, hi
}

// slices appends bytes [lo, hi), which the parts have, to bufs.
func (ps parts) slices(bufs [][]byte, lo, hi int64) [][]byte {
	for i := range ps {
		p := &ps[i]
		if lo < hi && p.lo <= lo && p.hi() > lo {
			end := min(hi, p.hi())
			bufs = append(bufs, p.buf[lo-p.lo:end-p.lo])
			lo = end
		}
	}
	return bufs
}
