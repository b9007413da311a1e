package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// maxConflicts is how often another program may replace a document that is being replaced.
const maxConflicts = 100

// This file stores drafts: chunks first, then what the document says of them. Where the array has
// become shorter, that keeps rows that were cut from coming back. A program that finds the new
// document, after a kill too, finds nothing beyond it.

// Flush stores what was written to the array, by any handle: objects first, then the document if
// the shape has changed. If durable is set it survives a power cut. An incomplete row at the end
// is dropped, which is ErrFraction.
func (a *Array) Flush(ctx context.Context, durable bool) error {
	now := a.arrived(ctx)
	if err := now.lineage.yield(ctx, now.draft); err != nil {
		return err
	}
	return now.draft.flush(ctx, durable)
}

// Save is Flush for a writer that may go on. An incomplete row at the end is ErrFraction too, but
// it stays, and what is written next may complete it.
func (a *Array) Save(ctx context.Context, durable bool) error {
	now := a.arrived(ctx)
	d := now.draft
	if err := now.lineage.yield(ctx, d); err != nil {
		return err
	}
	err := d.save(ctx, durable)
	if tail, row := d.live.Load().gen.Tail(); err == nil && tail > 0 {
		err = d.fail("store", fmt.Errorf("%w: %d bytes at the end, a row has %d",
			object.ErrFraction, tail, row))
	}
	return err
}

// Flush stores what was written to any array. A row that is still being written
// is left to its writer.
func (h *Arrays) Flush(ctx context.Context, durable bool) error {
	var all []error
	for _, d := range h.unsaved.all() {
		all = append(all, d.save(ctx, false))
	}
	if durable {
		all = append(all, h.syncAll(ctx))
	}
	return errors.Join(all...)
}

// syncAll makes durable where the objects of all arrays are found.
func (h *Arrays) syncAll(ctx context.Context) error {
	var all []error
	for _, path := range h.of.Durable.Paths() {
		if err := h.of.Durable.Sync(ctx, h.of.Store, path); err != nil {
			all = append(all, &catalog.Error{Op: "store", Path: path, Err: err})
		}
	}
	return errors.Join(all...)
}

// flush stores all there is. An incomplete row at the end is dropped.
func (d *draft) flush(ctx context.Context, durable bool) error {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	s := d.storer()
	defer s.leaveHome()
	err := s.storeIfBusy(ctx, true)
	if durable && (err == nil || errors.Is(err, object.ErrFraction)) {
		err = cmp.Or(s.sync(ctx), err)
	}
	return d.fail("store", err)
}

// save is a flush that no program has asked for. An incomplete row at the end may still be going
// on. So it is stored as it is, and does not count in the document.
func (d *draft) save(ctx context.Context, durable bool) error {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	s := d.storer()
	defer s.leaveHome()
	err := s.storeIfBusy(ctx, false)
	if durable && err == nil {
		err = s.sync(ctx)
	}
	return d.fail("store", err)
}

// sync makes durable where the objects are found. It looks for them where they were
// just stored, or where the array is now. The caller holds flushing.
func (s *storer) sync(ctx context.Context) error {
	s.mu.Lock()
	removed := s.removed
	s.mu.Unlock()
	if removed {
		return s.h.of.Durable.Sync(ctx, s.h.of.Store, s.path)
	}
	if s.home == nil && s.h.of.Durable.Any(s.path) {
		m, err := s.openHome(ctx)
		if errors.Is(err, iofs.ErrNotExist) {
			return fmt.Errorf("%w: it was removed, or renamed, before what was stored was made durable", catalog.ErrOrphan)
		}
		if err != nil {
			return err
		}
		s.home = m
	}
	if s.home == nil {
		return nil
	}
	return s.h.of.Durable.Sync(ctx, s.home.Store, s.path)
}

// storeIfBusy stores what there is to store; the caller holds flushing, and calls
// leaveHome. If ends is set, a last row that is not whole is dropped.
func (s *storer) storeIfBusy(ctx context.Context, ends bool) error {
	if !s.busy.Load() {
		return nil
	}
	if s.live.Load().gen.Objects.Bounded() {
		s.hold(1)
		defer s.hold(-1)
	}
	err := s.store(ctx, ends)
	s.conclude(ctx, err)
	return err
}

