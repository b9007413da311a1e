package storetest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// LinkOptions describe the network that a [Link] imitates.
type LinkOptions struct {
	Delay   time.Duration // of each round trip
	Rate    int64         // bytes in a second, of all requests together; 0: no limit
	Most    int64         // bytes that come with an object at most; 0: no limit
	Page    int           // entries of one page of a listing; 0: 1,000
	NoList  bool          // the store cannot list
	Plain   bool          // only Open, Stat and List: no ability saves a round trip
	Content bool          // the version is that of the content: equal bytes have one
}

// Link imitates a remote store: a driver for reading behind a network that counts requests. It is
// for tests of how many requests something takes, and how many round trips. In a bubble of
// testing/synctest the time that passes is exact.
type Link struct {
	driver store.Driver
	o      LinkOptions

	mu      sync.Mutex
	counts  Counts
	keys    []string // that were asked for, with the kind of request
	flying  int
	freedAt time.Time // when the line has sent all that is asked for until now
}

// Counts are the requests that a Link has taken.
type Counts struct {
	Requests  int   // all
	Gets      int   // for bytes of an object, also where there is none
	Unchanged int   // of these, answered by ErrUnchanged
	Missing   int   // of all, answered by fs.ErrNotExist
	Stats     int   // for an Info alone
	Pages     int   // of listings
	Bytes     int64 // of objects that were sent
	Flying    int   // the most requests at one time
}

// Behind returns d behind a network. It is a store.Opener, Getter and Walker, and its objects are
// store.RangeReaders, unless o is Plain.
func Behind(d store.Driver, o LinkOptions) (*Link, store.Driver) {
	if o.Page == 0 {
		o.Page = 1000
	}
	l := &Link{driver: d, o: o}
	if o.Plain {
		return l, struct {
			store.Driver
			store.Traiter
		}{l, l}
	}
	return l, l
}

// Take returns what was counted since the last call, and begins again with nothing.
func (l *Link) Take() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	l.counts, l.keys = Counts{}, nil
	return c
}

// Asked returns the requests since the last Take, as a method and a key each, sorted.
func (l *Link) Asked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.keys))
}

// Traits are those of an object store.
func (l *Link) Traits() store.Traits {
	t := store.Traits{Remote: true, List: store.ListDear}
	if l.o.NoList {
		t.List = store.ListNever
	}
	if l.o.Content {
		t.Versions = store.VersionContent
	}
	return t
}

// Traffic says what a request brings in a round trip, and nothing else.
func (l *Link) Traffic() *store.Traffic {
	return &store.Traffic{Carries: int64(float64(l.o.Rate) * l.o.Delay.Seconds())}
}

// request counts a request and waits for its answer, which has so many bytes.
func (l *Link) request(ctx context.Context, what, key string, count func(*Counts), n int64) error {
	l.mu.Lock()
	l.counts.Requests++
	l.counts.Bytes += n
	count(&l.counts)
	l.keys = append(l.keys, what+" "+key)
	l.flying++
	l.counts.Flying = max(l.counts.Flying, l.flying)
	answered := time.Now().Add(l.o.Delay)
	if l.o.Rate > 0 && n > 0 {
		if l.freedAt.Before(answered) {
			l.freedAt = answered
		}
		takes := float64(n) / float64(l.o.Rate)
		l.freedAt = l.freedAt.Add(time.Duration(takes * float64(time.Second)))
		answered = l.freedAt
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.flying--
		l.mu.Unlock()
	}()
	wait := time.Until(answered)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func isGet(c *Counts)  { c.Gets++ }
func isStat(c *Counts) { c.Stats++ }
func isPage(c *Counts) { c.Pages++ }

// Open opens an object for no bytes.
func (l *Link) Open(ctx context.Context, key string) (store.Object, error) {
	return l.OpenFor(ctx, key, store.Want{})
}

// OpenFor opens an object and brings the bytes that are wanted, in one request.
func (l *Link) OpenFor(ctx context.Context, key string, w store.Want) (store.Object, error) {
	o, err := store.OpenFor(ctx, l.driver, key, w)
	n := int64(0)
	if l.o.Most > 0 {
		w.N = min(w.N, l.o.Most)
	}
	if err == nil {
		lo, hi := w.Range(o.Size())
		n = hi - lo
	}
	count := func(c *Counts) {
		isGet(c)
		if errors.Is(err, store.ErrUnchanged) {
			c.Unchanged++
		}
	}
	if late := l.request(ctx, "GET", key, l.missing(err, count), n); err == nil && late != nil {
		o.Close()
		err = late
	}
	if err != nil {
		return nil, err
	}
	got := &linkObject{Object: o, link: l, ctx: ctx, key: key}
	got.lo, got.hi = w.Range(o.Size())
	return got, nil
}

// missing adds to count that an answer says that there is nothing.
func (l *Link) missing(err error, count func(*Counts)) func(*Counts) {
	return func(c *Counts) {
		count(c)
		if errors.Is(err, fs.ErrNotExist) {
			c.Missing++
		}
	}
}

// GetIf reads an object if it has changed, in one request.
func (l *Link) GetIf(ctx context.Context, key, version string, limit int64) ([]byte, store.Info,
	error) {
	data, info, err := store.GetIf(ctx, l.driver, key, version, limit)
	count := l.missing(err, func(c *Counts) {
		c.Gets++
		if errors.Is(err, store.ErrUnchanged) {
			c.Unchanged++
		}
	})
	if late := l.request(ctx, "GETIF", key, count, int64(len(data))); late != nil {
		err = late
	}
	return data, info, err
}

// Stat asks for one Info.
func (l *Link) Stat(ctx context.Context, key string) (store.Info, error) {
	info, err := l.driver.Stat(ctx, key)
	if late := l.request(ctx, "STAT", key, l.missing(err, isStat), 0); late != nil {
		err = late
	}
	return info, err
}

// List takes a request for each page of its entries.
func (l *Link) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	if l.o.NoList {
		return store.ErrCannotList
	}
	p := pages{link: l, ctx: ctx, what: "LIST", dir: dir}
	if err := p.entry(); err != nil {
		return err
	}
	return l.driver.List(ctx, dir, func(e store.Entry) error {
		if err := p.entry(); err != nil {
			return err
		}
		return yield(e)
	})
}

