package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// This file stores rows of an array whose elements have no fixed size. Objects
// are encoded and staged, up to vlenBatch of them before the first is put in its
// place: what cannot be encoded, or finds no room, then changes nothing.

// vlenBatch is how many objects change together.
const vlenBatch = 4096

// Writable returns nil, or why the array cannot be written to.
func (v *VlenArray) Writable() error {
	switch {
	case !v.a.h.Writable():
		return store.ErrReadOnly
	case v.a.meta.Format == 1:
		return errVersion1
	}
	return v.chain.Writable()
}

// takeOnce is one try of takeInto.
func (h *Hierarchy) takeOnce(ctx context.Context, path string, durable bool, fill func(v *VlenArray, s *spool) (from, rows int64, err error)) error {
	v, err := h.OpenVlen(ctx, path)
	if err != nil {
		return err
	}
	if err := v.Writable(); err != nil {
		return &Error{Op: "write", Path: path, Err: err}
	}
	if err := v.findHome(ctx); err != nil {
		return err
	}
	defer v.home.close()
	s := newSpool(h.scratch)
	defer s.close()
	from, rows, err := fill(v, s)
	if err == nil {
		err = v.storeRows(ctx, s, from, rows)
	}
	if err == nil && durable {
		err = h.syncDirsIn(ctx, v.home.st, path)
	}
	var known *Error
	if err != nil && !errors.As(err, &known) {
		err = &Error{Op: "write", Path: path, Err: err}
	}
	return err
}

// findHome holds the array's directory open, for what is stored in it.
func (v *VlenArray) findHome(ctx context.Context) (err error) {
	a := v.a
	if v.home, err = a.h.openHome(ctx, a.path, a.path, a.meta.Format); err != nil {
		return err
	}
	n, err := a.h.arrayNodeIn(ctx, v.home.st, a.path)
	if err == nil && n.Version != a.version {
		err = fmt.Errorf("%w: its document was replaced", store.ErrConflict)
	}
	if err != nil {
		v.home.close()
	}
	return err
}

// storeRows makes what s holds rows [from, rows), the last ones, of the array.
// The document is stored last: who finds it, after a kill too, finds nothing
// beyond it that was cut. But for that of an array whose objects end where it
// does, of which none may have fewer rows than the document says.
func (v *VlenArray) storeRows(ctx context.Context, s *spool, from, rows int64) error {
	before := v.a.rows()
	if s.n == 0 && rows == before {
		return nil
	}
	w, err := newVlenWriter(v, s, from, rows)
	if err != nil {
		return err
	}
	if rows > before {
		if err := w.clearNew(ctx); err != nil {
			return err
		}
	}
	if err := w.storeAll(ctx); err != nil || rows == before {
		return err
	}
	if rows < before && !v.a.bounded() {
		if err := w.deleteBehind(ctx); err != nil {
			return err
		}
	}
	if err := w.relay(ctx); err != nil {
		return err
	}
	if rows < before && v.a.bounded() {
		return w.deleteBehind(ctx)
	}
	return nil
}

// A stagedRows is the document of an array with another length of axis 0, on its
// way to the store.
type stagedRows struct {
	a      *Array
	key    string
	staged *store.Staged
	cond   store.If
}

// stageRows stages the length of axis 0, unless the array is another one by now.
func (v *VlenArray) stageRows(ctx context.Context, rows int64) (*stagedRows, error) {
	a := v.a
	r := &stagedRows{a: a}
	var doc []byte
	var err error
	if r.key, doc, r.cond, err = a.reshaped(ctx, v.home.st, a.meta.Shape, withRows(a.meta.Shape, rows)); err != nil {
		return nil, err
	}
	if r.staged, err = stageDurably(ctx, v.home.st, r.key, doc); err != nil {
		return nil, err
	}
	return r, nil
}

