package live

import (
	"context"
	"errors"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Move is a rename in the store, of an array or group and all below it.
type Move struct {
	From, To string
	Replaces bool   // there is something at To that it replaces
	Copied   string // the fingerprint of the array at To, if that at From is a copy of it; or empty
}

// A move is a Move that is being done.
type move struct {
	*Arrays
	Move
	open    []*Array // that were open at From and below it, and are paused
	resumes []func() // that end the pauses, the last one first
}

// Move lets open arrays follow rename, which does the move in the store. It is given the array that
// is open at m.To and is paused, if any. Meanwhile nobody writes to arrays that are open: what was
// dirty in between would be stored nowhere. The caller does one move at a time.
func (h *Arrays) Move(ctx context.Context, m Move, rename func(old *Array) error) error {
	v := &move{Arrays: h, Move: m}
	defer v.resume()
	if err := v.pauseBelow(ctx); err != nil {
		return err
	}
	old, err := v.pauseReplaced(ctx)
	if err != nil {
		return err
	}
	for _, a := range v.open {
		defer a.lineage.leave()()
		a.lineage.replaced.Store(m.Replaces)
	}
	defer h.renames.begin(m.From, m.To)()
	if err := v.note(func() error { return rename(old) }); err != nil {
		for _, a := range v.open {
			a.lineage.replaced.Store(false)
		}
		return err
	}
	late := v.openedLate()
	v.follow(ctx, v.open...)
	v.followLate(ctx, late)
	return nil
}

// resume lets everybody go on.
func (v *move) resume() {
	for _, f := range slices.Backward(v.resumes) {
		f()
	}
}

// note calls rename, and notes where everything is. From then on no array is opened by its old
// path: a caller that has found one before the rename looks for it again.
func (v *move) note(rename func() error) error {
	defer v.Arrays.open.depart(v.From, v.To)()
	if err := rename(); err != nil {
		return err
	}
	v.renames.add(v.From, v.To)
	v.of.Durable.Move(v.From, v.To)
	return nil
}

// pauseTries is how often pauseBelow looks for arrays that were opened while it stored others.
const pauseTries = 10

// pauseBelow makes writers of the arrays at From and below wait, until resume, and stores what they
// have written.
func (v *move) pauseBelow(ctx context.Context) error {
	paused := map[*lineage]bool{}
	for range pauseTries {
		before := len(v.open)
		for _, a := range v.Arrays.open.below(v.From) {
			if paused[a.lineage] {
				continue
			}
			paused[a.lineage] = true
			v.open = append(v.open, a)
			v.resumes = append(v.resumes, a.lineage.change())
			err := a.lineage.storeBoth(ctx)
			if err != nil && !errors.Is(err, object.ErrFraction) { // which is in the log
				return err
			}
		}
		if len(v.open) == before {
			break
		}
	}
	return nil
}

// openedLate returns the arrays below From that were opened after the others were paused, and
// before the rename began.
func (v *move) openedLate() []*Array {
	return slices.DeleteFunc(v.Arrays.open.below(v.From), func(a *Array) bool {
		return slices.ContainsFunc(v.open, func(b *Array) bool { return a.lineage == b.lineage })
	})
}

// followLate is follow for arrays that nobody has paused. What was written to them is stored where
// they are now. What cannot be is stored later: before anybody goes on with the array there.
func (v *move) followLate(ctx context.Context, late []*Array) {
	for _, a := range late {
		path, _ := store.Moved(a.gen.Path, v.From, v.To)
		err := v.finder.followTo(ctx, a.lineage, path)
		if a.draft.isRemoved() {
			continue
		}
		v.of.Log.Error("not stored while it was renamed, will be tried again",
			"array", a.gen.Path, "to", path, "err", err)
		v.Arrays.open.leave(a.lineage)
		a.lineage.movedTo(path)
	}
}

// follow lets programs that have moved arrays open go on with them at their new paths. The caller
// has paused them.
func (v *move) follow(ctx context.Context, open ...*Array) {
	for _, old := range open {
		v.Arrays.open.take(old.gen.Path)
		path, _ := store.Moved(old.gen.Path, v.From, v.To)
		old.lineage.abandon()
		v.finder.goOnAt(ctx, old.lineage, path)
	}
}

// pauseReplaced pauses the array that is open at To and about to be replaced, if any, until resume.
func (v *move) pauseReplaced(ctx context.Context) (old *Array, err error) {
	switch {
	case v.Copied != "":
		return v.pauseOriginal(ctx)
	case v.Replaces:
		old, resume := v.PauseAt(v.To)
		v.resumes = append(v.resumes, resume)
		return old, nil
	}
	return nil, nil
}

// pauseOriginal pauses the array at To, of which a copy was made, unless it has changed. Programs
// that read or write it wait until resume. Then they go on with what is at To.
func (v *move) pauseOriginal(ctx context.Context) (old *Array, err error) {
	a, err := v.openHere(ctx, v.To)
	if errors.Is(err, iofs.ErrNotExist) {
		err = ErrOutdated
	}
	if err != nil {
		return nil, err
	}
	l := a.lineage
	v.resumes = append(v.resumes, l.change())
	n, err := v.Node(ctx, v.To)
	if err != nil {
		return nil, err
	}
	now := a.Live()
	if !l.isClean() || v.Arrays.open.at(v.To) != now || now.stored(n.Version) != v.Copied {
		return nil, ErrOutdated
	}
	arrived := l.leave()
	l.replaced.Store(true)
	v.resumes = append(v.resumes, func() {
		if a.draft.isRemoved() {
			v.finder.goOnAt(ctx, l, v.To)
		} else {
			l.replaced.Store(false)
		}
		arrived()
	})
	return a, nil
}
