package live

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// errGone says that there is nothing where an array was.
var errGone = fmt.Errorf("%w: it was removed", catalog.ErrOrphan)

// giveUpOrphan keeps in a file of the scratch folder what was written for an array that is no
// more: another program has removed it, or replaced it by one of another layout. It does so once
// nobody has that array open. Otherwise it would stand against every unmount. Where rows are
// refused, they are first taken back, which each flush tries: only the draft knows of them.
func (d *draft) giveUpOrphan(ctx context.Context, age time.Duration) {
	d.mu.Lock()
	expired := d.failed.Expired(age)
	d.mu.Unlock()
	if !expired || d.live.Load().lineage.inUse() {
		return
	}
	d.flushing.Lock()
	s := d.storer()
	err := s.findHome(ctx) // what the last flush found may be another by now
	s.leaveHome()
	d.flushing.Unlock()
	if errors.Is(err, catalog.ErrOrphan) && !d.isLeftBehind(err) {
		d.keepInFile(err) // where it cannot be kept it stays, and that is in the log
	}
}

// keepInFile moves what was written for an array that is no more to a file in the
// scratch folder, and forgets the array. why is in the log.
func (d *draft) keepInFile(why error) error {
	bytes := d.set.Bytes()
	file, _, err := d.unstored().Write(d.h.of.ScratchDir)
	if err != nil {
		if file != "" { // it is all in memory, and is tried again
			err = errors.Join(err, rescue.Remove(file))
		}
		d.h.of.Log.Error("what was written for an array that is no more cannot be kept", "array", d.path, "bytes", bytes, "err", err)
		return d.fail("rescue", err)
	}
	d.h.of.Log.Error("given up: what was written for an array that is no more is kept in a file", "array", d.path, "bytes", bytes, "file", file, "err", why)
	d.h.dropDraft(d)
	d.h.unsaved.keep(file)
	return nil
}

// Vacate frees a path, and all below it, for a new node. Another program may have
// removed an array that was there. What was written to that and is not stored is
// kept in a file of the scratch folder. While a program has it open, that is ErrInUse.
// That program goes on as with any file that was removed. Nothing happens to an array
// unless it is certain that it is not there, and that the store is.
func (h *Arrays) Vacate(ctx context.Context, path string) error {
	if err := h.vacate(ctx, path); err != nil {
		return &catalog.Error{Op: "create", Path: path, Err: err}
	}
	return nil
}

func (h *Arrays) vacate(ctx context.Context, path string) error {
	for _, d := range h.unsaved.all() {
		if _, below := store.Moved(d.path, path, path); !below || d.removedHere() {
			continue
		}
		if err := h.vacateDraft(ctx, d); err != nil {
			return err
		}
	}
	for _, a := range h.open.below(path) {
		if err := h.bury(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// vacateDraft keeps in a file what was written to an array and is not stored, if it is
// certain that the array is no more.
func (h *Arrays) vacateDraft(ctx context.Context, d *draft) error {
	why := h.absent(ctx, d.path)
	if !errors.Is(why, catalog.ErrOrphan) {
		return why
	}
	if d.live.Load().lineage.inUse() {
		return fmt.Errorf("%w: another program has removed the array %q that was here, %d bytes written to it are not stored, and it is still open", ErrInUse, d.path, d.set.Bytes())
	}
	return d.keepInFile(why)
}

// removedHere reports that this process has removed the array. Where it is at it just
// now, that ends first.
func (d *draft) removedHere() bool {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.removed
}

// bury forgets an array of which all is stored, if it is certain that it is no more.
func (h *Arrays) bury(ctx context.Context, a *Array) error {
	if err := h.absent(ctx, a.gen.Path); !errors.Is(err, catalog.ErrOrphan) {
		return err
	}
	defer a.lineage.pause()()
	if !a.lineage.clean() {
		return fmt.Errorf("%w: another program has removed the array that was here, and it is being written to", ErrInUse)
	}
	h.open.take(a.gen.Path)
	if a.lineage.where == "" || !a.lineage.inUse() {
		a.lineage.abandon()
		return nil
	}
	a.draft.loseName() // it may only have another one
	return nil
}

// absent returns catalog.ErrOrphan if it is certain that there is no node at path, and nil if
// there is one. Any other error says why that is not known.
func (h *Arrays) absent(ctx context.Context, path string) error {
	_, err := h.Node(ctx, path)
	if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if _, err := h.Node(ctx, ""); err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return errGone
}

// dropDraft forgets what was written to an array that is no more. A program that opens what is in
// its place now gets a draft of that.
func (h *Arrays) dropDraft(d *draft) {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	d.forget()
	a := h.open.at(d.path)
	if a != nil && slices.Contains(a.lineage.both(), d) {
		h.open.take(d.path)
	}
}