// commit puts the document in its place.
func (r *stagedRows) commit(ctx context.Context) error {
	h := r.a.h
	if err := h.dropConsolidated(ctx, r.a.path); err != nil {
		return err
	}
	if _, err := r.staged.Commit(ctx, r.cond); err != nil {
		return err
	}
	h.undurable.note(r.a.path, r.key)
	return nil
}

// discard removes what is not in its place.
func (r *stagedRows) discard() { r.staged.Discard() }

// withRows returns a shape with another length of axis 0, if it has one.
func withRows(shape []int64, rows int64) []int64 {
	shape = slices.Clone(shape)
	if len(shape) > 0 {
		shape[0] = rows
	}
	return shape
}

// reshapeVlen is reshape for elements of no fixed size.
func (h *Hierarchy) reshapeVlen(ctx context.Context, n *Node, c meta.Change) error {
	rowsOnly := slices.Equal(c.Shape[1:], n.Meta.Shape[1:])
	return h.takeInto(ctx, n.Path, true, func(v *VlenArray, _ *spool) (from, rows int64, err error) {
		if rowsOnly {
			return min(v.a.rows(), c.Shape[0]), c.Shape[0], nil
		}
		if err := h.putChange(ctx, n, c); err != nil {
			return 0, 0, err
		}
		return v.a.rows(), v.a.rows(), h.deleteOutsideVlen(ctx, v)
	})
}

// deleteOutsideVlen deletes the objects of before, which had another shape, that
// lie outside the array.
func (h *Hierarchy) deleteOutsideVlen(ctx context.Context, before *VlenArray) error {
	v, err := h.OpenVlen(ctx, before.a.path)
	if err != nil {
		return err
	}
	return v.a.deleteOutside(ctx, before.a)
}

// A vlenWriter stores rows of one array.
type vlenWriter struct {
	v     *VlenArray
	in    *spool
	after *Array // of the new shape: it numbers chunks and objects
	rows  int64  // that the array is to have
	first int64  // element of those that are written
	room  *room
}

func newVlenWriter(v *VlenArray, s *spool, from, rows int64) (*vlenWriter, error) {
	m, err := v.a.meta.WithShape(withRows(v.a.meta.Shape, rows))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFixedSize, err)
	}
	after := &Array{h: v.a.h, id: v.a.id, path: v.a.path, prefix: v.a.prefix, meta: m}
	if err := v.cut(after); err != nil {
		return nil, fmt.Errorf("%w: the codecs do not fit the chunks of %d rows: %v", iofs.ErrInvalid, rows, err)
	}
	if after.grid.Size() > maxVlen {
		return nil, fmt.Errorf("%w: %d elements of no fixed size, expected at most %d", iofs.ErrInvalid, after.grid.Size(), int64(maxVlen))
	}
	w := &vlenWriter{v: v, in: s, after: after, rows: rows, room: newRoom(v.a.h.vlens.limit())}
	largest, err := v.chainOf(m.Chunk)
	if err == nil {
		err = tooLarge(largest.Fits(v.a.h.vlens.limit()))
	}
	if err != nil {
		return nil, err
	}
	if len(m.Shape) > 0 {
		w.first = from * after.grid.RowBytes() // elements
	}
	return w, nil
}

// storeAll stores all objects that hold rows which are written, or which are
// behind the end now, but for those that relay stores.
func (w *vlenWriter) storeAll(ctx context.Context) error {
	first, end := w.written()
	relaid, steady := w.relaid()
	if relaid == steady {
		return w.storeObjects(ctx, first, end, nil)
	}
	if err := w.storeObjects(ctx, first, min(relaid, end), nil); err != nil {
		return err
	}
	return w.storeObjects(ctx, max(steady, first), end, nil)
}

