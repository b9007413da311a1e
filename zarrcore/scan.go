package zarrcore

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	iofs "io/fs"
	"sort"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A scan is what one walk over an array's objects has found: how much they
// take, which parts of the array they hold, and a fingerprint by which the next
// walk sees whether anything has changed.
type scan struct {
	at      time.Time     // when it began
	took    time.Duration //
	bytes   int64         // that its objects have
	modTime time.Time     // of the newest object
	print   uint64        // over names and versions, in any order
	objects []int64       // their C-order numbers, sorted
	looks   int           // that it took
	most    int           // looks that it might take
	whole   bool          // false: there was more to look at
	opens   uint64        // Array.opens when it began
	stores  uint64        // Array.stores when it began
}

// scanAge is how old a scan may be where an approximate answer will do, and
// scanLimit how many looks a scan takes that no open waits for.
const (
	scanAge   = time.Second
	scanLimit = 200_000
)

// How many looks at objects an open, or a stat, waits for. A look takes 1 to
// 4 µs. Where the grid has more objects than fewObjects, most may be missing all
// the same: a few looks show whether they are.
const (
	fewObjects = 4096
	fewLooks   = fewObjects * 3 / 2
	firstLooks = 512
)

// DirLooks is how many looks it takes to go through another directory.
const DirLooks = object.DirLooks

// Looks returns how many looks at the objects of an array an open, or a stat,
// may wait for: one for each object, and DirLooks for each directory.
func Looks(m *meta.Array) int {
	if m == nil {
		return firstLooks
	}
	if grid, err := m.Grid(); err != nil || grid.Chunks() > fewObjects {
		return firstLooks
	}
	return fewLooks
}

// openLooks returns how many looks an open of the array takes.
func (a *Array) openLooks() int {
	if a.objects.Chunks() > fewObjects {
		return firstLooks
	}
	return fewLooks
}

// isLarge reports whether an open must do without the scan s of the array's
// objects, because another like it would take too long.
func (a *Array) isLarge(s *scan) bool {
	return s != nil && (!s.whole || s.looks > a.openLooks())
}

// large reports whether the last open did without a scan of all objects.
func (a *Array) large() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isLarge(a.scan)
}

// printSeed makes fingerprints differ between processes, which never compare
// them.
var printSeed = maphash.MakeSeed()

// scanned returns a scan that began after the array was last opened. It is at
// most maxAge old, or for a walk that takes long, as many times older as it would
// cost to do it all the time. That there is too much to look at stays true.
func (a *Array) scanned(ctx context.Context, maxAge time.Duration) (*scan, error) {
	a.mu.Lock()
	s := a.scan
	a.mu.Unlock()
	switch {
	case s == nil:
	case !s.whole && s.most >= scanLimit:
		return s, nil
	case s.whole && s.opens == a.opens.Load() && time.Since(s.at) < max(maxAge, 10*s.took):
		return s, nil
	}
	s, err := a.walk(ctx, scanLimit)
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
// fingerprint, and so the pages, of those before. A scan of a large array begins
// no epoch, because every open of such an array does.
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
	same := old != nil && old.whole && s.whole && old.print == s.print
	if !same && !a.isLarge(s) {
		a.newEpoch()
	}
}

// refresh compares the array's objects with what the last scan saw. If they
// differ, or are too many to look at, a new epoch begins: cached chunks are
// checked one by one when they are next used.
func (a *Array) refresh(ctx context.Context) {
	a.opens.Add(1)
	a.mu.Lock()
	if a.isLarge(a.scan) {
		defer a.mu.Unlock()
		a.newEpoch()
		return
	}
	a.mu.Unlock()
	s, err := a.walk(ctx, a.openLooks())
	if err == nil {
		a.observe(s)
	}
	if err == nil && !a.isLarge(s) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.scan = nil // it may be outdated
	}
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

// errEnough ends a walk that has seen what it wanted, or as much as it might.
var errEnough = errors.New("enough objects seen")

// walk takes at most so many looks at the array's objects.
func (a *Array) walk(ctx context.Context, most int) (*scan, error) {
	s := &scan{at: time.Now(), whole: true, most: most, opens: a.opens.Load(), stores: a.stores.Load()}
	err := a.objects.Walk(ctx, a.h.store, s.add, s.look)
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

// eachObject calls visit with the number of every object that is stored.
func (a *Array) eachObject(ctx context.Context, visit func(n int64)) error {
	return a.eachObjectIn(ctx, a.h.store, visit)
}

// eachObjectIn is eachObject in a directory that is held open.
func (a *Array) eachObjectIn(ctx context.Context, st *store.Store, visit func(n int64)) error {
	err := a.objects.Walk(ctx, st, func(n int64, _ store.Info) error {
		visit(n)
		return nil
	}, nil)
	if err == nil || errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	return &Error{Op: "list", Path: a.path, Err: err}
}

// look counts looks.
func (s *scan) look(n int) error {
	if s.looks += n; s.looks > s.most {
		return errEnough
	}
	return nil
}

// add notes one object.
func (s *scan) add(n int64, info store.Info) error {
	s.objects = append(s.objects, n)
	s.bytes += info.Size
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

// mayHold reports whether the slabs of objects around bytes [off, off+n) hold
// anything stored, as far as the last scan knows. It only decides how they are
// read: where there is nothing a band, which may be gigabytes, is not worth it.
func (a *Array) mayHold(off, n int64) bool {
	a.mu.Lock()
	s := a.scan
	a.mu.Unlock()
	if s == nil || !s.whole {
		a.scanBehind(s)
		return true
	}
	first := a.objects.Slab(a.objects.SlabOf(off)).First
	end := a.objects.Slab(a.objects.SlabOf(off + n - 1)).End
	i := sort.Search(len(s.objects), func(i int) bool { return s.objects[i] >= first })
	return i < len(s.objects) && s.objects[i] < end
}

// largeBand is the size of a band, in bytes, that takes longer to fill than all
// objects to look at.
const largeBand = 64 << 20

// scanBehind looks at all objects in the background, once, if s did not. That
// is worth it where bands are large: mayHold then knows where none is needed.
func (a *Array) scanBehind(s *scan) {
	known := s != nil && s.most >= scanLimit
	if known || a.bands.BandBytes() < largeBand || a.behind.Swap(true) {
		return
	}
	go a.scanned(context.Background(), scanAge) // if it fails, all bands are filled
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
	if !s.whole || !a.fill.IsZero() {
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