// conclude notes how a flush has ended. One that was interrupted says nothing of
// whether the array can be stored.
func (d *draft) conclude(ctx context.Context, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, object.ErrFraction) {
		d.failed.Note(err)
		d.h.of.Shared.Count.FlushErrors.Add(1)
		if d.set.Empty() && d.ahead.IsEmpty() && errors.Is(err, catalog.ErrOrphan) {
			d.h.of.Log.Error("the new size is not stored", "array", d.path, "err", err)
			d.giveUpSize()
			return
		}
		d.h.of.Log.Error(d.prospect(), "array", d.path, "bytes", d.set.Bytes(), "err", err)
		d.settled.Broadcast()
		return
	}
	d.settleError()
	d.ahead.Count(d.rows.Load())
	d.since = time.Time{}
	if d.set.Empty() && d.settledSize(d.live.Load().gen) { // otherwise something was written meanwhile
		d.busy.Store(false)
		d.h.unsaved.remove(d)
	} else {
		d.since = time.Now()
	}
}

// giveUpSize forgets that the array was to get another length, which is all that was to
// be stored of it, since it is no more. What asked for it was told. The caller holds mu.
func (d *draft) giveUpSize() {
	d.settleError()
	d.since = time.Time{}
	d.cuts.Forget()
	d.busy.Store(false)
	d.h.unsaved.remove(d)
}

// store is a whole flush; see storeIfBusy.
func (s *storer) store(ctx context.Context, ends bool) error {
	s.mu.Lock()
	removed, settled := s.removed, s.set.Empty() && s.settledAll(s.live.Load().gen)
	s.mu.Unlock()
	if removed {
		s.set.Drop()
		return nil
	}
	if settled { // in the background; the array may be another one by now
		return nil
	}
	if err := s.findHome(ctx); err != nil {
		return err
	}
	defer s.home.Touch(ctx)
	var fraction error
	if ends {
		fraction = s.dropFraction()
	}
	for tries := 0; ; tries++ {
		err := s.storeAll(ctx)
		if !errors.Is(err, errOvertaken) || tries == maxConflicts {
			return cmp.Or(err, fraction)
		}
		if err := s.reconcile(ctx); err != nil {
			return err
		}
	}
}

// errOvertaken says that another program has changed the array's length since it was found out which objects a cut concerns.
var errOvertaken = fmt.Errorf("%w: another program has changed its length", store.ErrConflict)

// storeAll stores the objects, and then the document. If it is errOvertaken, the cut is to be done again: of the array that is there then.
func (s *storer) storeAll(ctx context.Context) error {
	s.mu.Lock()
	a, rows, most := s.live.Load(), s.rows.Load(), s.cuts.Most()
	objects := a.gen.Objects.Holders(s.set.Numbers())
	s.mu.Unlock()
	if tail, _ := s.live.Load().gen.Tail(); tail > 0 && a.gen.Objects.Bounded() {
		return s.writer().Write(ctx, s.lasting(a, objects))
	}
	if !s.cuts.IsNone() {
		cut, err := s.cutObjects(ctx, a, max(rows, most, a.gen.Rows()), objects)
		if err != nil {
			return err
		}
		objects = append(objects, cut...)
		slices.Sort(objects)
		objects = slices.Compact(objects)
	}
	s.holdAhead()
	err := s.storeInOrder(ctx, a, rows, objects)
	if err = s.releaseAhead(ctx, err); err != nil {
		return err
	}
	s.mu.Lock()
	s.cuts.Settle()
	s.lengths.Settle(a.gen.WholeRows())
	s.mu.Unlock()
	return nil
}

// dropFraction cuts an incomplete row at the end.
func (d *draft) dropFraction() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	tail, row := d.live.Load().gen.Tail()
	if tail == 0 {
		return nil
	}
	d.h.of.Log.Warn("the last bytes are not a whole row and are dropped", "array", d.path, "bytes", tail, "row", row)
	if err := d.cut(d.live.Load().gen.WholeRows()); err != nil {
		return err
	}
	return fmt.Errorf("%w: the last %d bytes are dropped, a row has %d",
		object.ErrFraction, tail, row)
}

// reconcile makes sure that the array is still the one that the draft was made
// of. Other attributes do not matter, and rows that others have appended are taken
// in; another layout is a conflict. The caller has found the array's home.
func (s *storer) reconcile(ctx context.Context) error {
	if err := s.refused(); err != nil {
		return err
	}
	for {
		s.home.Look(ctx)
		known := s.h.open.version(s.draft)
		n, err := s.home.Node(ctx)
		if err != nil {
			return err
		}
		taken := n.Version == known
		if !taken {
			taken, err = s.takeIn(n, known)
		}
		if err != nil {
			return err
		}
		if taken {
			return s.checkAhead(ctx)
		}
	}
}