// written returns which objects, from first to before end, hold rows that are
// written or that are behind the end now.
func (w *vlenWriter) written() (first, end int64) {
	if w.in.n == 0 && w.rows > w.v.a.rows() {
		return 0, 0 // all of the new rows are fill value
	}
	end = w.after.objects.Chunks()
	if w.first > 0 && end > 0 {
		row := w.first / w.after.grid.RowBytes()
		at := w.after.objects.CoordOf(0, row)
		first = at * (end / w.after.objects.Counts()[0])
		if start, _ := w.after.objects.Extent(0, at); row == w.rows && row == start {
			return 0, 0 // the cut is between objects
		}
	}
	return first, end
}

// storeObjects stores the objects from first to before end. It calls ready, if
// there is one, before it changes any of them.
func (w *vlenWriter) storeObjects(ctx context.Context, first, end int64, ready func() error) error {
	for first < end {
		n := min(end-first, vlenBatch)
		if err := w.storeBatch(ctx, first, n, ready); err != nil {
			return err
		}
		first += n
		ready = nil
	}
	return nil
}

// A vlenJob is one object on its way to the store.
type vlenJob struct {
	number int64
	key    string
	cond   store.If
	staged *store.Staged // nil: the object is to be deleted
	put    *store.Info   // of the object, once it is in its place
	same   bool          // it stays as it is
	unlock func()        // nil: the object is not locked
	err    error
}

// storeBatch stores n objects from first on, and calls ready, if there is one,
// when they are staged.
func (w *vlenWriter) storeBatch(ctx context.Context, first, n int64, ready func() error) error {
	h := w.v.a.h
	jobs := make([]*vlenJob, n)
	defer func() {
		for _, j := range jobs {
			j.end()
		}
	}()
	for i := range jobs {
		jobs[i] = &vlenJob{number: first + int64(i), key: w.after.objectKey(first + int64(i))}
	}
	each(h.workers, len(jobs), func(i int) {
		jobs[i].err = guard(func() error { return tooLarge(w.prepare(ctx, jobs[i])) })
	})
	var staged []*store.Staged
	for _, j := range jobs {
		if j.err != nil {
			return &Error{Op: "store", Path: w.v.a.path, Key: j.key, Err: j.err}
		}
		if j.staged != nil {
			staged = append(staged, j.staged)
		}
	}
	if err := w.v.home.st.SyncStaged(ctx, staged); err != nil {
		return err
	}
	if ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	each(h.workers, len(jobs), func(i int) { jobs[i].err = w.commit(ctx, jobs[i]) })
	if err := w.checkHome(ctx, jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.err != nil {
			return &Error{Op: "store", Path: w.v.a.path, Key: j.key, Err: j.err}
		}
	}
	return nil
}

// checkHome makes sure that what was stored is in the array; see draft.checkHome.
func (w *vlenWriter) checkHome(ctx context.Context, jobs []*vlenJob) error {
	a := w.v.a
	err := w.v.home.holds(ctx, a.h, a.path, a.meta)
	if errors.Is(err, errOrphan) {
		put := map[string]store.Info{}
		for _, j := range jobs {
			if j.put != nil {
				put[j.key] = *j.put
			}
		}
		w.v.home.takeBack(ctx, put)
	}
	return err
}

// tooLarge makes it the writer's doing that a chunk would be larger than one may
// be to be read.
func tooLarge(err error) error {
	if errors.Is(err, compress.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", iofs.ErrInvalid, err)
	}
	return err
}

// end gives back what the job holds of the store.
func (j *vlenJob) end() {
	if j.staged != nil {
		j.staged.Discard()
	}
	if j.unlock != nil {
		j.unlock()
	}
}

// commit puts the object in its place.
func (w *vlenWriter) commit(ctx context.Context, j *vlenJob) (err error) {
	switch {
	case j.same:
		return nil
	case j.staged != nil:
		var info store.Info
		if info, err = j.staged.Commit(ctx, j.cond); err == nil {
			j.put = &info
		}
	default:
		if err = w.v.home.st.Delete(ctx, j.key, j.cond); errors.Is(err, iofs.ErrNotExist) {
			return nil
		}
	}
	if err == nil {
		w.v.a.h.undurable.note(w.v.a.path, j.key)
		w.v.a.forgetScan()
	}
	return err
}

