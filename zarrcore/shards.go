package zarrcore

import (
	"slices"
	"sync"
)

// This file tells which chunks an object holds, for who puts one together.

// objectNumber returns the number of the object that holds a chunk.
func (a *Array) objectNumber(chunk int64) int64 {
	if !a.chain.Sharded() {
		return chunk
	}
	var some [8]int64
	object, _ := a.locate(a.grid.Coords(chunk, some[:]))
	return a.objects.Index(object)
}

// objectKey returns the key of an object.
func (a *Array) objectKey(obj int64) string {
	var some [8]int64
	return a.keyAt(a.objects.Coords(obj, some[:]))
}

// objectsOf returns the objects that hold these chunks, in order.
func (a *Array) objectsOf(chunks []int64) []int64 {
	objects := make([]int64, len(chunks))
	for i, n := range chunks {
		objects[i] = a.objectNumber(n)
	}
	slices.Sort(objects)
	return slices.Compact(objects)
}

// chunksIn returns how many chunks of the array's grid an object holds. If grown
// is set it counts as if there were whole objects along its rows: it may yet grow.
func (a *Array) chunksIn(obj int64, grown bool) int64 {
	if !a.chain.Sharded() {
		return 1
	}
	var some [8]int64
	n := int64(1)
	for i, c := range a.objects.Coords(obj, some[:]) {
		start, length := a.objects.Extent(i, c)
		chunk := a.grid.ChunkShape()[i]
		switch {
		case grown && a.source != nil && i == a.grid.Rank()-1:
			n *= length / chunk
		case grown && a.source == nil && i == 0:
			n *= a.objects.Grown(c) / chunk
		default:
			n *= min(length/chunk, a.grid.Counts()[i]-start/chunk)
		}
	}
	return n
}

// insideGrown returns how many bytes of a chunk lie in the array, as if it had whole
// chunks along its rows, to which other programs may append. These are axis 0 of the
// array as it is stored.
func (a *Array) insideGrown(chunk int64) int64 {
	if a.source == nil {
		return a.grid.InsideGrown(chunk)
	}
	var some [8]int64
	coords := a.grid.Coords(chunk, some[:])
	last := len(coords) - 1
	start, length := a.grid.Extent(last, coords[last])
	inside := min(length, a.grid.Shape()[last]-start)
	if inside <= 0 {
		return a.grid.BytesOf(chunk)
	}
	return a.grid.Inside(chunk) / inside * length
}

// eachChunk calls visit with the number of each chunk of an object, and with its
// number inside the object, in the order of the latter. Along axis 0 chunks
// beyond the array's end count too: they may hold what was cut.
func (a *Array) eachChunk(obj int64, visit func(chunk, inner int64)) {
	if a.grid == a.objects || a.chain != nil && !a.chain.Sharded() { // without a chain, elements have no fixed size
		visit(obj, 0)
		return
	}
	counts, chunk := a.grid.Counts(), a.grid.ChunkShape()
	first, per := a.objects.Coords(obj, nil), make([]int64, len(counts))
	for i, c := range first {
		start, length := a.objects.Extent(i, c)
		first[i], per[i] = start/chunk[i], length/chunk[i]
	}
	coords := slices.Clone(first)
	var walk func(axis int, inner int64)
	walk = func(axis int, inner int64) {
		if axis == len(coords) {
			visit(a.grid.Index(coords), inner)
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

// carries reports that b, found in the store, has the same data in the same
// places as a has, so that what is written to a, or cached of it, holds for b.
func (a *Array) carries(b *Array) bool {
	return a.matches(b.meta)
}

// encodeBuffer is recycled memory for an object that is being put together.
type encodeBuffer struct{ b []byte }

var encodeBuffers = sync.Pool{New: func() any { return new(encodeBuffer) }}

func getEncodeBuffer() *encodeBuffer {
	e := encodeBuffers.Get().(*encodeBuffer)
	e.b = e.b[:0]
	return e
}

func putEncodeBuffer(e *encodeBuffer) { encodeBuffers.Put(e) }
