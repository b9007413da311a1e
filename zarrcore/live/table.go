package live

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A table has the current generation of each array that is open. Its lock is held over nothing that
// waits. All methods may be called concurrently.
type table struct {
	mu      sync.Mutex        // also guards Array.version, and that handles follow an heir
	arrays  map[string]*Array // by path
	renames uint64            // done by this process: what was found before one may be elsewhere
	leaving *departure        // the rename that this process is just doing; nil: none

	lastID atomic.Uint64 // given to a generation of an array
}

// nextID returns a number that no generation of an array has.
func (t *table) nextID() uint64 { return t.lastID.Add(1) }

// look returns the array at path, nil if it is not open, and the number of renames that adopt asks
// for.
func (t *table) look(path string) (a *Array, renames uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.arrays[path], t.renames
}

// at returns the array at path if it is open, otherwise nil.
func (t *table) at(path string) *Array {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.arrays[path]
}

// below returns the open arrays at path and below it.
func (t *table) below(path string) []*Array {
	t.mu.Lock()
	defer t.mu.Unlock()
	var open []*Array
	for p, a := range t.arrays {
		if _, isBelow := store.Moved(p, path, path); isBelow {
			open = append(open, a)
		}
	}
	return open
}

// in returns the open arrays that were found in a directory of that identity; none if it is "".
func (t *table) in(where string) (found []*Array) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inside(where)
}

// inside is in for a caller that holds mu.
func (t *table) inside(where string) (found []*Array) {
	if where == "" {
		return nil
	}
	for _, a := range t.arrays {
		if a.lineage.where == where {
			found = append(found, a)
		}
	}
	return found
}

// isElsewhere reports whether the array in the directory of a is open under another name. The
// caller holds mu.
func (t *table) isElsewhere(a *Array) bool {
	return slices.ContainsFunc(t.inside(a.lineage.where), func(b *Array) bool {
		return b.gen.Path != a.gen.Path
	})
}

// current returns the array at path if it is open in the given version.
func (t *table) current(path, version string) *Array {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.arrays[path]; a != nil && a.version == version {
		return a
	}
	return nil
}

// take removes an array from those that are open, and returns it.
func (t *table) take(path string) *Array {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.arrays[path]
	delete(t.arrays, path)
	if a != nil {
		a.retire()
	}
	return a
}

// leave removes the array of a lineage, if that is the one at its path.
func (t *table) leave(l *lineage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.arrays[l.path]; a != nil && a.lineage == l {
		delete(t.arrays, l.path)
		a.retire()
	}
}

// takeAll removes all arrays.
func (t *table) takeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.arrays {
		a.retire()
	}
	clear(t.arrays)
}

// len returns how many arrays are open.
func (t *table) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.arrays)
}

// A departure is a rename that is being done in the store. Where it replaces an array, each path
// has what belongs at the other one for a while.
type departure struct {
	renaming
	over chan struct{} // closed when it is done
}

// concerns reports whether what is found at path may belong elsewhere.
func (d *departure) concerns(path string) bool {
	if d == nil {
		return false
	}
	_, leaves := store.Moved(path, d.from, d.from)
	_, comes := store.Moved(path, d.to, d.to)
	return leaves || comes
}

// depart lets nobody use what is found at from and to, or below, until the caller calls arrived.
// What was found there before is to be looked for again.
func (t *table) depart(from, to string) (arrived func()) {
	d := &departure{renaming{from, to}, make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaving = d
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.renames++
		t.leaving = nil
		close(d.over)
	}
}

// await waits while what is at path is being renamed.
func (t *table) await(ctx context.Context, path string) error {
	t.mu.Lock()
	d := t.leaving
	t.mu.Unlock()
	if !d.concerns(path) {
		return nil
	}
	select {
	case <-d.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isThere reports whether nothing was renamed since look returned that number of renames, so that
// what was found at path since belongs there.
func (t *table) isThere(path string, renames uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.isStill(path, renames)
}

// isStill is isThere for a caller that holds mu.
func (t *table) isStill(path string, renames uint64) bool {
	return t.renames == renames && !t.leaving.concerns(path)
}

// adopt makes a the current generation at its path, after one of the lineage of
// before, and returns the one that is. If there is another by now, or if o does
// not hold any more, it returns nil.
func (t *table) adopt(a, before *Array, o opening) *Array {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isStill(a.gen.Path, o.renames) || o.gathered && t.isElsewhere(a) {
		return nil
	}
	old := t.arrays[a.gen.Path]
	if old != nil && old.version == a.version {
		return old
	}
	if old != nil && (before == nil || old.lineage != before.lineage) {
		return nil
	}
	if old != nil {
		if old.carries(a) {
			old.found(a.version, a.gen.Stored()) // only what does not concern the data has changed
			old.draft.ahead.IsDoubtful.Store(true)
			return old
		}
		old.lineage.noteLater(a)
		old.retire()
	}
	if len(t.arrays) >= maxArrays {
		t.forget()
	}
	t.arrays[a.gen.Path] = a
	return a
}

// replace puts b, which this process has made of old, in its place. The caller holds the mu of
// their draft.
func (t *table) replace(old, b *Array) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b.draft.live.Store(b)
	b.version = old.version
	if path := b.draft.path; t.arrays[path] == old {
		t.arrays[path] = b
	}
}

// maxArrays is how many arrays are kept open for programs that may come back to them.
const maxArrays = 1024

// forget retires the half of the arrays without readers that was opened least
// recently. The caller holds mu.
func (t *table) forget() {
	var idle []*Array
	for _, a := range t.arrays {
		if !a.lineage.isInUse() && a.lineage.isClean() {
			idle = append(idle, a)
		}
	}
	slices.SortFunc(idle, func(a, b *Array) int {
		return cmp.Compare(a.lineage.opened.Load(), b.lineage.opened.Load())
	})
	for _, a := range idle[:len(idle)/2] {
		a.retire()
		delete(t.arrays, a.gen.Path)
	}
}

// version returns the version of the documents of a draft's array, as this process has stored or
// found them.
func (t *table) version(d *draft) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return d.live.Load().version
}

// found notes the documents of a draft's array, as this process has stored or found them.
func (t *table) found(d *draft, n *catalog.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.live.Load().found(n.Version, n.Meta)
}

// found notes the version of the array's documents, and what they say that does not concern the
// data. The caller holds table.mu, so that both are of one version.
func (a *Array) found(version string, m *meta.Array) {
	a.version = version
	if now := a.Meta(); !now.IsDescribedBy(m) {
		a.lineage.described.Store(m)
	}
}

// setHeir makes heir what counts in place of l, in one order. A handle of the array is one of heir
// from then on, and follows it where it goes.
func (t *table) setHeir(l, heir *lineage, of order) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.heirs[of].Store(heir)
	heir.readers[of].Add(l.readers[of].Swap(0))
}

// opens counts readers of an order that begin, or end, following heirs.
func (t *table) opens(l *lineage, of order, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.newest(of).readers[of].Add(n)
}