// Survey is List: a page says what Stat would.
func (l *Link) Survey(ctx context.Context, dir string, yield func(store.Entry,
	store.Info) error) error {
	if l.o.NoList {
		return store.ErrCannotList
	}
	p := pages{link: l, ctx: ctx, what: "LIST", dir: dir}
	if err := p.entry(); err != nil {
		return err
	}
	return l.unnamed(dir, store.New(l.driver, "").Survey(ctx, dir, func(e store.Entry,
		info store.Info) error {
		if err := p.entry(); err != nil {
			return err
		}
		return yield(e, info)
	}))
}

// unnamed takes the key out of an error of Store: a driver leaves it out.
func (l *Link) unnamed(dir string, err error) error {
	if at, ok := err.(*fs.PathError); ok && at.Path == dir {
		return at.Err
	}
	return err
}

// Walk lists all objects below dir, page by page.
func (l *Link) Walk(ctx context.Context, dir string, yield func(string, store.Info) error) error {
	if l.o.NoList {
		return store.ErrCannotList
	}
	p := pages{link: l, ctx: ctx, what: "WALK", dir: dir}
	if err := p.entry(); err != nil {
		return err
	}
	return l.unnamed(dir, store.Walk(ctx, l.driver, dir, func(key string, info store.Info) error {
		if err := p.entry(); err != nil {
			return err
		}
		return yield(key, info)
	}))
}

// pages counts the pages of a listing.
type pages struct {
	link      *Link
	ctx       context.Context
	what, dir string
	entries   int // less than none until the first page is asked for
	begun     bool
}

// entry asks for the next page before an entry that is not in this one.
func (p *pages) entry() error {
	if p.begun {
		p.entries++
	}
	if p.begun && p.entries <= p.link.o.Page {
		return p.ctx.Err()
	}
	if p.begun {
		p.entries = 1
	}
	p.begun = true
	return p.link.request(p.ctx, p.what, p.dir, isPage, 0)
}

// Close is the driver's, where it has one.
func (l *Link) Close() error {
	if c, ok := l.driver.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// linkObject is an object with the bytes lo to hi of it in memory.
type linkObject struct {
	store.Object
	link   *Link
	ctx    context.Context
	key    string
	lo, hi int64
	closed atomic.Bool
}

// ReadAt takes a request, unless the bytes came with the object.
func (o *linkObject) ReadAt(p []byte, off int64) (int, error) {
	if n := min(int64(len(p)), o.Size()-off); n > 0 && off >= 0 && (off < o.lo || off+n > o.hi) &&
		!o.closed.Load() {
		if err := o.link.request(o.ctx, "GET", o.key, isGet, n); err != nil {
			return 0, err
		}
	}
	return o.Object.ReadAt(p, off)
}

// ReadRanges takes a request for each stretch of spans that meet, all of them in one round trip.
func (o *linkObject) ReadRanges(ctx context.Context, spans []store.Span) error {
	var requests sync.WaitGroup
	for _, r := range o.stretches(spans) {
		requests.Go(func() { o.link.request(ctx, "GET", o.key, isGet, r[1]-r[0]) })
	}
	requests.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return store.ReadRanges(ctx, o.Object, spans)
}

// stretches returns the stretches [lo, hi) that are not in memory.
func (o *linkObject) stretches(spans []store.Span) (all [][2]int64) {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b store.Span) int {
		return int(min(1,
			max(-1, a.Off-b.Off)))
	})
	for _, s := range sorted {
		lo, hi := s.Off, min(s.Off+int64(len(s.P)), o.Size())
		switch last := len(all) - 1; {
		case lo >= hi || lo >= o.lo && hi <= o.hi || o.closed.Load():
		case last >= 0 && lo <= all[last][1]:
			all[last][1] = max(all[last][1], hi)
		default:
			all = append(all, [2]int64{lo, hi})
		}
	}
	return all
}

// Close ends the use of the object.
func (o *linkObject) Close() error {
	o.closed.Store(true)
	return o.Object.Close()
}

// Rights are the object's, if it has any.
func (o *linkObject) Rights() store.Rights {
	if owned, ok := o.Object.(store.Owned); ok {
		return owned.Rights()
	}
	return store.Rights{}
}
