package zarrcore

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	iofs "io/fs"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A scan is what one walk over an array's objects has found: how much they
// take, which parts of the array they hold, and a fingerprint by which the next
// walk sees whether anything has changed.
type scan struct {
	at      time.Time     // when it began
	took    time.Duration //
	stored  int64         // bytes on the store's medium
	modTime time.Time     // of the newest object
	print   uint64        // over names and versions, in any order
	objects []int64       // their C-order numbers, sorted
	whole   bool          // false: there were more than scanLimit
	stores  uint64        // Array.stores when it began
}

// scanAge is how old a scan may be where an approximate answer will do (stat),
// and scanLimit how many objects one looks at.
const (
	scanAge   = time.Second
	scanLimit = 200_000
)

// printSeed makes fingerprints differ between processes, which never compare
// them.
var printSeed = maphash.MakeSeed()

// scanned returns a scan that is at most maxAge old, or for a walk that takes
// long, as many times older as it would cost to do it all the time.
func (a *Array) scanned(ctx context.Context, maxAge time.Duration) (*scan, error) {
	a.mu.Lock()
	s := a.scan
	a.mu.Unlock()
	if s != nil && time.Since(s.at) < max(maxAge, 10*s.took) {
		return s, nil
	}
	s, err := a.walk(ctx)
	if err != nil {
		return nil, err
	}
	a.observe(s)
	return s, nil
}

// observe keeps the scan s, and begins a new epoch unless it found just what
// the one before had found. Every scan comes through here: one that were kept
// without it would hide a change from those that follow. The epoch begins under
// the lock: who finds the same objects a moment later must not be given the
// fingerprint, and so the pages, of those before.
func (a *Array) observe(s *scan) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.scan
	if old != nil && old.at.After(s.at) {
		return // its changes are known already
	}
	a.scan = s
	if s.stores != a.stores.Load() { // objects that this process has stored meanwhile may be missing
		a.scan, old = nil, nil
	}
	if old == nil || old.print != s.print || !s.whole {
		a.newEpoch()
	}
}

