package object

import "slices"

// This file is about the chunks of an object, for code that puts an object together.

// ChunksIn returns how many chunks of the array's grid an object holds. If grown is set
// it counts as if there were whole objects along its rows: it may yet grow.
func (l *Layout) ChunksIn(object int64, grown bool) int64 {
	if !l.sharded {
		return 1
	}
	var some [8]int64
	n := int64(1)
	for i, c := range l.Coords(object, some[:]) {
		start, length := l.Extent(i, c)
		chunk := l.chunks.ChunkShape()[i]
		switch {
		case grown && l.reversed && i == l.chunks.Rank()-1:
			n *= length / chunk
		case grown && !l.reversed && i == 0:
			n *= l.Grown(c) / chunk
		default:
			n *= min(length/chunk, l.chunks.Counts()[i]-start/chunk)
		}
	}
	return n
}

// BytesGrown returns how many bytes of a chunk lie in the array, as if it had whole
// chunks along its rows: other programs may append to them. Rows are axis 0 of the array
// as it is stored.
func (l *Layout) BytesGrown(chunk int64) int64 {
	if !l.reversed {
		return l.chunks.InsideGrown(chunk)
	}
	var some [8]int64
	coords := l.chunks.Coords(chunk, some[:])
	last := len(coords) - 1
	start, length := l.chunks.Extent(last, coords[last])
	inside := min(length, l.chunks.Shape()[last]-start)
	if inside <= 0 {
		return l.chunks.BytesOf(chunk)
	}
	return l.chunks.Inside(chunk) / inside * length
}

// EachChunk calls visit with the number of each chunk of an object, and with its number inside the
// object, in the order of the latter. Along axis 0 chunks beyond the array's end count too: they
// may hold truncated rows.
func (l *Layout) EachChunk(object int64, visit func(chunk, inner int64)) {
	if !l.sharded {
		visit(object, 0)
		return
	}
	counts, chunk := l.chunks.Counts(), l.chunks.ChunkShape()
	first, per := l.Coords(object, nil), make([]int64, len(counts))
	for i, c := range first {
		start, length := l.Extent(i, c)
		first[i], per[i] = start/chunk[i], length/chunk[i]
	}
	coords := slices.Clone(first)
	var walk func(axis int, inner int64)
	walk = func(axis int, inner int64) {
		if axis == len(coords) {
			visit(l.chunks.Index(coords), inner)
			return
		}
		n := per[axis]
		if axis > 0 {
			n = min(n, counts[axis]-first[axis])
		}
		for k := range n {
			coords[axis] = first[axis] + k
			walk(axis+1, inner*per[axis]+k)
		}
	}
	walk(0, 0)
}
