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

import "context"

// An ID names one chunk of one generation of an array.
type ID struct {
	Array uint64 // the array's generation, unique in the process
	Chunk int64  // C-order number of the chunk in the array's grid
}

// A Backing is where the cache gets chunks from: the array that owns them.
type Backing interface {
	// Load decodes at least bytes [off, off+n) of the chunk into dst, the
	// buffer of the whole chunk, and writes nothing outside the span it
	// reports. Capacity beyond len(dst) may be used as scratch. fresh says
	// that nothing in dst is valid yet, so the whole chunk may be decoded.
	Load(ctx context.Context, id ID, dst []byte, off, n int64, fresh bool) (Loaded, error)
	// Current reports whether the chunk's object still has the version that
	// Load reported.
	Current(ctx context.Context, id ID, version string) bool
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
