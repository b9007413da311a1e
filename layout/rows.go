package layout

// RowBytes returns the bytes of the flat array in one row: one index of axis 0.
// An array without axes has none.
func (g *Grid) RowBytes() int64 {
	if len(g.shape) == 0 {
		return 0
	}
	return g.stride[0]
}

// Rows returns the rows [first, end) that a chunk spans, padding included, and the bytes of one row
// in the chunk. An array without axes is one row.
func (g *Grid) Rows(chunk int64) (first, end, bytes int64) {
	if len(g.counts) == 0 {
		return 0, 1, g.chunkBytes
	}
	c := chunk
	for _, n := range g.counts[1:] {
		c /= n
	}
	first, length := g.Extent(0, c)
	return first, first + length, g.BytesOf(chunk) / max(1, length)
}
