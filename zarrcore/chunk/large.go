package chunk

// A chunk that is larger than the budget would leave memory with its last pin, and be decoded again
// for each request. So it is decoded in a file, which the system can write out where memory is
// short.

// A Scratch lends memory that is files, so that the system can do without it.
type Scratch interface {
	// Map lends n bytes, or fails where there is no room for them.
	Map(n int64) ([]byte, error)
	// Unmap takes them back.
	Unmap(buf []byte) error
}

// KeepLarge lets chunks that are larger than the memory's budget be decoded in scratch. It keeps
// those that were used last, in room bytes of it. KeepLarge is called before the cache is used.
func (c *Cache) KeepLarge(scratch Scratch, room int64) { c.scratch, c.room = scratch, room }

// buffer returns memory for n bytes of a chunk, which are about to be decoded.
func (c *Cache) buffer(n int64) (buf []byte, inFile bool, err error) {
	if n > c.mem.budget && n <= min(c.room, c.mem.Largest()) {
		c.mu.Lock()
		c.makeRoom(n)
		c.mu.Unlock()
		c.unmap()
		if buf, err = c.scratch.Map(n); err == nil {
			return buf, true, nil
		}
	}
	buf, err = c.mem.GetFilled(n)
	return buf, false, err
}

// makeRoom evicts large chunks that are not pinned until n bytes more may be kept in scratch.
func (c *Cache) makeRoom(n int64) {
	for el := c.large.Back(); el != nil && c.filed+n > c.room; {
		e := el.Value.(*entry)
		el = el.Prev()
		if e.pins == 0 {
			c.remove(e)
		}
	}
}

// free gives back the memory of a part. That of files takes longer than mu, which the caller holds,
// may be held.
func (c *Cache) free(p part) {
	if !p.inFile {
		c.mem.Put(p.buf)
		return
	}
	c.gone = append(c.gone, p.buf)
	go c.unmap()
}

// unmap gives back the memory of files that was freed. What the system refuses to unmap counts as
// used.
func (c *Cache) unmap() {
	c.unmapping.Lock()
	defer c.unmapping.Unlock()
	c.mu.Lock()
	gone := c.gone
	c.gone = nil
	c.mu.Unlock()
	for _, buf := range gone {
		_ = c.scratch.Unmap(buf)
	}
}

// shrinkLarge evicts unpinned large chunks of which parts worth n bytes are in memory.
func (c *Cache) shrinkLarge(n int64) {
	for el := c.large.Back(); el != nil && n > 0; {
		e := el.Value.(*entry)
		el = el.Prev()
		if e.pins == 0 && e.bytes > 0 {
			n -= e.bytes
			c.remove(e)
		}
	}
}
