package keyed

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// A Tree keeps uses of paths apart from changes of them. A change moves or removes a path with all
// that lies below it, or gives the objects there another length. Other paths go on, because a store
// may hang on one array. The zero value is ready.
type Tree struct {
	// Upwards: a change also stops uses of the paths above. It is set before the tree is used.
	Upwards bool

	mu      sync.Mutex
	changed chan struct{}  // closed by the next change; nil if nobody waits for it
	using   map[string]int // by path
	stopped map[string]int // also paths whose users are still waited for
}

// Use waits until path is not stopped, nor any path above it. The use lasts until the caller calls
// end. Where ctx ends the wait, there is no use.
func (t *Tree) Use(ctx context.Context, path string) (end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.wait(ctx, func() bool {
		for stopped := range t.stopped {
			if t.meet(path, stopped) {
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	return t.count(&t.using, path), nil
}

// Wait waits until path is not stopped, nor any path above it, or ctx has ended.
func (t *Tree) Wait(ctx context.Context, path string) error {
	end, err := t.Use(ctx, path)
	if err == nil {
		end()
	}
	return err
}

// Stop lets no use of the paths begin, nor of what lies below them, until the caller calls end. It
// waits for the uses that have begun. Two calls for one path do not wait for each other.
func (t *Tree) Stop(paths ...string) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end = t.count(&t.stopped, paths...)
	t.wait(context.Background(), func() bool {
		for using := range t.using {
			if slices.ContainsFunc(paths, func(path string) bool { return t.meet(using, path) }) {
				return true
			}
		}
		return false
	})
	return end
}

// wait waits as long as something is in the way, or until ctx has ended. The caller holds mu.
func (t *Tree) wait(ctx context.Context, blocked func() bool) error {
	for blocked() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
	return nil
}

// count enters paths in a table, and returns what takes them out. The caller holds mu.
func (t *Tree) count(table *map[string]int, paths ...string) (end func()) {
	if *table == nil {
		*table = map[string]int{}
	}
	for _, path := range paths {
		(*table)[path]++
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, path := range paths {
			if (*table)[path]--; (*table)[path] == 0 {
				delete(*table, path)
			}
		}
		if t.changed != nil {
			close(t.changed)
			t.changed = nil
		}
	}
}

// meet reports whether a use and a change exclude each other.
func (t *Tree) meet(used, changed string) bool {
	return isWithin(used, changed) || t.Upwards && isWithin(changed, used)
}

// isWithin reports whether path is dir, or lies below it.
func isWithin(path, dir string) bool {
	return path == dir || dir == "" || strings.HasPrefix(path, dir+"/")
}
