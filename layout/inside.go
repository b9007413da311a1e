package layout

// Inside returns how many bytes of a chunk lie in the array, as if the array had
// whole chunks along axis 0: there it may yet grow. The rest is padding.
func (g *Grid) Inside(chunk int64) int64 {
	n := g.itemSize
	for i := len(g.counts) - 1; i >= 0; i-- {
		c := chunk % g.counts[i]
		chunk /= g.counts[i]
		if i == 0 {
			n *= g.chunk[0]
		} else {
			n *= min(g.chunk[i], g.shape[i]-c*g.chunk[i])
		}
	}
	return n
}

// Ragged reports whether chunks stand out of the array along an axis other than
// 0, so that Inside is not always ChunkBytes.
func (g *Grid) Ragged() bool {
	for i := 1; i < len(g.shape); i++ {
		if g.chunk[i] > 0 && g.shape[i]%g.chunk[i] != 0 {
			return true
		}
	}
	return false
}

// RowBytes returns the bytes of the flat array in one row: one index of axis 0.
// An array without axes has none.
func (g *Grid) RowBytes() int64 {
	if len(g.shape) == 0 {
		return 0
	}
	return g.stride[0]
}

// Rows returns the rows [first, end) that a chunk spans, as if the array had
// whole chunks along axis 0, and the bytes that one row takes in the chunk. An
// array without axes is one row.
func (g *Grid) Rows(chunk int64) (first, end, bytes int64) {
	if len(g.counts) == 0 {
		return 0, 1, g.chunkBytes
	}
	for _, n := range g.counts[1:] {
		chunk /= n
	}
	return chunk * g.chunk[0], (chunk + 1) * g.chunk[0], g.chunkStride[0]
}
