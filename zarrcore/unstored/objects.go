package unstored

import "slices"

// Objects knows which objects are completely dirty. They are stored while their writer goes on.
type Objects struct {
	Backlog int64 // bytes of ready objects, and of those being stored

	chunks map[int64]bool  // that are completely dirty
	count  map[int64]int64 // of them, in each object
	ready  []int64         // objects that may be stored
	due    map[int64]int64 // bytes that each of them has added to Backlog
}

// NewObjects returns Objects of an array of which nothing is dirty.
func NewObjects() Objects {
	return Objects{chunks: map[int64]bool{}, count: map[int64]int64{}, due: map[int64]int64{}}
}

// Add notes that all of a chunk of an object is dirty. It returns how many such chunks the
// object has now; zero if the chunk was noted before.
func (c *Objects) Add(chunk, obj int64) int64 {
	if c.chunks[chunk] {
		return 0
	}
	c.chunks[chunk] = true
	c.count[obj]++
	return c.count[obj]
}

// MakeReady notes that an object, whose chunks have so many bytes each, may be stored.
func (c *Objects) MakeReady(obj, bytes int64) {
	c.due[obj] = c.count[obj] * bytes
	c.ready = append(c.ready, obj)
	c.Backlog += c.due[obj]
}

// Remove takes back Add, because the chunk was truncated or is being stored. It returns by how
// much Backlog is to shrink: the bytes of the object, if it was ready.
func (c *Objects) Remove(chunk, obj int64) (bytes int64) {
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

// TakeReady returns the objects that may be stored. The caller then stores them.
func (c *Objects) TakeReady() []int64 {
	objects := c.ready
	c.ready = nil
	return objects
}