// refresh compares the array's objects with what the last scan saw. If they
// differ, or are too many to look at, a new epoch begins: cached chunks are
// checked one by one when they are next used.
func (a *Array) refresh(ctx context.Context) {
	a.mu.Lock()
	if a.scan != nil && !a.scan.whole { // there were too many
		defer a.mu.Unlock()
		a.newEpoch()
		return
	}
	a.mu.Unlock()
	s, err := a.walk(ctx)
	if err == nil {
		a.observe(s)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scan = nil // it may be outdated
	a.newEpoch()
}

// newEpoch begins a new epoch. The caller holds mu, or nobody else knows a yet.
func (a *Array) newEpoch() {
	a.recheck()
	if a.draft == nil { // its elements have no fixed size: it has no draft
		return
	}
	if t := a.draft.twin.Load(); t != nil {
		t.live.Load().recheck() // it caches the same objects
	}
}

// recheck lets cached chunks be compared with their objects before they are used.
func (a *Array) recheck() {
	a.epoch.Add(1)
	if a.bands != nil {
		a.bands.Invalidate()
	}
}

// errEnough ends a walk that has seen what it wanted, or scanLimit objects.
var errEnough = errors.New("enough objects seen")

// walk looks at the array's objects.
func (a *Array) walk(ctx context.Context) (*scan, error) {
	s := &scan{at: time.Now(), whole: true, stores: a.stores.Load()}
	w := walker{a: a, visit: s.add}
	err := w.dir(ctx, strings.TrimSuffix(a.prefix, "/"), "")
	switch {
	case err == errEnough, errors.Is(err, store.ErrCannotList):
		s.whole = false
	case errors.Is(err, iofs.ErrNotExist):
	case err != nil:
		return nil, &Error{Op: "list", Path: a.path, Err: err}
	}
	sort.Slice(s.objects, func(i, j int) bool { return s.objects[i] < s.objects[j] })
	s.took = time.Since(s.at)
	return s, nil
}

// A walker goes through the directories that hold an array's objects.
type walker struct {
	a     *Array
	visit func(n int64, info store.Info) error
}

// eachObject calls visit with the number of every object that is stored.
func (a *Array) eachObject(ctx context.Context, visit func(n int64)) error {
	w := walker{a: a, visit: func(n int64, _ store.Info) error {
		visit(n)
		return nil
	}}
	err := w.dir(ctx, strings.TrimSuffix(a.prefix, "/"), "")
	if err == nil || errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	return &Error{Op: "list", Path: a.path, Err: err}
}

// dir looks at the directory at key; rel is its key relative to the array.
func (w *walker) dir(ctx context.Context, key, rel string) error {
	var dirs []string
	err := w.a.h.store.Survey(ctx, key, func(e store.Entry, info store.Info) error {
		name := rel + e.Name
		if e.Dir {
			if w.a.meta.Keys.Leads(name, w.a.objects.Rank()) {
				dirs = append(dirs, e.Name)
			}
			return nil
		}
		if n, ok := w.a.parseKey(name); ok {
			return w.visit(n, info)
		}
		return nil
	})
	for i := 0; err == nil && i < len(dirs); i++ {
		err = w.dir(ctx, join(key, dirs[i]), rel+dirs[i]+"/")
	}
	return err
}

// add notes one object.
func (s *scan) add(n int64, info store.Info) error {
	if len(s.objects) >= scanLimit {
		return errEnough
	}
	s.objects = append(s.objects, n)
	s.stored += info.Stored
	if info.ModTime.After(s.modTime) {
		s.modTime = info.ModTime
	}
	var h maphash.Hash
	h.SetSeed(printSeed)
	h.WriteString(info.Version)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	s.print += h.Sum64()
	return nil
}

// parseKey returns the number of the object with the given key, and whether it
// is one of the array's objects at all.
func (a *Array) parseKey(key string) (int64, bool) {
	counts := a.objects.Counts()
	coords, ok := a.meta.Keys.Parse(key, len(counts))
	if a.source != nil {
		slices.Reverse(coords)
	}
	for i, c := range coords {
		ok = ok && c < counts[i]
	}
	if !ok {
		return 0, false
	}
	return a.objects.Index(coords), true
}

// mayHold reports whether the slabs of objects around bytes [off, off+n) hold
// anything stored, as far as the last scan knows. It only decides how they are
// read: where there is nothing a band, which may be gigabytes, is not worth it.
func (a *Array) mayHold(off, n int64) bool {
	a.mu.Lock()
	s := a.scan
	a.mu.Unlock()
	if s == nil || !s.whole {
		return true
	}
	first := a.objects.Slab(a.objects.SlabOf(off)).First
	end := a.objects.Slab(a.objects.SlabOf(off + n - 1)).End
	i := sort.Search(len(s.objects), func(i int) bool { return s.objects[i] >= first })
	return i < len(s.objects) && s.objects[i] < end
}

// NextData returns the first stretch [start, end) of the array at or after byte
// off that may hold stored data, to the grain of whole slabs of objects; start
// is Size if there is none. What is not in such a stretch is not stored and
// shows zero bytes. Where the fill value is not zero everything counts as data.
func (a *Array) NextData(ctx context.Context, off int64) (start, end int64, err error) {
	size := a.Size()
	if off >= size {
		return size, size, nil
	}
	if !a.draft.clean() { // what is dirty is in no scan
		return off, size, nil
	}
	s, err := a.scanned(ctx, scanAge)
	if err != nil {
		return 0, 0, err
	}
	if !s.whole || !isZero(a.meta.Fill) {
		return off, size, nil
	}
	slab := a.objects.SlabOf(off)
	i := sort.Search(len(s.objects), func(i int) bool { return s.objects[i] >= a.objects.Slab(slab).First })
	if i == len(s.objects) {
		return size, size, nil
	}
	first := a.objects.Slab(a.objects.SlabOfChunk(s.objects[i]))
	start, end = max(off, first.Off), first.Off+first.Len
	for next := first.End; i < len(s.objects); {
		for i < len(s.objects) && s.objects[i] < next {
			i++
		}
		if i == len(s.objects) || a.objects.SlabOfChunk(s.objects[i]) != a.objects.SlabOfChunk(next) {
			break
		}
		sl := a.objects.Slab(a.objects.SlabOfChunk(next))
		end, next = sl.Off+sl.Len, sl.End
	}
	return start, end, nil
}