// prepare encodes and stages an object. What stays of it is read under its lock.
func (w *vlenWriter) prepare(ctx context.Context, j *vlenJob) (err error) {
	h := w.v.a.h
	var old *source
	if w.keeps(j.number) {
		if j.unlock, err = h.store.Lock(ctx, j.key); err != nil {
			return err
		}
		if old, j.cond, err = w.open(ctx, j.key); err != nil {
			return err
		}
		if old != nil {
			defer old.Close()
		}
	}
	done, err := w.reserve(j.number)
	if err != nil {
		return err
	}
	defer done()
	object, err := w.object(j, old)
	if err != nil || object == nil {
		return err
	}
	h.count.stored.Add(int64(len(object)))
	j.staged, err = w.v.home.st.Stage(ctx, j.key, object)
	return err
}

// keeps reports whether an object has rows before those that are written.
func (w *vlenWriter) keeps(object int64) bool {
	if w.first == 0 {
		return false
	}
	start, _, _ := w.after.objects.Rows(object)
	return start*w.after.grid.RowBytes() < w.first
}

// open opens the stored object; nil if there is none.
func (w *vlenWriter) open(ctx context.Context, key string) (*source, store.If, error) {
	obj, err := w.v.home.st.Open(ctx, key)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, store.If{Version: store.Absent}, nil
	}
	if err != nil {
		return nil, store.If{}, err
	}
	return &source{Object: obj, a: w.v.a, key: key}, store.If{Version: obj.Info().Version}, nil
}

// object encodes an object; nil if there is to be none. What a shard holds
// besides stays as it is, byte for byte.
func (w *vlenWriter) object(j *vlenJob, old *source) ([]byte, error) {
	var pieces []codec.Piece
	chain, failed := w.v.chainOf(w.after.shapeOf(j.number))
	relaid := w.relays(j.number)
	w.after.eachChunk(j.number, func(n, inner int64) {
		if failed != nil || !relaid && w.untouched(n) {
			return
		}
		piece := codec.Piece{Inner: inner}
		if n < w.after.grid.Chunks() { // else it is behind the end
			piece.Data, failed = w.chunk(chain, n, inner, old)
		}
		pieces = append(pieces, piece)
	})
	if j.same = len(pieces) == 0; failed != nil || j.same {
		return nil, failed
	}
	var src codec.Source
	if old != nil && !relaid {
		src = old
	}
	object, empty, err := chain.Assemble(nil, src, pieces)
	if err != nil || empty {
		return nil, err
	}
	return object, nil
}

// untouched reports that all rows of a chunk stay.
func (w *vlenWriter) untouched(chunk int64) bool {
	_, end, _ := w.after.grid.Rows(chunk)
	return w.first > 0 && end*w.after.grid.RowBytes() <= w.first
}

// chunk encodes a chunk; nil if all of it is fill value.
func (w *vlenWriter) chunk(chain *codec.Vlen, n, inner int64, old *source) ([]byte, error) {
	h := w.v.a.h
	e, err := w.gather(chain, n, inner, old)
	if err != nil || !h.keepFill && w.v.fillIsElement() && isFillElement(e, w.v.chain.Fill().At(0)) {
		return nil, err
	}
	h.count.encoded.Add(1)
	return chain.Encode(nil, e, h.vlens.limit())
}

// fillIsElement reports that a missing chunk is the fill value for everybody. In
// format 2 it may be null or 0, which libraries show as such, and not as the
// empty elements that are stored in their place.
func (v *VlenArray) fillIsElement() bool {
	fill := v.a.meta.Fill
	switch {
	case v.a.meta.Format == 3, v.Kind() == vlen.JSON:
		return true
	}
	return v.Kind() == vlen.Text && len(fill) > 0 && fill[0] == '"'
}

