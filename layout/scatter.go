package layout

import "iter"

// A Box is the part of one chunk that lies inside the array, as strided rows:
// what scattering a decoded chunk into the flat array must copy.
type Box struct {
	Off    int64   // flat offset of the chunk's first byte
	RunLen int64   // bytes of one contiguous row
	Rows   []int64 // number of rows along each outer axis, outermost first
	Flat   []int64 // bytes between rows along each of those axes in the flat array
	Chunk  []int64 // and in the chunk
}

// Box returns the box of the chunk at the given number.
func (g *Grid) Box(chunk int64) *Box {
	b := g.box(chunk)
	return &b
}

// box is Box without memory for the Box itself: a read of many chunks asks for as many.
func (g *Grid) box(chunk int64) (b Box) {
	if len(g.shape) == 0 {
		b.RunLen = g.itemSize
		return b
	}
	coords := g.Coords(chunk, make([]int64, len(g.counts)))
	chunkStride := g.chunkStride
	if g.axes != nil {
		chunkStride = strides(g.ShapeOf(coords), g.itemSize)
	}
	rows := max(0, g.runAxis)
	// one allocation for all
	room := make([]int64, 3*rows)
	b.Rows, b.Flat, b.Chunk = room[:0:rows], room[rows:rows:2*rows], room[2*rows:2*rows]
	for i, c := range coords {
		start, length := g.Extent(i, c)
		n := min(length, g.shape[i]-start)
		b.Off += start * g.stride[i]
		if i < g.runAxis {
			b.Rows = append(b.Rows, n)
			b.Flat = append(b.Flat, g.stride[i])
			b.Chunk = append(b.Chunk, chunkStride[i])
		} else if i == g.runAxis {
			b.RunLen = n * g.stride[i]
		}
	}
	return b
}

// Scatter copies the chunk's bytes from the decoded chunk src to their places in flat. That is the
// stretch of the flat array from byte base on, which covers the whole box.
func (b *Box) Scatter(flat []byte, base int64, src []byte) {
	rows := copyRows
	if len(flat) >= streamed {
		rows = streamRows
		defer settle()
	}
	b.strips(0, b.Off-base, 0, func(flatOff, chunkOff, count, to, from int64) {
		rows(flat[flatOff:], src[chunkOff:], b.RunLen, count, to, from)
	})
}

// Runs yields every contiguous row of the box, RunLen bytes long: its flat
// offset, and its offset in the chunk.
func (b *Box) Runs() iter.Seq2[int64, int64] {
	return func(yield func(flatOff, chunkOff int64) bool) {
		more := true
		b.each(func(flatOff, chunkOff, _ int64) {
			more = more && yield(flatOff, chunkOff)
		})
	}
}

// each calls do for every contiguous row of the box: its flat offset, its
// offset in the chunk and its length.
func (b *Box) each(do func(flatOff, chunkOff, n int64)) {
	b.strips(0, b.Off, 0, func(flatOff, chunkOff, count, to, from int64) {
		for i := range count {
			do(flatOff+i*to, chunkOff+i*from, b.RunLen)
		}
	})
}

// strips calls do for the rows along the last of the outer axes, all of them at once: the offsets
// of the first, how many there are, and the bytes between them in the flat array and in the chunk.
// It goes through the axes from the given one on, whose rows begin at these offsets.
func (b *Box) strips(
	axis int, flatOff, chunkOff int64, do func(flatOff, chunkOff, count, to, from int64),
) {
	switch len(b.Rows) - axis {
	case 0:
		do(flatOff, chunkOff, 1, 0, 0)
	case 1:
		do(flatOff, chunkOff, b.Rows[axis], b.Flat[axis], b.Chunk[axis])
	default:
		for i := range b.Rows[axis] {
			b.strips(axis+1, flatOff+i*b.Flat[axis], chunkOff+i*b.Chunk[axis], do)
		}
	}
}

// Fill writes the element elem over the chunk's bytes in flat, as Scatter does.
func (b *Box) Fill(flat []byte, base int64, elem []byte) {
	b.each(func(flatOff, _, n int64) {
		Repeat(flat[flatOff-base:flatOff-base+n], elem)
	})
}

// Bytes returns the bytes of the box, padding left out.
func (b *Box) Bytes() int64 {
	n := b.RunLen
	for _, rows := range b.Rows {
		n *= rows
	}
	return n
}

// Repeat fills dst with copies of elem, the first one whole at its start.
func Repeat(dst, elem []byte) {
	if len(elem) == 0 {
		return
	}
	for n := copy(dst, elem); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}
