package layout

import "iter"

// This file goes through a part of the flat array chunk by chunk, where Runs goes through it byte
// by byte.

// ChunksIn yields the chunks that hold bytes [off, off+n) of the flat array, each once, in no order
// to rely on. The bytes must lie in the array. It takes no memory, however many chunks there are.
func (g *Grid) ChunksIn(off, n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if n > 0 {
			g.chunksIn(0, 0, off, n, yield)
		}
	}
}

// chunksIn yields the chunks of a block: of all that the axes from the given one on hold at one
// place of the axes before it. first is the number of those chunks' common coordinates. The n bytes
// from byte at on count. They go on at the block's start where they exceed its end, because they
// lie in two blocks that the same chunks hold.
func (g *Grid) chunksIn(axis int, first, at, n int64, yield func(int64) bool) bool {
	if axis == len(g.shape) {
		return yield(first)
	}
	step := g.stride[axis]
	size := g.shape[axis] * step
	if n >= size {
		at, n = 0, size
	}
	begin := g.CoordOf(axis, at/step)
	for end := at + n; at < end; {
		c := g.CoordOf(axis, at%size/step)
		start, length := g.Extent(axis, c)
		next := at - at%size + min(start+length, g.shape[axis])*step
		part := min(end, next) - at
		// they end in the chunk in which they begin
		if again := end - size - start*step; c == begin && again > 0 {
			end -= again
			part += again
		}
		if !g.chunksIn(axis+1, first*g.counts[axis]+c, at%step, part, yield) {
			return false
		}
		at = next
	}
	return true
}

// RunsOf yields the runs of bytes [off, off+n) of the flat array that lie in one chunk, in the
// array's order.
func (g *Grid) RunsOf(chunk, off, n int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		b := g.box(chunk)
		b.runsIn(0, b.Off, 0, off, off+n, func(r Run) bool {
			r.Chunk = chunk
			return yield(r)
		})
	}
}

// runsIn yields the runs in bytes [lo, hi) of the flat array of the rows of the axes from the given
// one on. The rows begin at these offsets.
func (b *Box) runsIn(axis int, flatOff, chunkOff, lo, hi int64, yield func(Run) bool) bool {
	if axis == len(b.Rows) {
		from, to := max(lo, flatOff), min(hi, flatOff+b.RunLen)
		return from >= to ||
			yield(Run{ChunkOff: chunkOff + from - flatOff, Off: from, Len: to - from})
	}
	step := b.Flat[axis]
	first := max(0, (lo-flatOff)/step) // those before it end before lo
	for i := first; i < b.Rows[axis] && flatOff+i*step < hi; i++ {
		if !b.runsIn(axis+1, flatOff+i*step, chunkOff+i*b.Chunk[axis], lo, hi, yield) {
			return false
		}
	}
	return true
}

// Hull returns the stretch [first, end) of a chunk that the runs of RunsOf lie in; nothing if there
// are none.
func (g *Grid) Hull(chunk, off, n int64) (first, end int64) {
	for r := range g.RunsOf(chunk, off, n) {
		b := g.box(chunk)
		return r.ChunkOff, b.lastIn(off + n)
	}
	return 0, 0
}

// lastIn returns where the box's last run before byte hi of the flat array ends in the chunk. There
// is one.
func (b *Box) lastIn(hi int64) int64 {
	at, end := b.Off, int64(0)
	for axis, step := range b.Flat {
		i := min(b.Rows[axis]-1, (hi-1-at)/step)
		at += i * step
		end += i * b.Chunk[axis]
	}
	return end + min(b.RunLen, hi-at)
}
