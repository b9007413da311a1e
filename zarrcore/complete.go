package zarrcore

import "slices"

// complete tells which objects are completely dirty: drain stores them while their
// writer goes on. The draft's mu guards it.
type complete struct {
	chunks  map[int64]bool  // that are completely dirty
	count   map[int64]int64 // of them, in each object
	ready   []int64         // objects that drain may store
	due     map[int64]int64 // bytes that each of them has added to backlog
	backlog int64           // bytes of ready objects, and of those being stored by drain
}

func newComplete() complete {
	return complete{chunks: map[int64]bool{}, count: map[int64]int64{}, due: map[int64]int64{}}
}

// add notes that all of a chunk of an object is dirty. It returns how many such chunks the
// object has now; zero if the chunk was noted before.
func (c *complete) add(chunk, obj int64) int64 {
	if c.chunks[chunk] {
		return 0
	}
	c.chunks[chunk] = true
	c.count[obj]++
	return c.count[obj]
}

// makeReady lets drain store an object, whose chunks have so many bytes each.
func (c *complete) makeReady(obj, bytes int64) {
	c.due[obj] = c.count[obj] * bytes
	c.ready = append(c.ready, obj)
	c.backlog += c.due[obj]
}

// remove takes back add, because the chunk was cut or is being stored. It returns by how
// much backlog is to shrink: the bytes of the object, if it was ready.
func (c *complete) remove(chunk, obj int64) (bytes int64) {
	if !c.chunks[chunk] {
		return 0
	}
	delete(c.chunks, chunk)
	if due, ok := c.due[obj]; ok {
		bytes = due
		delete(c.due, obj)
		c.ready = slices.DeleteFunc(c.ready, func(o int64) bool { return o == obj })
	}
	if c.count[obj]--; c.count[obj] == 0 {
		delete(c.count, obj)
	}
	return bytes
}

// takeReady returns the objects that drain may store, which it is to store then.
func (c *complete) takeReady() []int64 {
	objects := c.ready
	c.ready = nil
	return objects
}
