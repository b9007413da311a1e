package vlenarray

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/lines"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file stores rows of an array whose elements have no fixed size. Objects
// are encoded and staged, up to batch of them before the first is put in its
// place: what cannot be encoded, or finds no room, then changes nothing.

// maxConflicts is how often is tried again what another writer was faster with.
const maxConflicts = 100

// batch is how many objects change together.
const batch = 4096

// Writable returns nil, or why the array cannot be written to.
func (v *Array) Writable() error {
	switch {
	case v.a.t.ReadOnly || !v.a.t.Store.IsWritable():
		return store.ErrReadOnly
	case v.a.meta.Format == 1:
		return catalog.ErrVersion1
	}
	return v.chain.Writable()
}

// takeOnce is one try of takeInto.
func (t *Table) takeOnce(ctx context.Context, path string, durable bool, fill filler) error {
	v, err := t.Open(ctx, path)
	if err != nil {
		return err
	}
	if err := v.Writable(); err != nil {
		return &catalog.Error{Op: "write", Path: path, Err: err}
	}
	if err := v.findHome(ctx); err != nil {
		return err
	}
	defer v.home.Close()
	s := lines.NewSpool(t.Scratch)
	defer s.Close()
	from, rows, err := fill(v, s)
	if err == nil {
		err = v.storeRows(ctx, s, from, rows)
	}
	if err == nil && durable {
		err = t.Durable.Sync(ctx, v.home.Store, path)
	}
	var known *catalog.Error
	if err != nil && !errors.As(err, &known) {
		err = &catalog.Error{Op: "write", Path: path, Err: err}
	}
	return err
}

// findHome holds the array's directory open, for what is stored in it.
func (v *Array) findHome(ctx context.Context) (err error) {
	a := v.a
	if v.home, err = a.t.Catalog.Home(ctx, a.path, a.path, a.meta.Format); err != nil {
		return err
	}
	n, err := v.home.Array(ctx)
	if err == nil && n.Version != a.version {
		err = fmt.Errorf("%w: its document was replaced", store.ErrConflict)
	}
	if err != nil {
		v.home.Close()
	}
	return err
}

// storeRows stores what s holds as rows [from, rows), the last ones, of the array. The document is
// stored last: a program that finds it finds no truncated rows beyond it, even after a kill. Arrays
// whose edge objects end with the array are an exception: no object may have fewer rows than the
// document says.
func (v *Array) storeRows(ctx context.Context, s *lines.Spool, from, rows int64) error {
	before := v.a.rows()
	if s.Len() == 0 && rows == before {
		return nil
	}
	w, err := newWriter(v, s, from, rows)
	if err != nil {
		return err
	}
	defer v.a.t.stored(v.a.path)
	defer v.home.Touch(ctx)
	if rows > before {
		if err := w.clearNew(ctx); err != nil {
			return err
		}
	}
	if err := w.storeAll(ctx); err != nil || rows == before {
		return err
	}
	if rows < before && !v.a.objects.IsBounded() {
		return w.cutRows(ctx)
	}
	if err := w.relay(ctx); err != nil {
		return err
	}
	if rows < before && v.a.objects.IsBounded() {
		return w.deleteBehind(ctx)
	}
	return nil
}

// A stagedRows is the document of an array with another length of axis 0, on its
// way to the store.
type stagedRows struct {
	a      *place
	key    string
	staged *store.Staged
	cond   store.If
}

// stageRows stages the length of axis 0, unless the array is another one by now.
func (v *Array) stageRows(ctx context.Context, rows int64) (*stagedRows, error) {
	a := v.a
	r := &stagedRows{a: a}
	var doc []byte
	var err error
	longer := meta.ShapeOfRows(a.meta.Shape, rows)
	if r.key, doc, r.cond, err = v.home.Reshaped(ctx, a.meta.Shape, longer); err != nil {
		return nil, err
	}
	if r.staged, err = catalog.StageDurably(ctx, v.home.Store, r.key, doc); err != nil {
		return nil, err
	}
	return r, nil
}

// commit puts the document in its place.
func (r *stagedRows) commit(ctx context.Context) error {
	if err := r.a.t.Catalog.DropConsolidated(ctx, r.a.path); err != nil {
		return err
	}
	if _, err := r.staged.Commit(ctx, r.cond); err != nil {
		return err
	}
	r.a.t.Durable.Note(r.a.path, r.key)
	return nil
}

// discard removes what is not in its place.
func (r *stagedRows) discard() { r.staged.Discard() }