// takeIn lets the draft be of the array as n describes it. It reports false where
// the document that the draft is of is no longer the one that was known before n was
// read: then another one may be newer than n.
func (d *draft) takeIn(n *catalog.Node, known string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.h.open.version(d) != known {
		return false, nil
	}
	if n.Kind == catalog.DirectoryNode {
		return false, fmt.Errorf("%w: its document is not there", catalog.ErrOrphan)
	}
	switch {
	case n.Kind != catalog.ArrayNode || n.Err != nil:
	case d.matches(n.Meta) || d.join(n.Meta):
		d.h.open.setVersion(d, n.Version)
		d.ahead.IsDoubtful.Store(true)
		return true, nil
	case d.isShorter(d.live.Load().gen, n.Meta):
		return false, &unstored.CutError{Had: d.rows.Load(), Has: n.Meta.Shape[0]}
	}
	return false, fmt.Errorf("%w: its document was replaced by another", catalog.ErrOrphan)
}

// join takes in rows that another program has appended, also while this process
// stores what was written to the array. What was written here stays in its place;
// where both have appended, bytes that only one has written all count. Rows are cut
// of the array as it is then. The caller holds mu.
func (d *draft) join(m *meta.Array) bool {
	a := d.live.Load()
	if a.gen.Source != nil {
		return a.gen.Outlasts(m)
	}
	if len(m.Shape) == 0 || d.lengths.AnyOther() || !a.gen.Meta.SameLayout(m) {
		return false
	}
	rows, cut := m.Shape[0], d.cuts.Low()
	switch {
	case cut != unstored.NoCut:
		if rows < cut {
			return false
		}
		d.cuts.HadRows(d.rows.Load())
		d.cuts.CutFresh(a.gen.Rows()) // rows may have been appended to what was stored since the cut
	case min(rows, a.gen.Rows()) < d.rows.Load():
		return false
	case rows*a.gen.Grid.RowBytes() > a.Size():
		id := a.gen.ID
		if a.gen.Objects.Bounded() {
			id = d.h.open.nextID()
		}
		b, err := d.next(a.gen.WithRows(rows, rows*a.gen.Grid.RowBytes(), id))
		if err != nil {
			return false
		}
		b.newEpoch()
		d.adopt(b)
	}
	d.rows.Store(rows)
	d.lengths.Settle(rows)
	return true
}

// joinEarly takes in what another program has appended before a flush does. A program that opens
// the array now is then shown what is not stored yet. The version that counted before n was read
// is known; joinEarly reports again where another one counts by now. Where objects end with the
// array, a flush counts on the rows that it began with. The caller holds pair.
func (d *draft) joinEarly(n *catalog.Node, known string) (joined, again bool) {
	if d.busy.Load() && d.live.Load().gen.Objects.Bounded() {
		if !d.flushing.TryLock() {
			return false, true
		}
		defer d.flushing.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.h.open.version(d) != known {
		return false, true
	}
	if !d.busy.Load() || d.removed || d.failed.IsCut() ||
		d.matches(n.Meta) || !d.join(n.Meta) {
		return false, false
	}
	d.h.open.setVersion(d, n.Version)
	d.ahead.IsDoubtful.Store(true)
	return true, false
}

// putShape stores the length of axis 0, which was before when the objects were
// stored. Where another program makes the array longer meanwhile, that is taken in
// first, and may make it needless. A cut has to be done again then.
func (s *storer) putShape(ctx context.Context, before, rows int64) error {
	for tries := 0; ; tries++ {
		now := s.rows.Load()
		switch {
		case now != before && rows < before:
			return errOvertaken
		case now != before && rows <= now:
			return nil
		}
		err := s.putRows(ctx, now, rows)
		if !errors.Is(err, store.ErrConflict) || tries == maxConflicts {
			return err
		}
		if rows < before {
			return errOvertaken
		}
		if err := s.reconcile(ctx); err != nil {
			return err
		}
	}
}

// putRows stores the length of axis 0, unless the stored one is not before.
func (s *storer) putRows(ctx context.Context, before, rows int64) error {
	s.reshaping.Lock()
	defer s.reshaping.Unlock()
	a := s.live.Load()
	key, doc, cond, err := s.home.Reshaped(ctx, meta.ShapeOfRows(a.gen.Meta.Shape, before), meta.ShapeOfRows(a.gen.Meta.Shape, rows))
	if err != nil {
		return err
	}
	if err := s.h.of.Catalog.DropConsolidated(ctx, s.path); err != nil {
		return err
	}
	if _, err := catalog.ReplaceIn(ctx, s.home.Store, key, doc, cond); err != nil {
		return err
	}
	s.rows.Store(rows) // whatever fails from here on, that is stored
	s.h.of.Durable.Note(s.path, key)
	n, err := s.home.Array(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.matches(n.Meta) { // otherwise another program has replaced it since
		s.h.open.setVersion(s.draft, n.Version)
	}
	return nil
}
