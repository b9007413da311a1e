package layout

// Inside returns how many bytes of a chunk lie in the array. The rest is
// padding.
func (g *Grid) Inside(chunk int64) int64 { return g.inside(chunk, false) }

// InsideGrown is Inside as if the array had whole chunks along axis 0: there it
// may yet grow.
func (g *Grid) InsideGrown(chunk int64) int64 { return g.inside(chunk, true) }

func (g *Grid) inside(chunk int64, grown bool) int64 {
	n := g.itemSize
	for i := len(g.counts) - 1; i >= 0; i-- {
		c := chunk
		if i > 0 {
			c, chunk = chunk%g.counts[i], chunk/g.counts[i]
		}
		start, length := g.Extent(i, c)
		switch {
		case i > 0 || !grown:
			n *= min(length, g.shape[i]-start)
		default:
			n *= g.Grown(c)
		}
	}
	return n
}

// Grown returns the length along axis 0, in elements, of the chunks with that
// coordinate, once the array has grown beyond them.
func (g *Grid) Grown(c int64) int64 {
	if g.open > 0 && c == g.counts[0]-1 {
		return g.open
	}
	_, length := g.Extent(0, c)
	return length
}

// IsRagged reports whether chunks stand out of the array along an axis other than
// 0, or differ, so that InsideGrown is not always ChunkBytes.
func (g *Grid) IsRagged() bool {
	if g.axes != nil {
		return true
	}
	for i := 1; i < len(g.shape); i++ {
		if g.chunk[i] > 0 && g.shape[i]%g.chunk[i] != 0 {
			return true
		}
	}
	return false
}
