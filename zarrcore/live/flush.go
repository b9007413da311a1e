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
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file stores drafts: chunks first, then what the document says of them. This order keeps
// truncated rows from coming back if the array has become shorter. A program that finds the new
// document finds nothing beyond it, even after a kill.

// Flush stores what was written to the array, by any handle: objects first, then the document if
// the shape has changed. If durable is set it survives a power cut. An incomplete row at the end
// is dropped, which is ErrFraction. A writer that may still complete the row calls Save instead.
func (a *Array) Flush(ctx context.Context, durable bool) error {
	now := a.arrived(ctx)
	if err := now.saveOther(ctx); err != nil {
		return err
	}
	return now.draft.flush(ctx, durable)
}

// Save is Flush for a writer that may go on. The one difference: an incomplete row at the end is
// ErrFraction too, but it stays, and what is written next may complete it.
func (a *Array) Save(ctx context.Context, durable bool) error {
	now := a.arrived(ctx)
	d := now.draft
	if err := now.saveOther(ctx); err != nil {
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
	if s.home == nil && s.h.of.Durable.HasAny(s.path) {
		m, err := s.openHome(ctx)
		if errors.Is(err, iofs.ErrNotExist) {
			return fmt.Errorf("%w: it was removed, or renamed, "+
				"before what was stored was made durable", catalog.ErrOrphan)
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
	if s.live.Load().gen.Objects.IsBounded() {
		s.hold(1)
		defer s.hold(-1)
	}
	err := s.store(ctx, ends)
	s.conclude(ctx, err)
	return err
}

// conclude notes how a flush has ended. One that was interrupted says nothing of
// whether the array can be stored.
func (s *storer) conclude(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, object.ErrFraction) {
		s.failed.Note(err)
		s.h.of.Shared.Count.FlushErrors.Add(1)
		if s.set.IsEmpty() && s.ahead.IsEmpty() && errors.Is(err, catalog.ErrOrphan) {
			s.h.of.Log.Error("the new size is not stored", "array", s.path, "err", err)
			s.giveUpSize()
			return
		}
		s.h.of.Log.Error(s.prospect(), "array", s.path, "bytes", s.set.Bytes(), "err", err)
		s.settled.Broadcast()
		return
	}
	s.settleError()
	s.ahead.Count(s.rows.Load())
	s.since = time.Time{}
	if s.set.IsEmpty() && s.hasStoredSize(s.live.Load().gen) {
		s.busy.Store(false)
		s.h.unsaved.remove(s.draft)
	} else { // something was written meanwhile
		s.since = time.Now()
	}
}

// giveUpSize forgets the new length of an array that is no more. Nothing else of the array was to
// be stored. The program that asked for the length was told. The caller holds mu.
func (s *storer) giveUpSize() {
	s.settleError()
	s.since = time.Time{}
	s.truncation.Forget()
	s.busy.Store(false)
	s.h.unsaved.remove(s.draft)
}

// store is a whole flush; see storeIfBusy.
func (s *storer) store(ctx context.Context, ends bool) error {
	s.mu.Lock()
	removed, settled := s.removed, s.set.IsEmpty() && s.hasOnlyDirty(s.live.Load().gen)
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

// errOvertaken says that another program has changed the array's length since it was found out
// which objects a truncation concerns.
var errOvertaken = fmt.Errorf("%w: another program has changed its length", store.ErrConflict)

// storeAll stores the objects, and then the document. If it is errOvertaken, the truncation is to
// be done again: of the array that is there then.
func (s *storer) storeAll(ctx context.Context) error {
	s.mu.Lock()
	a, rows, most := s.live.Load(), s.rows.Load(), s.truncation.Most()
	objects := a.gen.Objects.Holders(s.set.Numbers())
	s.mu.Unlock()
	if tail, _ := s.live.Load().gen.Tail(); tail > 0 && a.gen.Objects.IsBounded() {
		return s.writer().Write(ctx, s.lasting(a, objects))
	}
	if !s.truncation.IsNone() {
		straddling, err := s.deleteTruncated(ctx, a, max(rows, most, a.gen.Rows()), objects)
		if err != nil {
			return err
		}
		objects = append(objects, straddling...)
		slices.Sort(objects)
		objects = slices.Compact(objects)
	}
	s.holdAhead()
	err := s.storeInOrder(ctx, a, rows, objects)
	if err = s.releaseAhead(ctx, err); err != nil {
		return err
	}
	s.mu.Lock()
	s.truncation.NoteDeleted()
	s.lengths.NoteAllStored(a.gen.WholeRows())
	s.mu.Unlock()
	return nil
}

// dropFraction truncates an incomplete row at the end.
func (s *storer) dropFraction() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail, row := s.live.Load().gen.Tail()
	if tail == 0 {
		return nil
	}
	s.h.of.Log.Warn("the last bytes are not a whole row and are dropped",
		"array", s.path, "bytes", tail, "row", row)
	if err := s.truncate(s.live.Load().gen.WholeRows()); err != nil {
		return err
	}
	return fmt.Errorf("%w: the last %d bytes are dropped, a row has %d",
		object.ErrFraction, tail, row)
}
