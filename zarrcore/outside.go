package zarrcore

// This file is about an array that another program makes longer or shorter while some
// have it open here. They keep its shape, and who opens it then gets the new one; but
// what is written by one of them all of them see.

// precede notes that another program has changed the array's length: to a's. Who has
// it open keeps its shape until somebody writes; see unite.
func (d *draft) precede(a *Array) {
	if !sameLayout(d.live.Load().meta, a.meta) {
		return
	}
	if !d.inUse() {
		d = d.earlier.Load()
	}
	if d != nil {
		d.later.Store(a.draft)
		a.draft.earlier.Store(d)
	}
}

// unite lets all who have the array open have it as it is now, also those who did
// before another program changed its length: what is written by one of them is then
// seen by the others.
func (d *draft) unite() {
	c := d
	if d.live.Load().source != nil {
		c = d.twin.Load()
	}
	if later := c.later.Load(); later != nil {
		c.yieldTo(later)
	}
	for e := c.earlier.Swap(nil); e != nil; e = e.earlier.Swap(nil) {
		e.yieldTo(c)
	}
}

// yieldTo makes later the heir, unless something of d is not stored.
func (d *draft) yieldTo(later *draft) {
	d.pair.Lock()
	defer d.pair.Unlock()
	if d.clean() && d.heir.Load() == nil {
		d.bequeath(later.live.Load())
	}
}
