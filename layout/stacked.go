package layout

import (
	"iter"
	"math"
)

// This file is about the chunks of a regular grid one behind the other, in the order of their
// numbers. Each is whole, with its padding: so a file has them whose readers know the same chunks.

// StackedSize returns the bytes of all chunks. ok is false if they are more than 2^63-1.
func (g *Grid) StackedSize() (size int64, ok bool) {
	if g.chunkBytes > 0 && g.chunks > math.MaxInt64/g.chunkBytes {
		return 0, false
	}
	return g.chunks * g.chunkBytes, true
}

// Stacked yields the runs that make up bytes [off, off+n) of all chunks, one of each chunk. Off is
// that in all chunks.
func (g *Grid) Stacked(off, n int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for end := off + n; off < end; {
			r := Run{Chunk: off / g.chunkBytes, ChunkOff: off % g.chunkBytes, Off: off}
			r.Len = min(g.chunkBytes-r.ChunkOff, end-off)
			if !yield(r) {
				return
			}
			off += r.Len
		}
	}
}

// StackedRuns yields what of bytes [off, off+n) of all chunks lies in the array, and where each
// run begins in all chunks. Off is that in the flat array. Padding is left out.
func (g *Grid) StackedRuns(off, n int64) iter.Seq2[int64, Run] {
	return func(yield func(int64, Run) bool) {
		for whole := range g.Stacked(off, n) {
			box := g.box(whole.Chunk)
			for at, end := whole.ChunkOff, whole.ChunkOff+whole.Len; at < end; {
				r, next := box.runAt(at, g.chunkBytes)
				r.Chunk, r.Len = whole.Chunk, min(r.Len, end-at)
				if r.Len > 0 && !yield(whole.Off+at-whole.ChunkOff, r) {
					return
				}
				at = next
			}
		}
	}
}

// runAt returns the rest of the row in which byte off of a chunk lies; in the padding it is empty.
// It also returns where the next row begins. The chunk has size bytes.
func (b *Box) runAt(off, size int64) (r Run, next int64) {
	r = Run{ChunkOff: off, Off: b.Off}
	row, in, inside := size, off, true
	for i, step := range b.Chunk {
		index := in / step
		in -= index * step
		r.Off += index * b.Flat[i]
		row, inside = step, inside && index < b.Rows[i]
	}
	r.Off += in
	if inside {
		r.Len = max(0, b.RunLen-in)
	}
	return r, off - in + row
}
