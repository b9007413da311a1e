// Package ahead fetches objects of a remote store before they are opened, as many at once as keep
// the link busy.
//
// It is a store.Driver over another one. A caller that knows what it will open gives hints. Their
// objects are fetched with the bytes that are wanted, and wait in memory for OpenFor with the same
// key and the same store.Want. Hints of neighbouring stretches of one object become one request.
//
// # Memory
//
// What is under way and what waits takes twice as many bytes as the link carries in a round trip,
// as measured. It takes at least leastAhead and at most Options.Budget. A hint beyond is refused.
//
// # Locks
//
// Driver.mu is innermost. It is not held while a request is under way.
package ahead

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const (
	// leastAhead is how many bytes may always be fetched ahead.
	leastAhead = 16 << 20
	// mostFlying is how many requests are under way at most.
	mostFlying = 128
	// waitsFor is how long what was fetched waits to be opened.
	waitsFor = 5 * time.Second
	// firstGuess is how many bytes an object is taken to have before any was seen.
	firstGuess = 256 << 10
)

// Memory counts what is taken.
type Memory interface {
	Reserve(n int64)
	Unreserve(n int64)
}

// Options bound what is fetched.
type Options struct {
	Budget int64  // bytes under way and waiting, at most
	Memory Memory // that they are taken of; may be nil
}

// Driver is a store that fetches ahead. It is safe for concurrent use. It does not write.
type Driver struct {
	store.Driver
	o    Options
	ctx  context.Context // of all requests
	stop context.CancelFunc

	mu      sync.Mutex
	waiting map[store.Hint]*waiter // by hint, without its Opens
	used    int64                  // bytes under way and waiting, and of open objects
	flying  int                    // requests under way
	usual   int64                  // bytes of an object that was fetched whole, on average
	link    link
	sweeper *time.Timer // while anything waits
}

// A waiter is a hint whose object was not opened as often yet as it will be.
type waiter struct {
	*fetch
	opens int // that are still to come
}

// A fetch is one request and what came of it.
type fetch struct {
	hint store.Hint // all that is asked for
	cost int64
	uses int // waiters, and open objects

	done   chan struct{} // closed when the fields below are set
	object store.Object
	err    error
	ended  time.Time
}

// New returns d with fetching ahead. Stop ends it.
func New(d store.Driver, o Options) *Driver {
	a := &Driver{Driver: d, o: o, waiting: map[store.Hint]*waiter{}, usual: firstGuess}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// Stop ends all requests under way, and forgets what waits.
func (d *Driver) Stop() {
	d.stop()
	d.ForgetAhead("")
}

// Prefetch begins to fetch what hints name; see store.Prefetcher.
func (d *Driver) Prefetch(hints []store.Hint) (taken int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return 0
	}
	d.dropOld()
	fresh, taken := d.fitting(hints)
	for _, together := range joined(fresh) {
		d.begin(together)
	}
	return taken
}

// fitting returns how many of hints there is room for, and those of them that nothing is known of
// yet. One is taken in any case where nothing else is under way. The caller holds mu.
func (d *Driver) fitting(hints []store.Hint) (fresh []store.Hint, taken int) {
	room, lines := d.room(), mostFlying-d.flying
	isNew := map[store.Hint]bool{}
	for ; taken < len(hints); taken++ {
		h := hints[taken]
		if key := keyOf(h); d.waiting[key] != nil || isNew[key] {
			continue
		}
		if room -= d.cost(h.Want); d.used+int64(len(fresh)) > 0 && (room < 0 || lines <= 0) {
			break
		}
		if h.Want.Version == "" || len(fresh)%8 == 0 { // others will mostly be joined
			lines--
		}
		isNew[keyOf(h)] = true
		fresh = append(fresh, h)
	}
	return fresh, taken
}

// keyOf is the hint that an opening is compared with.
func keyOf(h store.Hint) store.Hint { return store.Hint{Key: h.Key, Want: h.Want} }

// room is how many bytes more may be fetched. The caller holds mu.
func (d *Driver) room() int64 {
	return min(max(leastAhead, 2*d.link.product()), max(d.o.Budget, 1)) - d.used
}

// cost is about how many bytes a request brings. The caller holds mu.
func (d *Driver) cost(w store.Want) int64 {
	if w.N == store.All {
		return d.usual
	}
	return w.N
}

// begin sends the request for some hints of one object. The caller holds mu.
func (d *Driver) begin(hints []store.Hint) {
	f := &fetch{hint: hull(hints), done: make(chan struct{}), uses: len(hints)}
	for _, h := range hints {
		d.waiting[keyOf(h)] = &waiter{f, max(1, h.Opens)}
	}
	d.take(f, d.cost(f.hint.Want))
	d.flying++
	if d.link.idle(d.flying, time.Now()); d.sweeper == nil {
		d.sweeper = time.AfterFunc(waitsFor, d.sweep)
	}
	go d.run(f)
}

// take counts memory for a fetch. The caller holds mu.
func (d *Driver) take(f *fetch, n int64) {
	f.cost += n
	d.used += n
	switch {
	case d.o.Memory == nil:
	case n > 0:
		d.o.Memory.Reserve(n)
	case n < 0:
		d.o.Memory.Unreserve(-n)
	}
}