// Reshape gives the array that n describes another shape. Where axes other than the first change,
// put stores the document.
func (t *Table) Reshape(
	ctx context.Context, n *catalog.Node, shape []int64, put func() error) error {
	rowsOnly := slices.Equal(shape[1:], n.Meta.Shape[1:])
	fill := func(v *Array, _ *lines.Spool) (from, rows int64, err error) {
		if rowsOnly {
			return min(v.a.rows(), shape[0]), shape[0], nil
		}
		if err := put(); err != nil {
			return 0, 0, err
		}
		return v.a.rows(), v.a.rows(), t.deleteOutside(ctx, v)
	}
	return t.takeInto(ctx, n.Path, true, fill)
}

// deleteOutside deletes the objects of before that lie outside the array in its new shape.
func (t *Table) deleteOutside(ctx context.Context, before *Array) error {
	v, err := t.Open(ctx, before.a.path)
	if err != nil {
		return err
	}
	gone, err := scan.Outside(ctx, t.Store, before.a.objects.Keys, v.a.objects.Keys)
	for _, key := range gone {
		if err == nil {
			err = t.Durable.Delete(ctx, t.Store, v.a.path, key, store.If{})
		}
	}
	return err
}

// A writer stores rows of one array.
type writer struct {
	v     *Array
	in    *lines.Spool
	after *place           // of the new shape: it numbers chunks and objects
	rows  int64            // that the array is to have
	first int64            // element of those that are written
	room  *chunk.Semaphore // of the memory in which objects are encoded
}

func newWriter(v *Array, s *lines.Spool, from, rows int64) (*writer, error) {
	m, err := v.a.meta.WithShape(meta.ShapeOfRows(v.a.meta.Shape, rows))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", object.ErrFixedSize, err)
	}
	after := &place{t: v.a.t, id: v.a.id, path: v.a.path, meta: m}
	if err := v.cut(after); err != nil {
		return nil, fmt.Errorf("%w: the codecs do not fit the chunks of %d rows: %v",
			iofs.ErrInvalid, rows, err)
	}
	if after.grid.Size() > maxElements {
		return nil, fmt.Errorf("%w: %d elements of no fixed size, expected at most %d",
			iofs.ErrInvalid, after.grid.Size(), int64(maxElements))
	}
	w := &writer{v: v, in: s, after: after, rows: rows, room: chunk.NewSemaphore(v.a.t.limit())}
	largest, err := v.chains.OfShape(m.Chunk)
	if err == nil {
		err = tooLarge(largest.Fits(v.a.t.limit()))
	}
	if err != nil {
		return nil, err
	}
	if len(m.Shape) > 0 {
		w.first = from * after.grid.RowBytes() // elements
	}
	return w, nil
}

// storeAll stores all objects with written rows, or with rows behind the new end, except those that
// relay or cutRows stores.
func (w *writer) storeAll(ctx context.Context) error {
	first, end := w.written()
	late, steady := w.last()
	if late == steady {
		return w.storeObjects(ctx, first, end, nil)
	}
	if err := w.storeObjects(ctx, first, min(late, end), nil); err != nil {
		return err
	}
	return w.storeObjects(ctx, max(steady, first), end, nil)
}

// last returns which objects, from first to before end, are stored together with the document.
func (w *writer) last() (first, end int64) {
	if w.v.a.objects.IsBounded() {
		return w.relaid()
	}
	return w.trimmed()
}

// trimmed returns the range [first, end) of the objects that hold rows before and behind the new
// end.
func (w *writer) trimmed() (first, end int64) {
	if w.rows >= w.v.a.rows() || w.after.objects.Chunks() == 0 {
		return 0, 0
	}
	at := w.v.a.objects.CoordOf(0, w.rows)
	if start, _ := w.v.a.objects.Extent(0, at); start == w.rows {
		return 0, 0
	}
	per := w.after.objects.Chunks() / w.after.objects.Counts()[0]
	return at * per, (at + 1) * per
}

// cutRows takes the rows behind the end out of the objects, and then stores the document. Nobody
// reads between: a program that has found the old document would find fill values there.
func (w *writer) cutRows(ctx context.Context) error {
	put, err := w.v.stageRows(ctx, w.rows)
	if err != nil {
		return err
	}
	defer put.discard()
	defer w.v.a.t.relaying.Stop(w.v.a.path)()
	defer w.v.a.t.cuts.Add(1)
	first, end := w.trimmed()
	if err := w.storeObjects(ctx, first, end, nil); err != nil {
		return err
	}
	if err := w.deleteBehind(ctx); err != nil {
		return err
	}
	return put.commit(ctx)
}

