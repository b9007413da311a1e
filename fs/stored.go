package fs

import (
	"context"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// storedWait is how long a stat waits for the bytes that an array takes in the store. Counting them may mean to
	// list a million chunks; a stat that gives up shows the logical size, and a later one the count.
	storedWait = 100 * time.Millisecond
	// storedFor is how long a count is believed, at least.
	storedFor = 10 * time.Second
	// storedCost is how many times longer than it took to count a count is believed.
	storedCost = 100
	// storedMost is how many arrays are remembered.
	storedMost = 1 << 17
	// storedAtOnce is how many arrays are counted at a time, beyond which stats do not wait.
	storedAtOnce = 4
)

// stored is what a look at all objects of an array finds out.
type stored struct {
	bytes int64     // that they take on the store's medium
	mtime time.Time // of the newest
}

// storedCache remembers how many bytes arrays take in the store, and when they were last written.
type storedCache struct {
	mu      sync.Mutex
	entries map[string]*storedEntry // by path
	running int
}

type storedEntry struct {
	version string
	stored
	until  time.Time     // when the count is stale
	ready  chan struct{} // closed when the running count is done; nil if none runs
	failed bool
}

// get returns what the array takes, counting if need be, and whether that is known.
func (c *storedCache) get(ctx context.Context, f *filesystem, n *zarrcore.Node) (stored, bool) {
	e, ready := c.lookup(f, n, time.Now())
	if ready != nil {
		t := time.NewTimer(storedWait)
		defer t.Stop()
		select {
		case <-ready:
		case <-t.C:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.stored, e.ready == nil && !e.failed && !e.until.IsZero()
}

// peek returns what the array takes if it is known already.
func (c *storedCache) peek(n *zarrcore.Node) (stored, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[n.Path]
	if e == nil || e.ready != nil || e.failed || e.version != n.Version || time.Now().After(e.until) {
		return stored{}, false
	}
	return e.stored, true
}

// lookup returns the array's entry, and a channel to wait on if it is being counted.
func (c *storedCache) lookup(f *filesystem, n *zarrcore.Node, now time.Time) (*storedEntry, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[n.Path]
	if e != nil && e.ready != nil {
		return e, e.ready
	}
	if e != nil && e.version == n.Version && now.Before(e.until) {
		return e, nil
	}
	if c.running >= storedAtOnce {
		return &storedEntry{failed: true}, nil
	}
	if c.entries == nil || len(c.entries) >= storedMost {
		c.entries = make(map[string]*storedEntry)
	}
	e = &storedEntry{version: n.Version, ready: make(chan struct{})}
	c.entries[n.Path] = e
	c.running++
	go c.run(f, n.Path, e, e.ready)
	return e, e.ready
}

func (c *storedCache) run(f *filesystem, path string, e *storedEntry, ready chan struct{}) {
	start := time.Now()
	found, err := countStored(f, path)
	c.mu.Lock()
	defer c.mu.Unlock()
	e.stored, e.failed, e.ready = found, err != nil, nil
	e.until = time.Now().Add(max(storedFor, storedCost*time.Since(start)))
	c.running--
	close(ready)
}

func countStored(f *filesystem, path string) (s stored, err error) {
	defer f.recoverTo("stat", path, &err)
	a, err := f.h.OpenArray(f.ctx, path)
	if err != nil {
		return s, err
	}
	s.bytes, err = a.Stored(f.ctx)
	s.mtime = a.ModTime()
	return s, err
}