// run waits for the answer to a request.
func (d *Driver) run(f *fetch) {
	began := time.Now()
	o, err := store.OpenFor(d.ctx, d.Driver, f.hint.Key, f.hint.Want)
	if err == nil && f.hint.Want.N == store.All {
		o, err = d.whole(f, o)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flying--
	f.object, f.err, f.ended = o, err, time.Now()
	n := int64(0)
	if err == nil {
		lo, hi := f.hint.Want.Range(o.Size())
		n = hi - lo
		if f.hint.Want.N == store.All {
			d.usual += (n - d.usual) / 4
		}
	}
	d.take(f, n-f.cost)
	d.link.note(began, f.ended, n)
	close(f.done)
	if f.uses == 0 {
		d.end(f)
	}
}

// largeObject is how many bytes a driver brings with an object at least, if so many are wanted.
const largeObject = 8 << 20

// whole returns an object of which all was wanted with all its bytes in memory, unless it is larger
// than the budget: drivers bring only so much with an object.
func (d *Driver) whole(f *fetch, o store.Object) (store.Object, error) {
	size := o.Size()
	if size <= largeObject || size > d.o.Budget {
		return o, nil
	}
	d.mu.Lock()
	d.take(f, size-f.cost)
	d.mu.Unlock()
	data := make([]byte, size)
	if err := store.ReadRanges(d.ctx, o, []store.Span{{P: data}}); err != nil {
		o.Close()
		return nil, err
	}
	return &inMemory{Object: o, data: bytes.NewReader(data)}, nil
}

// release ends one use of a fetch. The caller holds mu.
func (d *Driver) release(f *fetch) {
	if f.uses--; f.uses > 0 {
		return
	}
	select {
	case <-f.done:
		d.end(f)
	default: // run does it
	}
}

// end gives back what a fetch has brought. The caller holds mu.
func (d *Driver) end(f *fetch) {
	d.take(f, -f.cost)
	if f.object != nil {
		f.object.Close()
	}
}

// dropOld forgets what has waited for too long. The caller holds mu.
func (d *Driver) dropOld() {
	for h, w := range d.waiting {
		if !w.ended.IsZero() && time.Since(w.ended) > waitsFor {
			d.forget(h, w)
		}
	}
}

// forget forgets a hint. The caller holds mu.
func (d *Driver) forget(h store.Hint, w *waiter) {
	delete(d.waiting, h)
	d.release(w.fetch)
}

// sweep forgets what waits for too long while nobody gives hints.
func (d *Driver) sweep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dropOld(); len(d.waiting) == 0 {
		d.sweeper = nil
		return
	}
	d.sweeper.Reset(waitsFor)
}

// ForgetAhead drops what waits of objects below dir; see store.Prefetcher. What is begun after that
// finds that the driver below has forgotten, too.
func (d *Driver) ForgetAhead(dir string) {
	if p, ok := d.Driver.(store.Prefetcher); ok {
		p.ForgetAhead(dir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for h, w := range d.waiting {
		if dir == "" || strings.HasPrefix(h.Key, dir+"/") {
			d.forget(h, w)
		}
	}
}

// OpenFor opens an object, which may have been fetched ahead; see store.Opener.
func (d *Driver) OpenFor(ctx context.Context, key string, w store.Want) (store.Object, error) {
	f := d.claim(store.Hint{Key: key, Want: w})
	if f == nil {
		return store.OpenFor(ctx, d.Driver, key, w)
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		d.drop(f)
		return nil, ctx.Err()
	}
	switch {
	case f.err == nil:
		return &object{Object: f.object, driver: d, fetch: f, ctx: ctx}, nil
	case errors.Is(f.err, fs.ErrNotExist):
		d.drop(f)
		return nil, f.err
	}
	d.drop(f)
	return store.OpenFor(ctx, d.Driver, key, w) // what failed for a hint may succeed for a caller
}

// claim takes what was fetched for a hint, for one opening.
func (d *Driver) claim(h store.Hint) *fetch {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.waiting[h]
	if w == nil {
		return nil
	}
	if w.opens--; w.opens == 0 {
		delete(d.waiting, h)
	} else {
		w.uses++
	}
	return w.fetch
}

// drop is release for a caller that does not hold mu.
func (d *Driver) drop(f *fetch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release(f)
}

// Open opens an object for no bytes.
func (d *Driver) Open(ctx context.Context, key string) (store.Object, error) {
	return d.Driver.Open(ctx, key)
}

// The abilities of the driver below are those of this one; see store.OpenFor.

// Traits are the driver's.
func (d *Driver) Traits() store.Traits { return store.TraitsOf(d.Driver) }

// GetIf is the driver's.
func (d *Driver) GetIf(
	ctx context.Context, key, version string, limit int64,
) ([]byte, store.Info, error) {
	return store.GetIf(ctx, d.Driver, key, version, limit)
}

// Walk is the driver's.
func (d *Driver) Walk(
	ctx context.Context, dir string, yield func(key string, info store.Info) error,
) error {
	return store.Walk(ctx, d.Driver, dir, yield)
}

// Survey is the driver's.
func (d *Driver) Survey(
	ctx context.Context, dir string, yield func(store.Entry, store.Info) error,
) error {
	return store.Survey(ctx, d.Driver, dir, yield)
}

// Traffic is the driver's, where it counts.
func (d *Driver) Traffic() *store.Traffic {
	if m, ok := d.Driver.(store.Meter); ok {
		return m.Traffic()
	}
	return nil
}

// Refresh is the driver's, where it has one.
func (d *Driver) Refresh(dir string) {
	if r, ok := d.Driver.(store.Refresher); ok {
		r.Refresh(dir)
	}
}
