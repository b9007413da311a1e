package live

import (
	"context"
	"maps"
	"slices"
	"sync"
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

// Unstored returns the paths of the arrays of which something that was written is not stored.
func (h *Arrays) Unstored() (paths []string) {
	for _, d := range h.unsaved.all() {
		d.mu.Lock()
		paths = append(paths, d.path)
		d.mu.Unlock()
	}
	return paths
}

// flushOld stores what nobody has flushed for long, and what could not be stored
// before.
func (h *Arrays) flushOld() {
	for _, d := range h.unsaved.all() {
		d.mu.Lock()
		due := !d.since.IsZero() && (time.Since(d.last) > age || time.Since(d.since) > longAge)
		d.mu.Unlock()
		if !due {
			continue
		}
		if d.rests() {
			d.giveUpOrphan(context.Background(), unstored.OrphanAge)
		} else {
			d.saveBeside()
		}
	}
	h.unsaved.again()
}

// unsaved are the drafts with something to store. Its lock is held over nothing that waits. All
// methods may be called concurrently.
type unsaved struct {
	flushOld func() // is called while there are any, until close

	mu     sync.Mutex
	drafts map[*draft]struct{}
	ager   *time.Timer // of flushOld; nil while there are none
	closed bool
	kept   []string // files with what was given up
}

// add adds d.
func (u *unsaved) add(d *draft) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drafts[d] = struct{}{}
	if u.ager == nil && !u.closed {
		u.ager = time.AfterFunc(age/4, u.flushOld)
	}
}

// remove removes d.
func (u *unsaved) remove(d *draft) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.drafts, d)
}

// all returns all of them.
func (u *unsaved) all() []*draft {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.drafts))
}

// again lets flushOld be called once more, if there are any.
func (u *unsaved) again() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ager = nil
	if len(u.drafts) > 0 && !u.closed {
		u.ager = time.AfterFunc(age/4, u.flushOld)
	}
}

// keep notes that something was given up, and is kept in a file.
func (u *unsaved) keep(file string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = append(u.kept, file)
}

// files returns the files with what was given up.
func (u *unsaved) files() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.kept)
}

// close ends the calls of flushOld.
func (u *unsaved) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	if u.ager != nil {
		u.ager.Stop()
	}
}
