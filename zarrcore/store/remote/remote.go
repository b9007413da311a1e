// Package remote is a store behind a network: the part that is the same whatever the server speaks.
//
// A [Dialect] builds requests and says what answers mean. The [Driver] does the rest. It sends them
// over a pool of connections, tries again what may have failed by chance, and resumes what was cut.
// All bytes of an object are of one version. It counts, and gives up in time.
//
// # Errors
//
// An error is never taken for a missing object, and so never read as fill value. A server that has
// nothing at all answers 404 to everything, and so does a wrong one. Where a dialect calls that
// Doubtful, an object is missing only if the store is known to be there; see witness.
//
// # Time
//
// A try ends when nothing has come for Options.Stall, and a call when nothing has come for
// Options.Patience, or much too little. A context that is cancelled ends both at once.
//
// # Versions
//
// The first answer about an object says its version, which all others must have: by ETag, otherwise
// by Last-Modified. Without both, only the length shows that an object was replaced.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Driver is a store that a Dialect asks. It is safe for concurrent use. It does not write.
type Driver struct {
	*Client
	seen     witnesses
	noRanges lately // the server has sent a whole object where a range was asked for
	canList  bool
	isBucket bool      // see Bucket
	hiding   sync.Once // before hides is used
	hides    bool      // the server refuses what is missing
}

// Open returns the store behind d, of a server that where names: its scheme and host. It looks
// whether the store can list, by a request for the listing of the root.
func Open(ctx context.Context, d Dialect, where string, o Options) (*Driver, error) {
	v := &Driver{Client: newClient(d, where, o)}
	return v, v.findListing(ctx, probes, func(*Error) bool { return true })
}

// findListing finds out by a request whether the store can list. It cannot if the server gives an
// answer that refuses so. Any other error is returned.
func (d *Driver) findListing(ctx context.Context, tries int, refuses func(*Error) bool) error {
	if d.o.NoListing {
		return nil
	}
	_, err := d.readPage(ctx, Listing{}, tries)
	e := new(Error)
	switch errors.As(err, &e); {
	case err == nil:
		d.canList = true
	case errors.Is(err, store.ErrCannotList), e.answered && refuses(e):
	default:
		return err
	}
	return nil
}

// probes is how often the listing of the root is asked for, to see whether the store can list.
const probes = 2

// lately says of something that it was so in the last minute. The zero value says no.
type lately struct{ at atomic.Int64 }

func (l *lately) set() { l.at.Store(time.Now().UnixNano()) }

func (l *lately) isSet() bool { return time.Since(time.Unix(0, l.at.Load())) < time.Minute }

// Traits are those of a store behind a network.
func (d *Driver) Traits() store.Traits {
	t := store.Traits{Remote: true, List: store.ListNever, Versions: store.VersionContent}
	if d.canList {
		t.List = store.ListDear
	}
	return t
}

// Close lets go of all connections that are not in use.
func (d *Driver) Close() error {
	if t, ok := d.o.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return nil
}

// mostBrought bounds the bytes that come with the opening of an object.
const mostBrought = 16 << 20

// mostWhole bounds the objects of which only the whole can be had: those of servers without ranges,
// and those that the server has encoded by itself.
const mostWhole = 64 << 20

// usualFirst is how many bytes come with an object whose opener has not said what it wants.
const usualFirst = 64 << 10

// Open opens the object at key; see store.Driver.
func (d *Driver) Open(ctx context.Context, key string) (store.Object, error) {
	return d.OpenFor(ctx, key, store.Want{N: usualFirst})
}

