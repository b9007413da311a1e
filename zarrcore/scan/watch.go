package scan

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Watch notices when the objects of an array may have changed. An epoch is a stretch of time in
// which they are known not to have. All methods may be called concurrently.
type Watch struct {
	store *store.Store
	keys  *object.Keys
	begin func() // begins a new epoch; called while mu is held

	epoch  *atomic.Uint64 // shared by the watches of all generations that Next has made
	stores atomic.Uint64  // grows whenever this process has changed objects
	opens  atomic.Uint64  // grows whenever a program opens the array
	behind atomic.Bool    // all objects were looked at in the background

	dear  bool          // the store's listings are dear: no open takes one
	lasts time.Duration // how long an epoch lasts then

	mu    sync.Mutex
	last  *Scan     // nil until asked for
	began time.Time // when the present epoch did, where listings are dear; zero: there is none
}

// NewWatch returns the watch of an array. Where a scan finds that objects may have changed it
// calls begin, which must call NewEpoch and nothing else of the watch. Where listings are dear an
// epoch lasts as long as fresh allows.
func NewWatch(
	st *store.Store, keys *object.Keys, fresh store.Freshness, begin func(),
) *Watch {
	return &Watch{store: st, keys: keys, begin: begin, epoch: new(atomic.Uint64),
		dear: st.Traits().List != store.ListCheap, lasts: fresh.Found()}
}

// Next returns the watch of another generation of the array, in the same epoch.
func (w *Watch) Next(keys *object.Keys, begin func()) *Watch {
	next := &Watch{store: w.store, keys: keys, begin: begin, epoch: w.epoch,
		dear: w.dear, lasts: w.lasts}
	next.stores.Store(w.stores.Load() + 1)
	return next
}

// Epoch returns the number of the present epoch.
func (w *Watch) Epoch() uint64 { return w.epoch.Load() }

// NewEpoch begins an epoch, and returns its number.
func (w *Watch) NewEpoch() uint64 { return w.epoch.Add(1) }

// Stores returns a number that grows whenever this process has changed objects.
func (w *Watch) Stores() uint64 { return w.stores.Load() }

// Last returns the last scan; nil if there is none.
func (w *Watch) Last() *Scan {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Now returns the present epoch and Stores. It waits for an epoch that is about to begin.
func (w *Watch) Now() (epoch, stores uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.epoch.Load(), w.stores.Load()
}

// Forget notes that this process has changed objects. It forgets the last scan, and one that is
// under way.
func (w *Watch) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stores.Add(1)
	w.last = nil
}

// openLooks returns how many looks an open of the array takes.
func (w *Watch) openLooks() int { return looksAt(w.keys.Chunks()) }

// isLarge reports whether an open must do without the scan s of the array's
// objects, because another like it would take too long.
func (w *Watch) isLarge(s *Scan) bool {
	return s != nil && (!s.whole || s.Looks > w.openLooks())
}

// IsLarge reports whether the last open did without a scan of all objects.
func (w *Watch) IsLarge() bool { return w.isLarge(w.Last()) }

// IsDear reports whether no open looks at the objects, because the store's listings are dear.
func (w *Watch) IsDear() bool { return w.dear }

// Walk takes at most so many looks at the array's objects.
func (w *Watch) Walk(ctx context.Context, most int) (*Scan, error) {
	opens, stores := w.opens.Load(), w.stores.Load()
	s, err := Walk(ctx, w.store, w.keys, most)
	if err == nil {
		s.opens, s.Stores = opens, stores
	}
	return s, err
}

// Age is how old a scan may be where an approximate answer will do.
const Age = time.Second

// Scan returns a scan that began after the array was last opened. It is at most maxAge old, or ten
// times as old as the walk took. That there is too much to look at stays true.
func (w *Watch) Scan(ctx context.Context, maxAge time.Duration) (*Scan, error) {
	s := w.Last()
	switch {
	case s == nil:
	case !s.whole && s.IsThorough():
		return s, nil
	case s.whole && s.opens == w.opens.Load() && time.Since(s.at) < max(maxAge, 10*s.took):
		return s, nil
	}
	s, err := w.Walk(ctx, Limit)
	if err != nil {
		return nil, err
	}
	w.observe(s)
	return s, nil
}

// ScanBehind looks at all objects in the background, once, if the scan s did not.
func (w *Watch) ScanBehind(s *Scan) {
	if w.dear || s.IsThorough() || w.behind.Swap(true) {
		return
	}
	go w.Scan(context.Background(), Age) // if it fails, there is no whole scan
}

// observe keeps the scan s. Unless it found just what the one before had found, an epoch
// begins. Every scan comes through here: otherwise it would hide a change from those that
// follow. The epoch begins under the lock: a caller that finds the same objects a moment
// later must not be given the fingerprint, and so the pages, of those before. A scan of a
// large array begins no epoch, because every open of such an array does.
func (w *Watch) observe(s *Scan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.last
	if old != nil && old.at.After(s.at) {
		return // its changes are known already
	}
	w.last = s
	if s.Stores != w.stores.Load() { // objects that this process has stored since may be missing
		w.last, old = nil, nil
	}
	same := old != nil && old.whole && s.whole && old.Print == s.Print
	if !same && !w.isLarge(s) {
		w.begin()
	}
}

// Refresh notes that a program opens the array, and compares its objects with what the last scan
// saw. If they differ, or are too many to look at, an epoch begins.
func (w *Watch) Refresh(ctx context.Context) {
	w.opens.Add(1)
	if w.dear {
		w.refreshDear()
		return
	}
	if w.refreshLarge() {
		return
	}
	s, err := w.Walk(ctx, w.openLooks())
	if err == nil {
		w.observe(s)
	}
	if err == nil && !w.isLarge(s) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.last = nil // it may be outdated
	}
	w.begin()
}

// refreshLarge is Refresh for a large array; it reports whether it is one.
func (w *Watch) refreshLarge() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	large := w.isLarge(w.last)
	if large {
		w.begin()
	}
	return large
}

// refreshDear is Refresh where listings are dear: an epoch begins when the one before has lasted
// long enough.
func (w *Watch) refreshDear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.began.IsZero() || now.Sub(w.began) >= w.lasts {
		w.began = now
		w.begin()
	}
}
