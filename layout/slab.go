package layout

// A Slab is what a C-order scan needs at once. It is all chunks with the same chunk indexes up to
// the first axis along which a chunk holds more than one element. The bytes of a Slab are one
// contiguous stretch of the flat array.
type Slab struct {
	Off, Len   int64 // the stretch of the flat array, in bytes
	First, End int64 // its chunks: C-order numbers First <= n < End
}

// Slabs returns the number of slabs; 0 where the array has no bytes.
func (g *Grid) Slabs() int64 {
	if g.size == 0 {
		return 0
	}
	n := int64(1)
	for i := 0; i <= g.slabAxis && i < len(g.counts); i++ {
		n *= g.counts[i]
	}
	return n
}

// SlabBytes returns the bytes of the flat array in one full slab, the largest
// where chunks differ in length.
func (g *Grid) SlabBytes() int64 {
	if len(g.shape) == 0 || g.size == 0 {
		return g.size
	}
	k := g.slabAxis
	return min(g.chunk[k], g.shape[k]) * g.stride[k]
}

// SlabOf returns the number of the slab that holds byte off.
func (g *Grid) SlabOf(off int64) int64 {
	if len(g.shape) == 0 {
		return 0
	}
	k := g.slabAxis
	outer := off / (g.stride[k] * g.shape[k]) // whole extents of axis k before off
	pos := off / g.stride[k] % g.shape[k]
	return outer*g.counts[k] + g.CoordOf(k, pos)
}

// Slab returns slab number s, 0 <= s < Slabs().
func (g *Grid) Slab(s int64) Slab {
	if len(g.shape) == 0 {
		return Slab{Len: g.size, End: 1}
	}
	k := g.slabAxis
	outer, c := s/g.counts[k], s%g.counts[k]
	start, length := g.Extent(k, c)
	rows := min(length, g.shape[k]-start)
	per := g.perSlab()
	return Slab{
		Off:   (outer*g.shape[k] + start) * g.stride[k],
		Len:   rows * g.stride[k],
		First: s * per,
		End:   (s + 1) * per,
	}
}

// SlabOfChunk returns the number of the slab that a chunk belongs to.
func (g *Grid) SlabOfChunk(chunk int64) int64 { return chunk / g.perSlab() }

// perSlab returns the number of chunks in a slab.
func (g *Grid) perSlab() int64 {
	per := int64(1)
	for i := g.slabAxis + 1; i < len(g.counts); i++ {
		per *= g.counts[i]
	}
	return per
}