// OpenFor opens the object at key with the bytes that are wanted, by one request; see store.Opener.
func (d *Driver) OpenFor(ctx context.Context, key string, w store.Want) (store.Object, error) {
	o, err := d.open(ctx, key, w)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// open is OpenFor.
func (d *Driver) open(ctx context.Context, key string, w store.Want) (*object, error) {
	o := &object{driver: d, ctx: ctx, key: key}
	if w.N <= 0 {
		o, err := d.look(ctx, key)
		switch {
		case err != nil:
			return nil, err
		case o.info.Dir:
			return nil, fs.ErrNotExist
		}
		return o, o.fits(w.Version)
	}
	if w.Off < 0 && d.o.NoSuffixes {
		var err error
		if w, err = d.fromStart(ctx, key, w); err != nil {
			return nil, err
		}
	}
	opening := &opening{object: o, want: w, unless: w.Unless}
	err := d.do(ctx, &call{
		build: opening.build, accept: opening.accept, takes: []Kind{Empty, Unchanged},
		size: min(w.N, mostBrought),
	})
	if err == nil {
		d.seen.saw(key)
		err = o.fits(w.Version)
	}
	if err == nil && opening.isSame {
		return nil, store.ErrUnchanged
	}
	if err == nil {
		err = opening.complete()
	}
	if err != nil {
		return nil, d.missing(ctx, key, err)
	}
	return o, nil
}

// fromStart returns w with an offset that counts from the object's start, by one request.
func (d *Driver) fromStart(ctx context.Context, key string, w store.Want) (store.Want, error) {
	info, err := d.Stat(ctx, key)
	switch {
	case err != nil:
		return w, err
	case info.Dir:
		return w, fs.ErrNotExist
	case w.Unless != "" && sameVersion(w.Unless, info.Version):
		return w, store.ErrUnchanged
	}
	w.Off, w.Unless = max(0, info.Size+w.Off), ""
	w.Version = cmp.Or(w.Version, info.Version)
	return w, nil
}

// fits returns an error if the object has another version than it should.
func (o *object) fits(version string) error {
	if version != "" && !sameVersion(version, o.info.Version) {
		return o.driver.explain(errChanged, 1)
	}
	return nil
}

// Stat describes the object at key; see store.Driver. The root is a directory without being asked
// for.
func (d *Driver) Stat(ctx context.Context, key string) (store.Info, error) {
	if err := ctx.Err(); err != nil || key == "" {
		return store.Info{Dir: true}, err
	}
	o, err := d.look(ctx, key)
	if err != nil {
		return store.Info{}, err
	}
	return o.info, nil
}

// look asks for an object without its bytes, or finds that it is a directory.
func (d *Driver) look(ctx context.Context, key string) (*object, error) {
	o := &opening{object: &object{driver: d, ctx: ctx, key: key}, isLook: true}
	err := d.do(ctx, &call{
		build: o.build, takes: []Kind{Empty, Directory}, size: 1,
		accept: func(a *Answer, v Verdict, b *body) error {
			if v.Kind == Directory {
				o.info = store.Info{Name: store.Base(key), Dir: true}
				return nil
			}
			return o.accept(a, v, b)
		},
	})
	if err != nil {
		return nil, d.missing(ctx, key, err)
	}
	if !o.info.Dir {
		d.seen.saw(key)
	}
	return o.object, nil
}

// describe notes what an answer says of an object of size bytes.
func (o *object) describe(a *Answer, size int64) {
	said := o.driver.dialect.Describe(a)
	o.info, o.mark = said.Info, said.mark()
	o.info.Name, o.info.Size, o.info.Stored = store.Base(o.key), size, size
	o.info.Version = said.Version
}

// request builds a request for an object.
func (d *Driver) request(ctx context.Context, key string) (*http.Request, error) {
	r, err := d.dialect.Request(ctx, key)
	return withDefaults(r), err
}

// withDefaults adds what all requests say.
func withDefaults(r *http.Request) *http.Request {
	if r != nil {
		r.Header.Set("Accept-Encoding", "identity")
		r.Header.Set("User-Agent", "zarrfs")
	}
	return r
}

// isObject returns an error if the answer is something in the place of an object. Buckets say when
// an object was stored, and mostly its ETag, too. What says neither is an answer of something else.
func (d *Driver) isObject(a *Answer) error {
	if d.isBucket && a.Header.Get("ETag") == "" && a.Header.Get("Last-Modified") == "" {
		return errNoObject
	}
	if a.isPage() {
		return final{"the server answers with a web page (HTML) in place of the object",
			"the URL may be that of a page, or of a server that wants a login"}
	}
	return nil
}

// GetIf reads a small object if it has changed, by one request; see store.Getter.
func (d *Driver) GetIf(
	ctx context.Context, key, version string, limit int64,
) (data []byte, info store.Info, err error) {
	o := &object{driver: d, ctx: ctx, key: key}
	opening := &opening{object: o, want: store.Want{N: limit}, unless: version}
	err = d.do(ctx, &call{
		build: opening.build, accept: opening.accept, takes: []Kind{Empty, Unchanged},
		size: min(limit, mostBrought),
	})
	if err != nil {
		return nil, store.Info{}, d.missing(ctx, key, err)
	}
	d.seen.saw(key)
	switch {
	case opening.isSame || version != "" && sameVersion(version, o.info.Version):
		return nil, store.Info{}, store.ErrUnchanged
	case o.info.Size > limit:
		return nil, store.Info{}, fmt.Errorf("%w: at most %d bytes are expected, found %d",
			store.ErrTooLarge, limit, o.info.Size)
	}
	if err := opening.complete(); err != nil {
		return nil, store.Info{}, err
	}
	data = make([]byte, o.info.Size)
	if n, err := o.ReadAt(data, 0); n < len(data) {
		return nil, store.Info{}, err
	}
	return data, o.info, nil
}

// opening is the first request for an object.
type opening struct {
	*object
	want   store.Want
	unless string // version of which nothing is wanted
	all    bool   // no range is asked for
	isLook bool   // no byte is wanted, and one is asked for
	isSame bool   // the object has the version of which nothing is wanted
	got    int    // bytes of head that came
}

// build asks for the bytes that are wanted.
func (o *opening) build(ctx context.Context) (*http.Request, error) {
	o.head, o.at, o.got = nil, 0, 0
	r, err := o.driver.request(ctx, o.key)
	if err != nil {
		return nil, err
	}
	n := max(1, min(o.want.N, mostBrought))
	switch {
	case o.all || o.driver.noRanges.isSet():
	case o.want.Off < 0:
		r.Header.Set("Range", "bytes="+strconv.FormatInt(max(o.want.Off, -mostBrought), 10))
	default:
		r.Header.Set("Range", rangeOf(o.want.Off, n))
	}
	if o.isSame = false; o.unless != "" {
		o.driver.dialect.Unless(r, o.unless)
	}
	if o.want.Version != "" {
		o.driver.dialect.Pin(r, o.want.Version)
	}
	return r, nil
}

// rangeOf is the range of n bytes at off.
func rangeOf(off, n int64) string {
	return fmt.Sprintf("bytes=%d-%d", off, off+n-1)
}

// accept takes the answer. A body that is cut is left to complete.
func (o *opening) accept(a *Answer, v Verdict, b *body) error {
	if err := o.driver.isObject(a); err != nil && v.Kind == Fine {
		return err
	}
	switch {
	case v.Kind == Unchanged:
		return o.acceptUnchanged(a)
	case v.Kind == Empty: // what it answers without a range tells more
		o.all = true
		return errRange
	case a.encoding() != "":
		return o.acceptEncoded(a, b)
	case a.Status == http.StatusPartialContent:
		return o.acceptPart(a, b)
	}
	return o.acceptWhole(a, b)
}

// acceptUnchanged takes an answer without the object. A server that goes by a date also gives this
// answer for an older object in the place of a newer one. So an object of another date is asked for
// again.
func (o *opening) acceptUnchanged(a *Answer) error {
	said := a.Header.Get("Last-Modified")
	if _, err := http.ParseTime(o.unless); err == nil && said != o.unless {
		o.unless = ""
		return errRange
	}
	o.isSame = true
	return nil
}

// acceptPart takes a range, as it was asked for.
func (o *opening) acceptPart(a *Answer, b *body) error {
	first, last, total, ok := contentRange(a.Header.Get("Content-Range"))
	if !ok || total < 0 || last < first && total > 0 {
		return errRange
	}
	o.describe(a, total)
	if o.isLook {
		return nil
	}
	lo, hi := o.want.Range(total)
	if o.want.Off < 0 {
		lo = max(lo, total-mostBrought)
		hi = total
	}
	if hi = min(hi, lo+mostBrought); first != lo || last+1 != hi {
		return errRange
	}
	return o.take(b, lo, hi-lo)
}

// acceptWhole takes the object from its beginning, though the server was asked for a part.
func (o *opening) acceptWhole(a *Answer, b *body) error {
	asked := !o.all && !o.driver.noRanges.isSet()
	if b.length < 0 {
		return o.acceptUnmeasured(a, b)
	}
	o.describe(a, b.length)
	lo, hi := o.want.Range(b.length)
	if asked && (lo > 0 || hi < b.length) {
		o.driver.noRanges.set()
	}
	if o.isLook {
		return nil
	}
	n := b.length
	if n > mostWhole {
		n = min(mostBrought, n)
	}
	return o.take(b, 0, n)
}

// take reads n bytes, which are those of the object from lo on. Some is as good as all: complete
// asks for the rest.
func (o *opening) take(b *body, lo, n int64) error {
	o.at, o.head = lo, make([]byte, n)
	var err error
	o.got, err = io.ReadFull(b, o.head)
	if o.got == 0 && err != nil {
		return errCut
	}
	return nil
}

// complete asks for what take has not got.
func (o *opening) complete() error {
	got, head := o.got, o.head
	if got == len(head) {
		return nil
	}
	o.head = head[:got]
	if err := o.fetch(o.ctx, head[got:], o.at+int64(got)); err != nil {
		return err
	}
	if len(o.head) == got { // otherwise fetch has taken the whole object
		o.head = head
	}
	return nil
}
