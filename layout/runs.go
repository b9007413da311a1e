package layout

import "iter"

// A Run is a stretch of bytes that is contiguous both in the flat array and
// inside one chunk. All offsets and lengths are in bytes.
type Run struct {
	Chunk    int64 // C-order number of the chunk in the grid
	ChunkOff int64 // where the run starts in the decoded chunk
	Off      int64 // where the run starts in the flat array
	Len      int64
}

// Parts yields the run in parts of at most so many bytes.
func (r Run) Parts(most int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for at := int64(0); at < r.Len; at += most {
			if !yield(Run{Chunk: r.Chunk, ChunkOff: r.ChunkOff + at, Off: r.Off + at,
				Len: min(most, r.Len-at)}) {
				return
			}
		}
	}
}

// Runs yields the runs that make up bytes [off, off+n) of the flat array, in
// the array's order. Bytes outside the array are left out.
func (g *Grid) Runs(off, n int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		if off < 0 {
			off, n = 0, n+off
		}
		if n > g.size-off {
			n = g.size - off
		}
		for end := off + n; off < end; {
			r := g.RunAt(off)
			r.Len = min(r.Len, end-off)
			if !yield(r) {
				return
			}
			off += r.Len
		}
	}
}

// RunAt returns the run that holds byte off of the flat array, from that byte
// to the run's end. off must lie in the array.
func (g *Grid) RunAt(off int64) Run {
	r := Run{Off: off}
	if len(g.shape) == 0 {
		r.ChunkOff, r.Len = off, g.size-off
		return r
	}
	if g.axes != nil {
		return g.cutRunAt(off)
	}
	rem := off
	for i := 0; i <= g.runAxis; i++ {
		pos := rem / g.stride[i]
		rem -= pos * g.stride[i]
		c := pos / g.chunk[i]
		in := pos - c*g.chunk[i]
		r.Chunk = r.Chunk*g.counts[i] + c
		r.ChunkOff += in * g.chunkStride[i]
		if i == g.runAxis {
			elems := min(g.chunk[i]-in, g.shape[i]-pos)
			r.ChunkOff += rem // rows after this axis are as long in the chunk as in the array
			r.Len = elems*g.stride[i] - rem
		}
	}
	for _, n := range g.counts[g.runAxis+1:] {
		r.Chunk *= n // axes after the run axis have one chunk each
	}
	return r
}

// cutRunAt is RunAt where chunks differ in length: a step along an axis is as
// many bytes in the chunk as its lengths along the later axes make.
func (g *Grid) cutRunAt(off int64) Run {
	r := Run{Off: off}
	var ins, lengths [MaxRank]int64
	rem := off
	for i := 0; i <= g.runAxis; i++ {
		pos := rem / g.stride[i]
		rem -= pos * g.stride[i]
		c := g.axes[i].coordOf(pos)
		start, length := g.axes[i].extent(c)
		ins[i], lengths[i] = pos-start, length
		r.Chunk = r.Chunk*g.counts[i] + c
		if i == g.runAxis {
			r.Len = min(length-ins[i], g.shape[i]-pos)*g.stride[i] - rem
		}
	}
	r.ChunkOff = rem // rows after the run axis are as long in the chunk as in the array
	step := g.stride[g.runAxis]
	for i := g.runAxis; i >= 0; i-- {
		r.ChunkOff += ins[i] * step
		step *= lengths[i]
	}
	return r // axes after the run axis have one chunk each
}
