package remote

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// object is an open object.
type object struct {
	driver *Driver
	ctx    context.Context
	key    string
	info   store.Info
	mark   string // see Described.Mark
	closed atomic.Bool

	mu   sync.Mutex // guards what is below, once the object is open
	head []byte     // bytes of the object, from at on
	at   int64
}

// Size is the object's length in bytes.
func (o *object) Size() int64 { return o.info.Size }

// Info describes the object as it was when it was opened.
func (o *object) Info() store.Info { return o.info }

// Close ends the use of the object.
func (o *object) Close() error {
	if o.closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}

// ReadAt reads full or fails, as io.ReaderAt says.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	return store.ReadInside(p, off, o.info.Size, func(inside []byte) error {
		return o.read(o.ctx, inside, off)
	})
}

// read fills p, which lies inside the object.
func (o *object) read(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.closed.Load() {
		return fs.ErrClosed
	}
	n := o.brought(p, off)
	if n == len(p) {
		return nil
	}
	return o.fetch(ctx, p[n:], off+int64(n))
}

// brought copies what came with the object, as far as p begins with it, and returns how many bytes.
func (o *object) brought(p []byte, off int64) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if from := off - o.at; from >= 0 && from < int64(len(o.head)) {
		return copy(p, o.head[from:])
	}
	return 0
}

// keep notes the whole object.
func (o *object) keep(whole []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head, o.at = whole, 0
}

// fetch asks the server for bytes of the object, and goes on where an answer is cut.
func (o *object) fetch(ctx context.Context, p []byte, off int64) error {
	f := &fetching{object: o, left: p, off: off}
	err := o.driver.do(ctx, &call{
		build: f.build, accept: f.accept, takes: []Kind{Empty}, size: int64(len(p)),
	})
	if err == nil {
		o.driver.seen.saw(o.key)
	}
	if e := new(Error); errors.As(err, &e) && e.isMissing() {
		return o.driver.explain(errChanged, 1) // it was removed meanwhile
	}
	return err
}

// fetching is a request for bytes of an open object.
type fetching struct {
	*object
	left []byte // memory for what has not come yet
	off  int64  // of it
}

// build asks for what has not come yet, of the version that was opened.
func (f *fetching) build(ctx context.Context) (*http.Request, error) {
	r, err := f.driver.request(ctx, f.key)
	if err != nil {
		return nil, err
	}
	if !f.driver.noRanges.isSet() {
		r.Header.Set("Range", rangeOf(f.off, int64(len(f.left))))
	}
	f.driver.dialect.Pin(r, f.mark)
	return r, nil
}

// accept reads the answer into memory, after a look at whether it is of the right object.
func (f *fetching) accept(a *Answer, v Verdict, b *body) error {
	if v.Kind == Empty {
		return errRange
	}
	if err := f.driver.isObject(a); err != nil {
		return err
	}
	if said := f.driver.dialect.Describe(a); !sameVersion(said.mark(), f.mark) {
		return errChanged
	}
	switch {
	case a.encoding() != "":
		return f.acceptEncoded(a, b)
	case a.Status == http.StatusPartialContent:
		return f.acceptPart(a, b)
	}
	return f.acceptWhole(b)
}

// acceptEncoded takes an object that the server has encoded, as a whole.
func (f *fetching) acceptEncoded(a *Answer, b *body) error {
	whole, err := decode(a, b, f.info.Size)
	if err != nil {
		return err
	}
	if int64(len(whole)) != f.info.Size {
		return errChanged
	}
	copy(f.left, whole[f.off:])
	f.keep(whole)
	return nil
}

// acceptPart takes a range.
func (f *fetching) acceptPart(a *Answer, b *body) error {
	first, last, total, ok := contentRange(a.Header.Get("Content-Range"))
	switch {
	case !ok || first != f.off || last > f.off+int64(len(f.left))-1:
		return errRange
	case total >= 0 && total != f.info.Size:
		return errChanged
	}
	return f.take(b)
}

// acceptWhole takes the whole object, though the server was asked for a part.
func (f *fetching) acceptWhole(b *body) error {
	if b.length >= 0 && b.length != f.info.Size {
		return errChanged
	}
	f.driver.noRanges.set()
	if f.info.Size > mostWhole {
		if _, err := io.CopyN(io.Discard, b, f.off); err != nil {
			return errCut
		}
		return f.take(b)
	}
	whole := make([]byte, f.info.Size)
	if _, err := io.ReadFull(b, whole); err != nil {
		return errCut
	}
	if b.length < 0 {
		if n, err := b.Read(make([]byte, 1)); n > 0 {
			return errChanged
		} else if err != io.EOF {
			return errCut
		}
	}
	copy(f.left, whole[f.off:])
	f.keep(whole)
	return nil
}

