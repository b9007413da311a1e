package live

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/batch"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
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
	var p batch.Pipeline
	for {
		objects, last := d.takeReady(p.IsIdle())
		if last {
			return
		}
		if err := s.findHome(context.Background()); err != nil {
			d.conclude(context.Background(), err)
			continue
		}
		if len(objects) == 0 {
			p.End() // meanwhile others may be complete
		}
		s.writer().Feed(context.Background(), &p, objects)
		if p.HasFailed() {
			d.conclude(context.Background(), p.End())
			p = batch.Pipeline{}
		}
	}
}

// hangs is how long others wait for an array to be stored.
const hangs = time.Second

// saveBeside stores an array for the sake of others. The store may hang on this one array. So it
// does not wait longer than hangs, and not at all if an earlier call still does.
func (d *draft) saveBeside() {
	if d.beside.Swap(true) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer d.beside.Store(false)
		d.save(context.Background(), false) // its error is in the log, and stays with the draft
		d.giveUpOrphan(context.Background(), unstored.OrphanAge)
	}()
	late := time.NewTimer(hangs)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}
