package fs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/fs/remake"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// identityFor returns the identity of the directory in which a text is to be opened. If other texts
// were opened in another one, that may be on its way to another path. So their states are awaited.
func (f *filesystem) identityFor(where func() string) (identity string) {
	for {
		path, isOther := where(), false
		identity = f.sites.Identity(path)
		isElsewhere := func(h *site.Home) bool { return h.IsOther(identity) }
		f.states.Look(path, func(s *state) {
			isOther = slices.ContainsFunc(s.homes(), isElsewhere)
		})
		if !isOther || !f.sites.HasMoved(where, path) {
			return identity
		}
	}
}

// homes returns those of the texts that are open.
func (s *state) homes() (all []*site.Home) {
	if !s.document.IsEmpty() {
		all = append(all, &s.document.It.home)
	}
	for _, w := range s.wholes {
		all = append(all, &w.home)
	}
	return all
}

// leaveOthers ends the texts that were opened in another directory than that of the identity.
// Programs that have them open get errors from then on.
func (s *state) leaveOthers(identity string) {
	if !s.document.IsEmpty() && s.document.It.home.IsOther(identity) {
		s.document.Ended()
	}
	var others, stay wholeFiles
	for _, w := range s.wholes {
		if w.home.IsOther(identity) {
			w.vanished.Store(true)
			others = append(others, w)
		} else {
			stay = append(stay, w)
		}
	}
	others.Ended()
	s.wholes = stay
}

// moveIn calls do, by which this mount recreates what is at path. Open texts of it become those of
// the new one, and views that were removed stay so, unless do fails.
func (f *filesystem) moveIn(path string, do func() error) error {
	old := f.sites.Identity(path)
	f.rehome(path, old, "") // while it is not known which of the two is there
	err := do()
	now := old
	if err == nil {
		now = f.sites.Identity(path)
	}
	f.rehome(path, "", now)
	return err
}

// rehome notes that the open texts of one directory at path are those of another, and so are the
// views that were removed.
func (f *filesystem) rehome(path, from, to string) {
	f.states.Edit(path, func(s *state) {
		s.unlinked.Rehome(from, to)
		for _, h := range s.homes() {
			if h.Is(from) {
				h.Note(to)
			}
		}
	})
}

// remake recreates the array at path as a document says, with the bytes that it has. A program that
// copies a tree may come to an array's .npy first, which becomes an array with default chunks and
// codecs. Then it comes to the array's document, which names others.
//
// It reports whether it has done so. If another program has changed the array meanwhile, or isFree
// reports at the end that it must stay, nothing has been done.
func (f *filesystem) remake(
	ctx context.Context, path string, doc []byte, isFree func() bool,
) (remade bool, err error) {
	if err := f.store(ctx, path, false); err != nil { // later it would look like a change
		return false, err
	}
	copied := f.h.Fingerprint(ctx, path)
	beside, err := remake.Beside(ctx, f.h, path, doc)
	if err != nil {
		if !isFree() || f.h.Fingerprint(f.ctx, path) != copied { // which may be why
			return false, nil
		}
		return false, err
	}
	defer f.sites.Lock(path)()
	if !isFree() {
		return false, beside.Remove(f.ctx)
	}
	err = f.supplant(path, beside, copied)
	if errors.Is(err, zarrcore.ErrOutdated) {
		return false, nil
	}
	return err == nil, err
}

// supplant puts the array that was made beside the one at path in its place, unless that has changed
// since copied was its fingerprint. If the old one is gone when that fails, the new one stays where
// it is: nothing else has the bytes. Where their group was renamed, both are there.
func (f *filesystem) supplant(path string, beside *zarrcore.Beside, copied string) error {
	replace := func() error { return f.h.Supplant(f.ctx, beside.Path(), path, copied) }
	if err := f.moveIn(path, replace); err != nil {
		now := beside.Path()
		stays := store.Parent(now) == store.Parent(path) && !errors.Is(err, zarrcore.ErrOutdated)
		if _, gone := f.h.Node(f.ctx, path); stays && gone != nil {
			return fmt.Errorf("%w; what was to be at %q is at %q", err, path, now)
		}
		return errors.Join(err, beside.Remove(f.ctx))
	}
	f.stat.ForgetAll(path)
	f.kernel.Changed(path)
	return f.adoptTexts(f.ctx, path)
}
