package zarrcore

import (
	"context"
	"time"
)

// age is how long a change waits for somebody to flush it once no other follows,
// and longAge how long it waits in all: a chunk that is stored while its writer
// is still at it is read and encoded once more when it is complete.
const (
	age     = 5 * time.Second
	longAge = time.Minute
)

// drain stores objects that are completely dirty while their writer goes on.
func (d *draft) drain() {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	s := d.storer()
	defer s.leaveHome()
	var p pipeline
	for {
		objects, last := d.takeReady(p.before == nil)
		if last {
			return
		}
		if err := s.findHome(context.Background()); err != nil {
			d.conclude(context.Background(), err)
			continue
		}
		if len(objects) == 0 {
			p.end() // meanwhile others may be complete
		}
		s.feed(context.Background(), &p, objects)
		if p.err != nil {
			d.conclude(context.Background(), p.end())
			p = pipeline{}
		}
	}
}

// takeReady returns the objects that are completely dirty. If there is nothing
// more to store in the background, and idle tells that nothing is being stored,
// that is noted, and drain must end.
func (d *draft) takeReady(idle bool) (objects []int64, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed.Err == nil && !d.removed {
		objects = d.complete.TakeReady()
	}
	if len(objects) == 0 && idle {
		d.drains = false
		d.settled.Broadcast()
		return nil, true
	}
	return objects, false
}

// hangs is how long others wait for an array to be stored.
const hangs = time.Second

// saveBeside stores an array for the sake of others. It does not wait longer than
// hangs, for the store may hang on this one array, and not at all if an earlier
// call still does.
func (d *draft) saveBeside() {
	if d.beside.Swap(true) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer d.beside.Store(false)
		d.save(context.Background(), false) // its error is in the log, and stays with the draft
		d.giveUpOrphan(context.Background())
	}()
	late := time.NewTimer(hangs)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// rests reports that a flush has failed and it is not yet time for another.
func (d *draft) rests() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed.Rests()
}

// remember adds d to those that have something to store.
func (h *Hierarchy) remember(d *draft) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unsaved[d] = struct{}{}
	if h.ager == nil && !h.closed {
		h.ager = time.AfterFunc(age/4, h.flushOld)
	}
}

// settle takes d from those that have something to store.
func (h *Hierarchy) settle(d *draft) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.unsaved, d)
}

// drafts returns those that have something to store.
func (h *Hierarchy) drafts() []*draft {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*draft, 0, len(h.unsaved))
	for d := range h.unsaved {
		all = append(all, d)
	}
	return all
}

// Unstored returns the paths of the arrays of which something that was written is not stored.
func (h *Hierarchy) Unstored() (paths []string) {
	for _, d := range h.drafts() {
		d.mu.Lock()
		paths = append(paths, d.path)
		d.mu.Unlock()
	}
	return paths
}

// flushOld stores what nobody has flushed for long, and what could not be stored
// before.
func (h *Hierarchy) flushOld() {
	for _, d := range h.drafts() {
		d.mu.Lock()
		due := !d.since.IsZero() && (time.Since(d.last) > age || time.Since(d.since) > longAge)
		d.mu.Unlock()
		if !due {
			continue
		}
		if d.rests() {
			d.giveUpOrphan(context.Background())
		} else {
			d.saveBeside()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ager = nil
	if len(h.unsaved) > 0 && !h.closed {
		h.ager = time.AfterFunc(age/4, h.flushOld)
	}
}
