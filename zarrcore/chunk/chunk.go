// Package chunk holds decoded chunks in memory: a byte-bounded cache with
// single flight and pinning, and the recycled buffers behind it. It knows
// nothing of arrays, codecs or stores; a [Backing] loads what is missing.
//
// A cached chunk may be decoded in part: it keeps the spans of its buffer that
// are valid, and only the gaps that a request touches are loaded. Bytes that
// are valid are never written again, so pinned bytes stay as they are.
//
// # Lock order
//
// Cache.mu, then Memory.mu. Neither is held while a Backing loads.
package chunk

import (
	"context"
	"errors"
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
	// Load decodes what is needed of a chunk into the chunk's buffer, and
	// writes nothing outside the span that it reports.
	Load(ctx context.Context, id ID, need Need) (Loaded, error)
	// Current reports whether the chunk's object still has the version that
	// Load reported.
	Current(ctx context.Context, id ID, version string) bool
}

// A Need is what the cache asks a Backing to load.
type Need struct {
	Off, N int64 // bytes of the chunk, at least

	// Fresh says that nothing in the buffer is valid yet, so the whole chunk
	// may be decoded. Else the buffer holds, and others read meanwhile, bytes
	// of the object's version Version: Load must not touch it if it finds
	// another version, and must not decode more than the part.
	Fresh   bool
	Version string

	// Buffer returns the buffer of the whole chunk, whose capacity beyond its
	// length may be used as scratch if Fresh. It is to be called once it is
	// certain that the chunk is stored: chunks that are not take no memory.
	Buffer func() ([]byte, error)
}

// Loaded is what a Backing has put into a chunk's buffer.
type Loaded struct {
	Lo, Hi  int64  // the span of the buffer that is valid now
	Fill    bool   // the chunk is not stored: its bytes are the fill value, and the buffer is unused
	Version string // of the object that holds the chunk
}

// A span is a stretch [lo, hi) of a chunk's bytes.
type span struct{ lo, hi int64 }

// spans is a set of bytes: sorted, disjoint, not touching each other.
type spans []span

// add returns s with [lo, hi) added.
func (s spans) add(lo, hi int64) spans {
	out := make(spans, 0, len(s)+1)
	for i, sp := range s {
		switch {
		case sp.hi < lo:
			out = append(out, sp)
		case sp.lo > hi:
			return append(append(out, span{lo, hi}), s[i:]...)
		default:
			lo, hi = min(lo, sp.lo), max(hi, sp.hi)
		}
	}
	return append(out, span{lo, hi})
}

// gap returns the first stretch of [lo, hi) that is not in s; empty if none.
func (s spans) gap(lo, hi int64) span {
	for _, sp := range s {
		if sp.hi <= lo {
			continue
		}
		if sp.lo > lo {
			return span{lo, min(hi, sp.lo)}
		}
		if lo = sp.hi; lo >= hi {
			return span{hi, hi}
		}
	}
	return span{lo, hi}
}
