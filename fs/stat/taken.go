package stat

import (
	"context"
	"errors"
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const (
	// Wait is how long a stat waits at most for the bytes that an array takes in the store. See
	// also zarrcore.Looks. Counting may mean to look at a million chunks: a stat that gives up
	// shows the logical size, and a later one the count.
	Wait = 100 * time.Millisecond
	// ListWait is how long each entry of a listing with attributes waits.
	ListWait = 2 * time.Millisecond
	// takenFor is how long a count is believed, at least,
	// and takenCost how many times longer than it took to count.
	takenFor  = 10 * time.Second
	takenCost = 100
	// mostCounts is how many arrays are remembered.
	mostCounts = 1 << 17
	// countsAtOnce is how many long counts go on in the background.
	countsAtOnce = 2
	// mostObjects is how many objects a count looks at. If there are more, it shows what these
	// take.
	mostObjects = 1 << 20
)

// Taken is what an array takes in the store.
type Taken struct {
	Bytes   int64     // of its objects, on the store's medium
	ModTime time.Time // of the newest of them
}

// TakenPart is what was found out about that.
type TakenPart struct {
	Taken
	version string    // of the array's metadata
	until   time.Time // when the count is stale
	running bool      // a count goes on in the background; what is here is of an earlier one, if version is set
}

// Taken returns what an array takes, counting for so long if need be, and whether that is known.
func (c *Cache) Taken(ctx context.Context, n *zarrcore.Node, wait time.Duration) (Taken, bool) {
	if s, known, settled := c.peek(n); settled || c.store == nil {
		return s, known
	}
	start := time.Now()
	s, err := c.count(ctx, n.Path, zarrcore.Looks(n.Meta), start.Add(wait))
	if err == nil {
		c.put(n, s, time.Since(start))
		return s, true
	}
	if errors.Is(err, errLong) {
		c.countInBackground(n)
	}
	return Taken{}, false
}

// peek returns what is known of the array, and whether it is settled that no count should be tried
// now.
func (c *Cache) peek(n *zarrcore.Node) (s Taken, known, settled bool) {
	e := c.taken.Of(n.Path)
	if e == nil {
		return Taken{}, false, false
	}
	fresh := e.version == n.Version && time.Now().Before(e.until)
	return e.Taken, fresh, fresh || e.running
}

// put remembers what an array takes.
func (c *Cache) put(n *zarrcore.Node, s Taken, took time.Duration) {
	c.taken.Edit(n.Path, func(*TakenPart) *TakenPart { return counted(n, s, took) })
}

// counted returns the entry of an array that was counted just now.
func counted(n *zarrcore.Node, s Taken, took time.Duration) *TakenPart {
	return &TakenPart{Taken: s, version: n.Version, until: time.Now().Add(max(takenFor, takenCost*took))}
}

// forgetTaken makes the next look at what the array at path takes a fresh one.
func (c *Cache) forgetTaken(path string) {
	c.taken.Change(path, func(e *TakenPart) *TakenPart {
		if e.running {
			return e
		}
		return nil
	})
}

// countInBackground counts to the end, unless too many such counts go on.
func (c *Cache) countInBackground(n *zarrcore.Node) {
	if c.running.Add(1) > countsAtOnce {
		c.running.Add(-1)
		return
	}
	begun := &TakenPart{running: true}
	c.taken.Edit(n.Path, func(*TakenPart) *TakenPart { return begun })
	go func() {
		defer c.running.Add(-1)
		start := time.Now()
		s, err := c.countSafely(n.Path)
		c.taken.Edit(n.Path, func(e *TakenPart) *TakenPart {
			switch {
			case e != begun: // the array was renamed, removed or counted meanwhile
				return e
			case err != nil:
				return nil
			}
			return counted(n, s, time.Since(start))
		})
	}()
}

func (c *Cache) countSafely(path string) (s Taken, err error) {
	defer c.log.RecoverTo("stat", path, &err)
	return c.count(c.ctx, path, 0, time.Time{})
}

// errLong says that a count was given up because it takes long.
var errLong = errors.New("takes long")

// count looks at all objects below path, with so many looks, and until the deadline, if these are
// given.
func (c *Cache) count(ctx context.Context, path string, looks int, deadline time.Time) (s Taken, err error) {
	w := counter{store: c.store, looks: looks, deadline: deadline, sum: &s}
	if err = w.dir(ctx, path); errors.Is(err, errEnough) {
		err = nil
	}
	return s, err
}

// counter is a walk over an array's objects.
type counter struct {
	store    *store.Store
	looks    int       // that it may take; 0: any number
	deadline time.Time // zero: none
	looked   int
	seen     int
	sum      *Taken
}

// errEnough ends a count at mostObjects.
var errEnough = errors.New("enough objects seen")

func (w *counter) dir(ctx context.Context, dir string) error {
	var dirs []string
	err := w.store.Survey(ctx, dir, func(e store.Entry, info store.Info) error {
		if e.Dir {
			dirs = append(dirs, e.Name)
			return w.tick(zarrcore.DirLooks)
		}
		w.sum.Bytes += info.Stored
		if info.ModTime.After(w.sum.ModTime) {
			w.sum.ModTime = info.ModTime
		}
		return w.tick(1)
	})
	for _, name := range dirs {
		if err != nil {
			break
		}
		err = w.dir(ctx, names.Join(dir, name))
	}
	return err
}

// tick counts an object, or a directory, that costs so many looks. It ends a walk that has gone on
// for too long.
func (w *counter) tick(looks int) error {
	w.seen++
	if w.seen >= mostObjects {
		return errEnough
	}
	if w.looked += looks; w.looks > 0 && w.looked > w.looks {
		return errLong
	}
	if w.seen%32 == 0 && !w.deadline.IsZero() && time.Now().After(w.deadline) {
		return errLong
	}
	return nil
}
