package hdf5

import "encoding/binary"

const (
	// referenceToHeap is the size of an element that is in the global heap: its length, and where
	// it is.
	referenceToHeap = 16
	// heapMost is how many objects a collection has at most. Their numbers have two bytes.
	heapMost = 1 << 14
	// heapLeast is the size of the smallest collection.
	heapLeast = 4096
)

// heap is the global heap of the file.
type heap struct {
	collections []*collection
	known       map[string]heapSpot // of objects that may be used more than once
}

// collection is a part of the heap.
type collection struct {
	objects []byte
	count   uint32
}

// heapSpot is where an object of the heap is.
type heapSpot struct {
	in     *collection
	number uint32
}

// put adds an object.
func (h *heap) put(data []byte) heapSpot {
	if n := len(h.collections); n == 0 || h.collections[n-1].count == heapMost {
		h.collections = append(h.collections, &collection{})
	}
	c := h.collections[len(h.collections)-1]
	c.count++
	c.objects = binary.LittleEndian.AppendUint16(c.objects, uint16(c.count))
	c.objects = append(c.objects, 1, 0, 0, 0, 0, 0) // one reference to it
	c.objects = binary.LittleEndian.AppendUint64(c.objects, uint64(len(data)))
	c.objects = append(c.objects, data...)
	c.objects = pad(c.objects, 8)
	return heapSpot{c, c.count}
}

// once is put for an object that other elements may share.
func (h *heap) once(key string, data []byte) heapSpot {
	spot, ok := h.known[key]
	if !ok {
		spot = h.put(data)
		h.known[key] = spot
	}
	return spot
}

// bytes returns the collection, with the free space at its end.
func (c *collection) bytes() []byte {
	const head, freeHead = 16, 16
	size := max(heapLeast, head+len(c.objects)+freeHead)
	b := append([]byte("GCOL"), 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	b = append(b, c.objects...)
	free := size - len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(free))
	return append(b, make([]byte, size-len(b))...)
}

// pad appends zeros up to a multiple of n.
func pad(b []byte, n int) []byte {
	return append(b, make([]byte, (n-len(b)%n)%n)...)
}