// isFillElement reports that all elements are fill.
func isFillElement(e *vlen.Elements, fill []byte) bool {
	for i := range e.Len() {
		if string(e.At(i)) != string(fill) {
			return false
		}
	}
	return true
}

// gather returns a chunk's elements: those before the first that is written as
// they are stored, and fill value in the padding.
func (w *vlenWriter) gather(chain *codec.Vlen, n, inner int64, old *source) (*vlen.Elements, error) {
	limit, fill := w.v.a.h.vlens.limit(), w.v.chain.Fill()
	e := &vlen.Elements{Kind: fill.Kind, Item: fill.Item, Data: slices.Clone(fill.At(0)), Spans: make([]vlen.Span, chain.Count())}
	for i := range e.Spans {
		e.Spans[i] = vlen.Span{Len: uint32(len(e.Data))}
	}
	var before *vlen.Elements
	var err error
	if old != nil {
		object, _, _ := w.after.objectOf(n)
		if before, err = w.v.decode(w.v.a.shapeOf(object), old, inner); errors.Is(err, codec.ErrEmpty) {
			before, err = nil, nil
		}
	}
	box := w.after.grid.Box(n)
	for flat, in := range box.Runs() {
		kept := min(max(w.first-flat, 0), box.RunLen)
		if before != nil {
			for k := in; k < in+kept; k++ {
				at := len(e.Data)
				e.Data = append(e.Data, before.At(k)...)
				e.Spans[k] = vlen.Span{Off: uint32(at), Len: uint32(len(e.Data) - at)}
			}
		}
		if err == nil && kept < box.RunLen && w.in.n > 0 {
			err = w.in.load(e, e.Spans[in+kept:in+box.RunLen], flat+kept-w.first, limit)
		}
		if err != nil {
			return nil, err
		}
	}
	return e, err
}

// reserve waits until there is memory to encode an object in, and returns what
// gives it back.
func (w *vlenWriter) reserve(object int64) (done func(), err error) {
	if w.in.data.size <= leastVlenChunk/4 {
		return func() {}, nil
	}
	bytes := int64(0)
	w.after.eachChunk(object, func(n, _ int64) {
		if n >= w.after.grid.Chunks() || err != nil {
			return
		}
		box := w.after.grid.Box(n)
		for flat := range box.Runs() {
			if lo := max(flat, w.first); lo < flat+box.RunLen && err == nil {
				var k int64
				k, err = w.in.bytes(lo-w.first, flat+box.RunLen-lo)
				bytes += k
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return w.room.take(bytes), nil
}

// deleteBehind deletes the objects all of whose rows are behind the array's end,
// durably: else a power cut may undo that, but not what is stored after it.
func (w *vlenWriter) deleteBehind(ctx context.Context) error {
	var gone []string
	err := w.v.a.eachObjectIn(ctx, w.v.home.st, func(n int64) {
		if start, _, _ := w.v.a.objects.Rows(n); start >= w.rows {
			gone = append(gone, w.v.a.objectKey(n))
		}
	})
	if err := w.deleteAll(ctx, gone, err); err != nil {
		return err
	}
	return w.v.a.h.syncDirsIn(ctx, w.v.home.st, w.v.a.path)
}

// deleteAll deletes objects, unless finding them has failed.
func (w *vlenWriter) deleteAll(ctx context.Context, keys []string, err error) error {
	for _, key := range keys {
		if err == nil {
			err = w.commit(ctx, &vlenJob{key: key})
		}
	}
	return err
}

// A room is memory that several take from. One who needs more than all of it has
// it alone.
type room struct {
	mu   sync.Mutex
	free *sync.Cond
	all  int64
	used int64
}

func newRoom(all int64) *room {
	r := &room{all: all}
	r.free = sync.NewCond(&r.mu)
	return r
}

// take waits for n bytes and returns what gives them back.
func (r *room) take(n int64) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.used > 0 && r.used+n > r.all {
		r.free.Wait()
	}
	r.used += n
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.used -= n
		r.free.Broadcast()
	}
}
