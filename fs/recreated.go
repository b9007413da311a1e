package fs

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/fs/remake"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// remake recreates the array at path as a document says, with the bytes that it has. A program that
// copies a tree may come to an array's .npy first, which becomes an array with default chunks and
// codecs. Then it comes to the array's document, which names others.
//
// It reports whether it has done so. If another program has changed the array meanwhile, or isFree
// reports at the end that it must stay, nothing has been done.
func (f *filesystem) remake(
	ctx context.Context, path string, doc []byte, isFree func() bool,
) (remade bool, err error) {
	if err := writing.Store(ctx, f.h, path, false); err != nil { // later it would look like a change
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
	return f.adopting.Texts(f.ctx, path)
}

// moveIn calls do, by which this mount recreates what is at path. Open texts of it become those of
// the new one, and views that were removed stay so, unless do fails.
func (f *filesystem) moveIn(path string, do func() error) error {
	return f.wholes.MoveIn(path, do, func(from, to string) { f.unlinked.Rehome(path, from, to) })
}