// take reads what is left.
func (f *fetching) take(b *body) error {
	n, err := io.ReadFull(b, f.left)
	f.left, f.off = f.left[n:], f.off+int64(n)
	if err != nil {
		return errCut
	}
	return nil
}

// acceptUnmeasured takes a whole object whose length only its end shows.
func (o *opening) acceptUnmeasured(a *Answer, b *body) error {
	if b.isOpen {
		return final{"the server does not say how long the object is",
			"use a server that sends Content-Length: without it, a cut answer looks complete"}
	}
	return o.acceptEncoded(a, b)
}

// acceptEncoded takes an object that the server has encoded by itself. Ranges are then of the
// encoded bytes, so that the whole is needed.
func (o *opening) acceptEncoded(a *Answer, b *body) error {
	if a.Status == http.StatusPartialContent {
		o.driver.noRanges.set()
		return errRange
	}
	whole, err := decode(a, b, mostWhole)
	if err != nil {
		return err
	}
	o.describe(a, int64(len(whole)))
	o.head, o.at, o.got = whole, 0, len(whole)
	return nil
}

// decode undoes the encoding of a body, of at most so many bytes.
func decode(a *Answer, b *body, most int64) ([]byte, error) {
	var r io.Reader = b
	var err error
	switch e := a.encoding(); e {
	case "":
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(b)
	case "deflate":
		r, err = zlib.NewReader(b)
	default:
		return nil, final{fmt.Sprintf("the server has encoded the object by %q", e),
			"switch that off at the server"}
	}
	var whole bytes.Buffer
	if err == nil {
		_, err = whole.ReadFrom(io.LimitReader(r, most+1))
	}
	switch {
	case err != nil && b.failed:
		return nil, errCut
	case err != nil:
		return nil, final{text: fmt.Sprintf("the object, encoded by %q, is corrupt", a.encoding())}
	case int64(whole.Len()) > most:
		return nil, final{fmt.Sprintf("the server sends whole objects only, and this one has more "+
			"than %d bytes", most), "use a server that knows ranges"}
	}
	return whole.Bytes(), nil
}

// ReadRanges fills several spans; see store.RangeReader. Those that lie close to each other come by
// one request, and all requests are under way at once.
func (o *object) ReadRanges(ctx context.Context, spans []store.Span) error {
	if err := store.CheckInside(spans, o.info.Size); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for _, together := range gathered(spans) {
		wg.Go(func() {
			if err := o.readTogether(ctx, together); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Spans are read by one request if the gap between them is at most so many bytes. All gaps together
// are at most a share of what is wanted.
const (
	mostGap   = 64 << 10
	gapsShare = 4 // a quarter
)

// gathered sorts spans into those that one request reads.
func gathered(spans []store.Span) (all [][]store.Span) {
	byOffset := func(a, b store.Span) int { return cmp.Compare(a.Off, b.Off) }
	sorted := slices.SortedFunc(slices.Values(spans), byOffset)
	var end, wasted, wanted int64
	for _, s := range sorted {
		if len(s.P) == 0 {
			continue
		}
		gap, n := s.Off-end, int64(len(s.P))
		if len(all) == 0 || gap > mostGap || (wasted+max(gap, 0))*gapsShare > wanted+n {
			all, wasted, wanted = append(all, nil), 0, 0
			gap, end = 0, s.Off
		}
		last := len(all) - 1
		all[last] = append(all[last], s)
		wasted, wanted, end = wasted+max(gap, 0), wanted+n, max(end, s.Off+n)
	}
	return all
}

// readTogether reads spans in the order of their offsets by one request.
func (o *object) readTogether(ctx context.Context, spans []store.Span) error {
	if len(spans) == 1 {
		return o.read(ctx, spans[0].P, spans[0].Off)
	}
	begin, end := spans[0].Off, int64(0)
	for _, s := range spans {
		end = max(end, s.Off+int64(len(s.P)))
	}
	all := make([]byte, end-begin)
	if err := o.read(ctx, all, begin); err != nil {
		return err
	}
	for _, s := range spans {
		copy(s.P, all[s.Off-begin:])
	}
	return nil
}
