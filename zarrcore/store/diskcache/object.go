package diskcache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// object is an open object: bytes in memory that came with it, cells on disk, and the object below.
// The object below is opened for bytes that are neither in memory nor on disk.
type object struct {
	driver *Driver
	ctx    context.Context
	key    string
	info   store.Info
	like   *record // without bytes: what its cells have in common
	closed atomic.Bool

	mu    sync.Mutex
	head  []byte // bytes of the object, from at on
	at    int64
	below store.Object
}

// mostLoaded bounds the bytes that come with an object.
const mostLoaded = 16 << 20

// load takes from the disk what is wanted, and returns what is missing of it. It reports false if
// the cells are of no use.
func (o *object) load(w store.Want) (missing store.Want, ok bool) {
	lo, hi := w.Range(o.info.Size)
	if o.like.Take != "" { // nothing can be added to it later
		lo, hi = 0, o.info.Size
	}
	if hi-lo > mostLoaded {
		return store.Want{}, o.like.Take == ""
	}
	data := make([]byte, hi-lo)
	lacks := o.fromDisk(data, lo)
	if len(lacks) == 0 {
		o.head, o.at = data, lo
		return store.Want{}, true
	}
	last := lacks[len(lacks)-1]
	missing.Off = lacks[0].Off
	missing.N = last.Off + int64(len(last.P)) - missing.Off
	return missing, o.like.Take == ""
}

// loaded returns how many bytes came from the disk.
func (o *object) loaded() int64 { return int64(len(o.head)) }

// capture takes the bytes that came with the object below, and keeps them.
func (o *object) capture(got store.Object, w store.Want) {
	o.below = got
	lo, hi := w.Range(o.info.Size)
	if hi-lo > mostLoaded || hi == lo && o.info.Size > 0 {
		return
	}
	data := make([]byte, hi-lo)
	if n, err := got.ReadAt(data, lo); n < len(data) || err != nil && err != io.EOF {
		return // the reader will be told
	}
	o.head, o.at = data, lo
	o.keep(lo, data)
	if hi-lo == o.info.Size {
		got.Close()
		o.below = nil
	}
}

// keep keeps bytes of the object on disk, if it can be kept. They must not change any more.
func (o *object) keep(off int64, data []byte) {
	isWhole := int64(len(data)) == o.info.Size
	if o.like.Take != "" && (!isWhole || !o.driver.isOffline()) {
		return
	}
	end := off + int64(len(data))
	if off >= cellSize || end == off {
		o.keepCell(0, off, nil)
	}
	for at := off; at < end; {
		n := at / cellSize
		next := min(end, (n+1)*cellSize)
		o.keepCell(n, at, data[at-off:next-off])
		at = next
	}
}

// keepCell keeps bytes of one cell.
func (o *object) keepCell(n, off int64, data []byte) {
	r := *o.like
	r.Name, r.Extents = o.driver.name(aboutObject, o.key, n), nil
	r.add(off, data)
	o.driver.keeper.put(&r)
}

// fromDisk copies to p, which begins at byte off, what is on disk. It returns what is not.
func (o *object) fromDisk(p []byte, off int64) (missing []store.Span) {
	end := off + int64(len(p))
	for at := off; at < end; {
		n := at / cellSize
		next := min(end, (n+1)*cellSize)
		part := p[at-off : next-off]
		if r := o.driver.cell(o.key, n); r.isOf(o.like) {
			missing = append(missing, r.covered(part, at)...)
		} else {
			missing = append(missing, store.Span{Off: at, P: part})
		}
		at = next
	}
	return missing
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
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.below != nil {
		return o.below.Close()
	}
	return nil
}

// ReadAt reads full or fails, as io.ReaderAt says.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	return store.ReadInside(p, off, o.info.Size, func(inside []byte) error {
		return o.read(o.ctx, []store.Span{{Off: off, P: inside}})
	})
}

// ReadRanges fills several spans; see store.RangeReader.
func (o *object) ReadRanges(ctx context.Context, spans []store.Span) error {
	if err := store.CheckInside(spans, o.info.Size); err != nil {
		return err
	}
	return o.read(ctx, spans)
}

// read fills spans that lie inside the object: from memory, from the disk, and from the object
// below, in this order.
func (o *object) read(ctx context.Context, spans []store.Span) error {
	if err := errors.Join(ctx.Err(), o.ctx.Err()); err != nil {
		return cause(ctx, o.ctx)
	}
	if o.closed.Load() {
		return fs.ErrClosed
	}
	var missing []store.Span
	for _, s := range spans {
		if len(s.P) == 0 || o.fillFromMemory(s) {
			continue
		}
		lacks := o.fromDisk(s.P, s.Off)
		o.driver.bytes.Add(int64(len(s.P)))
		for _, l := range lacks {
			o.driver.bytes.Add(-int64(len(l.P)))
		}
		missing = append(missing, lacks...)
	}
	if len(missing) == 0 {
		return nil
	}
	return o.fetch(ctx, missing)
}

// cause returns the error of the first context that has one.
func cause(all ...context.Context) error {
	for _, ctx := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// fillFromMemory fills a span with what came with the object, and reports whether that was enough.
func (o *object) fillFromMemory(s store.Span) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := s.Off - o.at
	if from < 0 || from+int64(len(s.P)) > int64(len(o.head)) {
		return false
	}
	copy(s.P, o.head[from:])
	return true
}

// fetch fills spans from the object below, and keeps them.
func (o *object) fetch(ctx context.Context, spans []store.Span) error {
	below, err := o.open(spans[0])
	if err != nil {
		return err
	}
	o.driver.misses.Add(1)
	if err := store.ReadRanges(ctx, below, spans); err != nil {
		return err
	}
	for _, s := range spans {
		o.keep(s.Off, slices.Clone(s.P))
	}
	return nil
}

// open returns the object below, of the same version. It comes with the bytes of a span.
func (o *object) open(first store.Span) (store.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.below != nil {
		return o.below, nil
	}
	b, err := o.driver.base.get(o.ctx)
	if err != nil {
		return nil, err
	}
	below, err := store.OpenFor(o.ctx, b, o.key, store.Want{
		Off: first.Off, N: int64(len(first.P)), Version: o.info.Version})
	if err == nil && (below.Info().Version != o.info.Version || below.Size() != o.info.Size) {
		below.Close()
		err = store.ErrChanged
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("it was removed: %w", store.ErrChanged)
	}
	if errors.Is(err, store.ErrChanged) {
		o.driver.doubt(o.key)
	}
	if err == nil {
		o.below = below
	}
	return below, err
}
