package stat

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
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
	// allCost is how many times longer than it takes to count all arrays that are remembered, but
	// at most allFor. A listing of very many arrays may take longer than takenFor, and the next one
	// would count them all again. There the count is not all that takes time: each array takes
	// leastCount at least.
	allCost    = 10
	allFor     = time.Minute
	leastCount = 100 * time.Microsecond
	// mostCounts is how many arrays are remembered.
	mostCounts = 1 << 17
	// countsAtOnce is how many long counts go on in the background.
	countsAtOnce = 2
	// countAfter is how long such a count waits before it begins. The program that has asked for
	// the array's size mostly opens it next, and reads: that comes first. Python and NumPy take a
	// quarter of a second to start.
	countAfter = 500 * time.Millisecond
	// mostObjects is how many objects a count looks at. If there are more, it shows what these
	// take.
	mostObjects = 1 << 20
	// mostDirs is how many directories of objects a stat sees. One takes 1 µs.
	mostDirs = 4096
)

// Taken is what an array takes in the store.
type Taken struct {
	Bytes int64 // of its objects, on the store's medium
	// of the newest of them, or of their directories: from the newest one may be gone
	ModTime time.Time
}

// TakenPart is what was found out about that.
type TakenPart struct {
	Taken
	version string        // of the array's metadata
	at      time.Time     // when it was counted
	took    time.Duration // to count
	behind  *behind       // the last count in the background; nil: none
	times   times
}

// behind is a count in the background.
type behind struct{ ended atomic.Bool }

// isRunning reports whether a count goes on in the background.
func (e *TakenPart) isRunning() bool { return e.behind != nil && !e.behind.ended.Load() }

// Taken returns what an array takes, counting for so long if need be, and whether that is known. If
// it is not, the time is that of what was seen.
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
	return Taken{ModTime: s.ModTime}, false
}

// peek returns what is known of the array, and whether it is settled that no count should be tried
// now.
func (c *Cache) peek(n *zarrcore.Node) (s Taken, known, settled bool) {
	e := c.taken.Shared(n.Path)
	if e == nil {
		return Taken{}, false, false
	}
	fresh := e.version == n.Version && time.Since(e.at) < c.believed(e.took)
	return e.Taken, fresh, fresh || e.isRunning()
}

// put remembers what an array takes.
func (c *Cache) put(n *zarrcore.Node, s Taken, took time.Duration) {
	c.taken.Edit(n.Path, func(e *TakenPart) *TakenPart { return e.counted(n, s, took) })
}

// believed returns how long a count is believed, by how long it took. It grows with the number of
// arrays that were counted since: the first of a long listing are looked at last by the next one.
func (c *Cache) believed(took time.Duration) time.Duration {
	all := allCost * max(took, leastCount) * time.Duration(c.taken.Len())
	return max(takenFor, takenCost*took, min(all, allFor))
}

// counted returns a copy of e with the count s of the array n, made just now. e may be nil. took is
// the time that the count took.
func (e *TakenPart) counted(n *zarrcore.Node, s Taken, took time.Duration) *TakenPart {
	now := e.clone()
	now.Taken, now.version, now.at, now.took = s, n.Version, time.Now(), took
	return now
}

func (e *TakenPart) clone() *TakenPart {
	if e == nil {
		return new(TakenPart)
	}
	now := *e
	return &now
}

// forgetTaken makes the next look at what the array at path takes a fresh one.
func (c *Cache) forgetTaken(path string) {
	c.taken.Change(path, func(e *TakenPart) *TakenPart {
		if e.isRunning() {
			return e
		}
		return &TakenPart{times: e.times}
	})
}

// countInBackground counts to the end, unless too many such counts go on.
func (c *Cache) countInBackground(n *zarrcore.Node) {
	if c.running.Add(1) > countsAtOnce {
		c.running.Add(-1)
		return
	}
	begun := new(behind)
	c.taken.Edit(n.Path, func(e *TakenPart) *TakenPart {
		return &TakenPart{behind: begun, times: e.clone().times}
	})
	go func() {
		defer c.running.Add(-1)
		select {
		case <-time.After(countAfter):
		case <-c.ctx.Done():
		}
		start := time.Now()
		s, err := c.countSafely(n.Path)
		begun.ended.Store(true)
		took := time.Since(start)
		c.taken.Change(n.Path, func(e *TakenPart) *TakenPart {
			// the array was renamed, removed or counted meanwhile
			if e.behind != begun || err != nil {
				return e
			}
			return e.counted(n, s, took)
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
// given. It also returns what it saw until it failed.
func (c *Cache) count(
	ctx context.Context, path string, looks int, deadline time.Time,
) (s Taken, err error) {
	w := counter{store: c.store, path: path, looks: looks, deadline: deadline, sum: &s}
	if err = w.dir(ctx, path); errors.Is(err, errEnough) {
		err = nil
	}
	return s, err
}

// counter is a walk over an array's objects.
type counter struct {
	store    *store.Store
	path     string    // of the array
	looks    int       // that it may take; 0: any number
	deadline time.Time // zero: none
	looked   int
	dirs     int // seen in listings
	seen     int // objects and directories
	sum      *Taken
}

// errEnough ends a count at mostObjects.
var errEnough = errors.New("enough objects seen")

func (w *counter) dir(ctx context.Context, dir string) error {
	var dirs []string
	err := w.store.Survey(ctx, dir, func(e store.Entry, info store.Info) error {
		if dir != w.path || !meta.IsDocument(e.Name) {
			w.sum.ModTime = later(w.sum.ModTime, info.ModTime)
		}
		if e.Dir {
			dirs = append(dirs, e.Name)
			return w.tickDir()
		}
		w.sum.Bytes += info.Stored
		return w.tick(1)
	})
	if err == nil && !w.affords(len(dirs)) {
		err = errLong
	}
	for _, name := range dirs {
		if err == nil {
			err = w.tick(zarrcore.DirLooks)
		}
		if err != nil {
			break
		}
		err = w.dir(ctx, names.Join(dir, name))
	}
	return err
}

// tickDir counts a directory that is seen in a listing. Its time is that of the last object that
// was put there or deleted, so that a walk sees more directories than objects.
func (w *counter) tickDir() error {
	if w.dirs++; w.looks > 0 && w.dirs > mostDirs {
		return errLong
	}
	return w.tick(0)
}

// affords reports whether the walk may go through so many directories. If it may not, it goes
// through none of them: it would not count to the end, and the times of these directories, which
// say when an object came or went, are known already.
func (w *counter) affords(dirs int) bool {
	return w.looks == 0 || w.looked+dirs*zarrcore.DirLooks <= w.looks
}

// tick counts an object, or the walk through a directory, that costs so many looks. It ends a walk
// that has gone on for too long.
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
