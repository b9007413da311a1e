package fs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const (
	// statWait is how long a stat waits at most for the bytes that an array takes in the store.
	// listWait is how long each entry of a listing with attributes does. See also zarrcore.Looks.
	// Counting may mean to look at a million chunks: a stat that gives up shows the logical size,
	// and a later one the count.
	statWait = 100 * time.Millisecond
	listWait = 2 * time.Millisecond
	// storedFor is how long a count is believed, at least,
	// and storedCost how many times longer than it took to count.
	storedFor  = 10 * time.Second
	storedCost = 100
	// storedMost is how many arrays are remembered.
	storedMost = 1 << 17
	// storedAtOnce is how many long counts go on in the background.
	storedAtOnce = 2
	// countMost is how many objects a count looks at. If there are more, it shows what these take.
	countMost = 1 << 20
)

// stored is what a look at all objects of an array finds out.
type stored struct {
	bytes int64     // that they take on the store's medium
	mtime time.Time // of the newest
}

// storedCache remembers what arrays take in the store.
type storedCache struct {
	*pathstate.Bounded[storedEntry]
	store   *store.Store
	running atomic.Int64 // counts in the background
}

type storedEntry struct {
	stored
	version string    // of the array's metadata
	until   time.Time // when the count is stale
	running bool      // a count goes on in the background; what is here is of an earlier one, if version is set
}

func (c *storedCache) init(states *states, s *store.Store) {
	c.store = s
	c.Bounded = pathstate.NewBounded(pathstate.PartsOf(states, func(s *state) *pathstate.Bound[storedEntry] {
		return &s.stored
	}), storedMost)
}

// get returns what the array takes, counting for so long if need be, and whether that is known.
func (c *storedCache) get(ctx context.Context, f *filesystem, n *zarrcore.Node, wait time.Duration) (stored, bool) {
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
		c.countInBackground(f, n)
	}
	return stored{}, false
}

// peek returns what is known of the array, and whether it is settled that no count should be tried
// now.
func (c *storedCache) peek(n *zarrcore.Node) (s stored, known, settled bool) {
	e := c.Of(n.Path)
	if e == nil {
		return stored{}, false, false
	}
	fresh := e.version == n.Version && time.Now().Before(e.until)
	return e.stored, fresh, fresh || e.running
}

func (c *storedCache) put(n *zarrcore.Node, s stored, took time.Duration) {
	c.Edit(n.Path, func(*storedEntry) *storedEntry { return counted(n, s, took) })
}

// counted returns the entry of an array that was counted just now.
func counted(n *zarrcore.Node, s stored, took time.Duration) *storedEntry {
	return &storedEntry{stored: s, version: n.Version, until: time.Now().Add(max(storedFor, storedCost*took))}
}

// forget makes the next look at path a fresh one.
func (c *storedCache) forget(path string) {
	c.Change(path, func(e *storedEntry) *storedEntry {
		if e.running {
			return e
		}
		return nil
	})
}

// countInBackground counts to the end, unless too many such counts go on.
func (c *storedCache) countInBackground(f *filesystem, n *zarrcore.Node) {
	if c.running.Add(1) > storedAtOnce {
		c.running.Add(-1)
		return
	}
	begun := &storedEntry{running: true}
	c.Edit(n.Path, func(*storedEntry) *storedEntry { return begun })
	go func() {
		defer c.running.Add(-1)
		start := time.Now()
		s, err := c.countSafely(f, n.Path)
		c.Edit(n.Path, func(e *storedEntry) *storedEntry {
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

func (c *storedCache) countSafely(f *filesystem, path string) (s stored, err error) {
	defer f.errors.RecoverTo("stat", path, &err)
	return c.count(f.ctx, path, 0, time.Time{})
}

// errLong says that a count was given up because it takes long.
var errLong = errors.New("takes long")

// count looks at all objects below path, with so many looks, and until the deadline, if these are
// given.
func (c *storedCache) count(ctx context.Context, path string, looks int, deadline time.Time) (s stored, err error) {
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
	sum      *stored
}

// errEnough ends a count at countMost.
var errEnough = errors.New("enough objects seen")

func (w *counter) dir(ctx context.Context, dir string) error {
	var dirs []string
	err := w.store.Survey(ctx, dir, func(e store.Entry, info store.Info) error {
		if e.Dir {
			dirs = append(dirs, e.Name)
			return w.tick(zarrcore.DirLooks)
		}
		w.sum.bytes += info.Stored
		if info.ModTime.After(w.sum.mtime) {
			w.sum.mtime = info.ModTime
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
	if w.seen >= countMost {
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
