package live

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// A saver stores arrays that no program flushes: because it was long ago that something was written
// to them, or because memory and scratch are full.
type saver struct{ *keeper }

// age is how long a change waits for somebody to flush it once no other follows,
// and longAge how long it waits in all: a chunk that is stored while its writer
// is still at it is read and encoded once more when it is complete.
const (
	age     = 5 * time.Second
	longAge = time.Minute
)

// flushOld stores what nobody has flushed for long, and what could not be stored
// before.
func (s saver) flushOld() {
	for _, d := range s.unsaved.all() {
		switch {
		case !d.isOld():
		case d.rests():
			s.giveUpOrphan(context.Background(), d, unstored.OrphanAge)
		default:
			s.saveBeside(d)
		}
	}
	s.unsaved.again()
}

// hangs is how long others wait for an array to be stored.
const hangs = time.Second

// saveBeside stores an array for the sake of others. The store may hang on this one array. So it
// does not wait longer than hangs, and not at all if an earlier call still does.
func (s saver) saveBeside(d *draft) {
	if d.beside.Swap(true) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer d.beside.Store(false)
		d.save(context.Background(), false) // its error is in the log, and stays with the draft
		s.giveUpOrphan(context.Background(), d, unstored.OrphanAge)
	}()
	late := time.NewTimer(hangs)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// relieve stores something, for memory and scratch are full: what d has first.
func (s saver) relieve(d *draft) {
	if s.of.Dirty.Over() > 0 && !d.rests() {
		d.save(context.Background(), false) // its error stays with the draft
	}
	for _, other := range s.unsaved.all() {
		if s.of.Dirty.Over() == 0 {
			return
		}
		if other != d && !other.rests() {
			s.saveBeside(other)
		}
	}
}