// written returns the range [first, end) of the objects that hold written rows, or rows behind the
// new end.
func (w *writer) written() (first, end int64) {
	if w.in.Len() == 0 && w.rows > w.v.a.rows() {
		return 0, 0 // all of the new rows are fill value
	}
	end = w.after.objects.Chunks()
	if w.first > 0 && end > 0 {
		row := w.first / w.after.grid.RowBytes()
		at := w.after.objects.CoordOf(0, row)
		first = at * (end / w.after.objects.Counts()[0])
		if start, _ := w.after.objects.Extent(0, at); row == w.rows && row == start {
			return 0, 0 // the new end is between objects
		}
	}
	return first, end
}

// storeObjects stores the objects from first to before end. It calls ready, if
// there is one, before it changes any of them.
func (w *writer) storeObjects(ctx context.Context, first, end int64, ready func() error) error {
	for first < end {
		n := min(end-first, batch)
		if err := w.storeBatch(ctx, first, n, ready); err != nil {
			return err
		}
		first += n
		ready = nil
	}
	return nil
}

// A job is one object on its way to the store.
type job struct {
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
func (w *writer) storeBatch(ctx context.Context, first, n int64, ready func() error) error {
	jobs := make([]*job, n)
	defer func() {
		for _, j := range jobs {
			j.end()
		}
	}()
	for i := range jobs {
		jobs[i] = &job{number: first + int64(i), key: w.after.objects.Key(first + int64(i))}
	}
	parallel.Each(w.v.a.t.Workers, len(jobs), func(i int) {
		jobs[i].err = compress.Guard(func() error { return tooLarge(w.prepare(ctx, jobs[i])) })
	})
	var staged []*store.Staged
	for _, j := range jobs {
		if j.err != nil {
			return &catalog.Error{Op: "store", Path: w.v.a.path, Key: j.key, Err: j.err}
		}
		if j.staged != nil {
			staged = append(staged, j.staged)
		}
	}
	if err := w.v.home.Store.SyncStaged(ctx, staged); err != nil {
		return err
	}
	if ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	parallel.Each(w.v.a.t.Workers, len(jobs), func(i int) { jobs[i].err = w.commit(ctx, jobs[i]) })
	if err := w.checkHome(ctx, jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.err != nil {
			return &catalog.Error{Op: "store", Path: w.v.a.path, Key: j.key, Err: j.err}
		}
	}
	return nil
}

// checkHome makes sure that what was stored is in the array; nothing counts as stored otherwise.
func (w *writer) checkHome(ctx context.Context, jobs []*job) error {
	a := w.v.a
	err := w.v.home.Holds(ctx, a.meta)
	if errors.Is(err, catalog.ErrOrphan) {
		put := map[string]store.Info{}
		for _, j := range jobs {
			if j.put != nil {
				put[j.key] = *j.put
			}
		}
		w.v.home.TakeBack(ctx, put)
	}
	return err
}

// end gives back what the job holds of the store.
func (j *job) end() {
	if j.staged != nil {
		j.staged.Discard()
	}
	if j.unlock != nil {
		j.unlock()
	}
}

// commit puts the object in its place.
func (w *writer) commit(ctx context.Context, j *job) (err error) {
	switch {
	case j.same:
		return nil
	case j.staged != nil:
		var info store.Info
		if info, err = j.staged.Commit(ctx, j.cond); err == nil {
			j.put = &info
		}
	default:
		if err = w.v.home.Store.Delete(ctx, j.key, j.cond); errors.Is(err, iofs.ErrNotExist) {
			return nil
		}
	}
	if err == nil {
		w.v.a.t.Durable.Note(w.v.a.path, j.key)
		w.v.a.watch.Forget()
	}
	return err
}

// deleteBehind deletes the objects that have only rows behind the array's end. It does so
// durably: otherwise a power cut may undo that, but not what is stored after it.
func (w *writer) deleteBehind(ctx context.Context) error {
	var gone []string
	err := scan.Each(ctx, w.v.home.Store, w.v.a.objects.Keys, func(n int64) {
		if start, _, _ := w.v.a.objects.Rows(n); start >= w.rows {
			gone = append(gone, w.v.a.objects.Key(n))
		}
	})
	if err := w.deleteAll(ctx, gone, err); err != nil {
		return err
	}
	return w.v.a.t.Durable.Sync(ctx, w.v.home.Store, w.v.a.path)
}

// deleteAll deletes objects, unless finding them has failed.
func (w *writer) deleteAll(ctx context.Context, keys []string, err error) error {
	for _, key := range keys {
		if err == nil {
			err = w.commit(ctx, &job{key: key})
		}
	}
	return err
}
