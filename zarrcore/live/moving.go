package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file lets arrays that are open follow what becomes of them in the store: renames, removals,
// and other arrays in their places.

// A Move is a rename in the store, of an array or group and all below it.
type Move struct {
	From, To string
	Replaces bool   // there is something at To that it replaces
	Copied   string // not empty: that at From is a copy of the array at To, which had this fingerprint
}

// SaveBelow stores what was written to the arrays at path and below it.
func (h *Arrays) SaveBelow(ctx context.Context, path string) error {
	for _, a := range h.open.below(path) {
		if err := a.draft.save(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

// Move lets open arrays follow rename, which does the move in the store. It is given the array that
// is open at m.To and is paused, if any. Meanwhile nobody writes to arrays that are open: what was
// dirty in between would be stored nowhere. The caller does one move at a time.
func (h *Arrays) Move(ctx context.Context, m Move, rename func(old *Array) error) error {
	open, resume, err := h.pauseBelow(ctx, m.From)
	defer resume()
	if err != nil {
		return err
	}
	old, resumeOld, err := h.pauseReplaced(ctx, m)
	defer resumeOld()
	if err != nil {
		return err
	}
	for _, a := range open {
		defer a.draft.leave()()
		a.draft.setReplaced(m.Replaces)
	}
	h.underway.Store(&renaming{m.From, m.To})
	defer h.underway.Store(nil)
	if err := h.moveNoted(m, func() error { return rename(old) }); err != nil {
		for _, a := range open {
			a.draft.setReplaced(false)
		}
		return err
	}
	late := h.openedLate(open, m.From)
	h.follow(ctx, open, m.From, m.To)
	h.followLate(ctx, late, m.From, m.To)
	return nil
}

// moveNoted calls rename, and notes where everything is. From then on no array is opened by its old
// path: a caller that has found one before the rename looks for it again.
func (h *Arrays) moveNoted(m Move, rename func() error) error {
	defer h.open.depart(m.From, m.To)()
	if err := rename(); err != nil {
		return err
	}
	h.renames.add(m.From, m.To)
	h.of.Durable.Move(m.From, m.To)
	return nil
}

// Forget forgets the array at path, which was removed from the store, and what was written to it.
// The caller has paused a, the array that is open there, if any.
func (h *Arrays) Forget(path string, a *Array) {
	h.renames.remove(path)
	if a != nil {
		h.open.take(path)
		a.draft.abandon()
	}
	for _, d := range h.orphansAt(path) { // a, which is paused, is no longer one
		h.of.Log.Warn("what was written for an array that was here before goes with the one "+
			"that is removed", "array", path, "bytes", d.set.Bytes())
		h.dropDraft(d)
	}
}

// Recreate lets programs that have the array at path open go on with another one, which replace
// stores there. What was written to the array before is lost.
func (h *Arrays) Recreate(ctx context.Context, path string, replace func() error) (*Array, error) {
	old := h.open.at(path)
	if old != nil {
		defer old.draft.pause()()
		old.draft.abandon()
	}
	failed := replace()
	h.open.take(path)
	a, err := h.Open(ctx, path)
	if err == nil && old != nil {
		old.draft.bequeath(a) // also if it is the old array still, or what is left of it
	}
	return a, cmp.Or(failed, err)
}

// Reshape stores what was written to an array, lets put store another document, and then calls end
// with the array as that describes it. Nobody writes to the array meanwhile.
func (h *Arrays) Reshape(
	ctx context.Context, a *Array, put func() error, end func(b *Array) error,
) error {
	d := a.draft
	defer d.pause()()
	if err := d.storeBoth(ctx); err != nil {
		return err
	}
	if err := put(); err != nil {
		return err
	}
	b, err := h.Open(ctx, a.gen.Path)
	if err != nil {
		return err
	}
	if b.draft != d {
		d.abandon()
		d.bequeath(b)
	}
	return end(b)
}

// PauseAt pauses the array at path if it is open. Otherwise a is nil.
func (h *Arrays) PauseAt(path string) (a *Array, resume func()) {
	if a = h.open.at(path); a == nil {
		return nil, func() {}
	}
	return a, a.draft.pause()
}

// A renaming is a rename in the store that is being done.
type renaming struct{ from, to string }

// follow returns what becomes of a path, if it is renamed.
func (r *renaming) follow(path string) (string, bool) {
	if r == nil {
		return "", false
	}
	return store.Moved(path, r.from, r.to)
}

// pauseTries is how often pauseBelow looks for arrays that were opened while it stored others.
const pauseTries = 10

// pauseBelow makes writers of the arrays at path and below wait, until resume, and stores what they
// have written.
func (h *Arrays) pauseBelow(ctx context.Context, path string) (open []*Array, resume func(), err error) {
	var resumes []func()
	resume = func() {
		for _, f := range slices.Backward(resumes) {
			f()
		}
	}
	paused := map[*draft]bool{}
	for range pauseTries {
		before := len(open)
		for _, a := range h.open.below(path) {
			if paused[a.draft] {
				continue
			}
			paused[a.draft] = true
			open = append(open, a)
			resumes = append(resumes, a.draft.pause())
			err := a.draft.storeBoth(ctx)
			if err != nil && !errors.Is(err, object.ErrFraction) { // which is in the log
				return open, resume, err
			}
		}
		if len(open) == before {
			break
		}
	}
	return open, resume, nil
}

// openedLate returns the arrays below from that were opened after those that are open were paused,
// and before the rename began.
func (h *Arrays) openedLate(open []*Array, from string) []*Array {
	return slices.DeleteFunc(h.open.below(from), func(a *Array) bool {
		return slices.ContainsFunc(open, func(b *Array) bool { return a.draft == b.draft })
	})
}

// followLate is follow for arrays that nobody has paused. What was written to them is stored where
// they are now.
func (h *Arrays) followLate(ctx context.Context, late []*Array, from, to string) {
	for _, a := range late {
		path, _ := store.Moved(a.gen.Path, from, to)
		for _, way := range a.draft.both() {
			way.movedTo(path, &h.renames)
		}
		resume := a.draft.pause()
		if err := a.draft.storeBoth(ctx); err != nil && !errors.Is(err, object.ErrFraction) {
			h.of.Log.Error("not stored while it was renamed, will be tried again",
				"array", a.gen.Path, "to", path, "err", err)
		} else {
			h.follow(ctx, []*Array{a}, from, to)
		}
		resume()
	}
}

// leave makes readers that do not find an object wait, until the array is at its new path.
func (d *draft) leave() (arrived func()) {
	var ends []func()
	for _, d := range d.both() {
		ends = append(ends, d.away.Stop(""))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// follow lets programs that have moved arrays open go on with them at their new paths. The caller
// has paused them.
func (h *Arrays) follow(ctx context.Context, open []*Array, from, to string) {
	for _, old := range open {
		h.open.take(old.gen.Path)
		path, _ := store.Moved(old.gen.Path, from, to)
		old.draft.abandon()
		old.draft.goOnAt(ctx, path)
	}
}

// goOnAt lets programs that have the array open, which is there no more, go on with the one at path.
func (d *draft) goOnAt(ctx context.Context, path string) {
	for _, way := range d.both() {
		way.movedTo(path, &d.h.renames)
	}
	if d.inUse() { // it may be moved again before anything is done with it
		if a, err := d.h.Open(ctx, path); err == nil {
			d.bequeath(a)
		}
	}
}

// pauseReplaced pauses the array that is open at m.To and about to be replaced, if any, until resume
// is called.
func (h *Arrays) pauseReplaced(
	ctx context.Context, m Move,
) (old *Array, resume func(), err error) {
	switch {
	case m.Copied != "":
		return h.pauseOriginal(ctx, m.To, m.Copied)
	case m.Replaces:
		old, resume = h.PauseAt(m.To)
		return old, resume, nil
	}
	return nil, func() {}, nil
}

// pauseOriginal pauses the array at path, of which a copy was made, unless it has changed. Programs
// that read or write it wait until resume is called. Then they go on with what is at path.
func (h *Arrays) pauseOriginal(
	ctx context.Context, path, copied string,
) (old *Array, resume func(), err error) {
	a, err := h.Open(ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		err = ErrOutdated
	}
	if err != nil {
		return nil, func() {}, err
	}
	d := a.draft
	goOn := d.pause()
	n, err := h.Node(ctx, path)
	if err != nil {
		return nil, goOn, err
	}
	if now := a.Live(); !d.clean() || h.open.at(path) != now || now.stored(n.Version) != copied {
		return nil, goOn, ErrOutdated
	}
	arrived := d.leave()
	d.setReplaced(true)
	return a, func() {
		if d.isRemoved() {
			d.goOnAt(ctx, path)
		} else {
			d.setReplaced(false)
		}
		arrived()
		goOn()
	}, nil
}

// setReplaced notes whether what is found at the array's path may be another array's.
func (d *draft) setReplaced(replaced bool) {
	for _, way := range d.both() {
		way.replaced.Store(replaced)
	}
}

// SaveAt stores what was written to the array at path, so that the document says
// what its length is.
func (h *Arrays) SaveAt(ctx context.Context, path string) error {
	a := h.open.at(path)
	if a == nil || !a.Unsaved() {
		return nil
	}
	if err := a.Save(ctx, false); !errors.Is(err, object.ErrFraction) {
		return err
	}
	return nil
}

// Renew lets the array at path, if it is open, know the version of the documents
// that this process has just stored.
func (h *Arrays) Renew(ctx context.Context, path string) {
	if h.open.at(path) == nil {
		return
	}
	h.renewed(ctx, path, nil) // what cannot be opened any more is not to be renewed
}

// Fingerprint returns a text that is another one after the document or an object of the array at
// path has been stored. Changes by other programs are seen too, unless the array has too many
// objects to look at.
func (h *Arrays) Fingerprint(ctx context.Context, path string) string {
	n, err := h.Node(ctx, path)
	if err != nil {
		return err.Error()
	}
	a, err := h.Open(ctx, path)
	if err != nil {
		return n.Version
	}
	return a.Live().stored(n.Version)
}

// stored is Fingerprint of an array whose document has that version.
func (a *Array) stored(version string) string {
	epoch, stores := a.watch.Now()
	if a.watch.IsLarge() { // each open begins an epoch
		epoch = 0
	}
	return fmt.Sprintf("%s %d.%d.%d", version, a.gen.ID, epoch, stores)
}
