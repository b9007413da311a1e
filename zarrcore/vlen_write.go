package zarrcore

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
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
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
		return catalog.ErrVersion1
	}
	return v.chain.Writable()
}

// takeOnce is one try of takeInto.
func (h *Hierarchy) takeOnce(ctx context.Context, path string, durable bool, fill func(v *VlenArray, s *lines.Spool) (from, rows int64, err error)) error {
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
	defer v.home.Close()
	s := lines.NewSpool(h.scratch)
	defer s.Close()
	from, rows, err := fill(v, s)
	if err == nil {
		err = v.storeRows(ctx, s, from, rows)
	}
	if err == nil && durable {
		err = h.undurable.Sync(ctx, v.home.Store, path)
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
	if v.home, err = a.h.catalog.Home(ctx, a.path, a.path, a.meta.Format); err != nil {
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

// storeRows makes what s holds rows [from, rows), the last ones, of the array.
// The document is stored last: a program that finds it, after a kill too, finds nothing
// beyond it that was cut. But for that of an array whose objects end where it
// does, of which none may have fewer rows than the document says.
func (v *VlenArray) storeRows(ctx context.Context, s *lines.Spool, from, rows int64) error {
	before := v.a.rows()
	if s.Len() == 0 && rows == before {
		return nil
	}
	w, err := newVlenWriter(v, s, from, rows)
	if err != nil {
		return err
	}
	defer v.a.h.vlens.stored(v.a.path)
	if rows > before {
		if err := w.clearNew(ctx); err != nil {
			return err
		}
	}
	if err := w.storeAll(ctx); err != nil || rows == before {
		return err
	}
	if rows < before && !v.a.objects.Bounded() {
		if err := w.deleteBehind(ctx); err != nil {
			return err
		}
	}
	if err := w.relay(ctx); err != nil {
		return err
	}
	if rows < before && v.a.objects.Bounded() {
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
	if r.key, doc, r.cond, err = v.home.Reshaped(ctx, a.meta.Shape, meta.ShapeOfRows(a.meta.Shape, rows)); err != nil {
		return nil, err
	}
	if r.staged, err = catalog.StageDurably(ctx, v.home.Store, r.key, doc); err != nil {
		return nil, err
	}
	return r, nil
}

// commit puts the document in its place.
func (r *stagedRows) commit(ctx context.Context) error {
	h := r.a.h
	if err := h.catalog.DropConsolidated(ctx, r.a.path); err != nil {
		return err
	}
	if _, err := r.staged.Commit(ctx, r.cond); err != nil {
		return err
	}
	h.undurable.Note(r.a.path, r.key)
	return nil
}

// discard removes what is not in its place.
func (r *stagedRows) discard() { r.staged.Discard() }

// reshapeVlen is reshape for elements of no fixed size.
func (h *Hierarchy) reshapeVlen(ctx context.Context, n *Node, c meta.Change) error {
	rowsOnly := slices.Equal(c.Shape[1:], n.Meta.Shape[1:])
	return h.takeInto(ctx, n.Path, true, func(v *VlenArray, _ *lines.Spool) (from, rows int64, err error) {
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
	in    *lines.Spool
	after *Array           // of the new shape: it numbers chunks and objects
	rows  int64            // that the array is to have
	first int64            // element of those that are written
	room  *chunk.Semaphore // of the memory in which objects are encoded
}

func newVlenWriter(v *VlenArray, s *lines.Spool, from, rows int64) (*vlenWriter, error) {
	m, err := v.a.meta.WithShape(meta.ShapeOfRows(v.a.meta.Shape, rows))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFixedSize, err)
	}
	after := &Array{h: v.a.h, id: v.a.id, path: v.a.path, meta: m}
	if err := v.cut(after); err != nil {
		return nil, fmt.Errorf("%w: the codecs do not fit the chunks of %d rows: %v", iofs.ErrInvalid, rows, err)
	}
	if after.grid.Size() > maxVlen {
		return nil, fmt.Errorf("%w: %d elements of no fixed size, expected at most %d", iofs.ErrInvalid, after.grid.Size(), int64(maxVlen))
	}
	w := &vlenWriter{v: v, in: s, after: after, rows: rows, room: chunk.NewSemaphore(v.a.h.vlens.limit())}
	largest, err := v.chains.OfShape(m.Chunk)
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
	if w.in.Len() == 0 && w.rows > w.v.a.rows() {
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
		jobs[i] = &vlenJob{number: first + int64(i), key: w.after.objects.Key(first + int64(i))}
	}
	parallel.Each(h.workers, len(jobs), func(i int) {
		jobs[i].err = compress.Guard(func() error { return tooLarge(w.prepare(ctx, jobs[i])) })
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
	if err := w.v.home.Store.SyncStaged(ctx, staged); err != nil {
		return err
	}
	if ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	parallel.Each(h.workers, len(jobs), func(i int) { jobs[i].err = w.commit(ctx, jobs[i]) })
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
		if err = w.v.home.Store.Delete(ctx, j.key, j.cond); errors.Is(err, iofs.ErrNotExist) {
			return nil
		}
	}
	if err == nil {
		w.v.a.h.undurable.Note(w.v.a.path, j.key)
		w.v.a.watch.Forget()
	}
	return err
}

// deleteBehind deletes the objects all of whose rows are behind the array's end,
// durably: otherwise a power cut may undo that, but not what is stored after it.
func (w *vlenWriter) deleteBehind(ctx context.Context) error {
	var gone []string
	err := scan.Each(ctx, w.v.home.Store, w.v.a.objects.Keys, func(n int64) {
		if start, _, _ := w.v.a.objects.Rows(n); start >= w.rows {
			gone = append(gone, w.v.a.objects.Key(n))
		}
	})
	if err := w.deleteAll(ctx, gone, err); err != nil {
		return err
	}
	return w.v.a.h.undurable.Sync(ctx, w.v.home.Store, w.v.a.path)
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
