package remake

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Arrays are those of a mount that can be recreated.
type Arrays struct{ Mount }

// Mount is the mount that recreates them.
type Mount struct {
	Ctx      context.Context // ends with the mount
	H        *zarrcore.Hierarchy
	Sites    *site.Paths
	Stat     *stat.Cache
	Kernel   *coherence.Kernel
	Texts    *texts.Files
	Unlinked *alias.Unlinked
	Waiting  waitingTexts
}

// waitingTexts are those that came before their arrays.
type waitingTexts interface {
	// Texts makes those for the array at path its elements.
	Texts(ctx context.Context, path string) error
}

// New returns the arrays of a mount.
func New(of Mount) *Arrays { return &Arrays{of} }

// Replace recreates the array at path as a document says, with the array's bytes. A program that
// copies a tree may come to an array's .npy first. The .npy becomes an array with default chunks
// and codecs. Then the program comes to the array's document, which names others.
//
// It reports whether it has done so. If another program has changed the array meanwhile, or isFree
// reports at the end that the array must stay, nothing has been done.
func (r *Arrays) Replace(
	ctx context.Context, path string, doc []byte, isFree func() bool,
) (remade bool, err error) {
	// later it would look like a change
	if err := writing.Store(ctx, r.H, path, false); err != nil {
		return false, err
	}
	copied := r.H.Fingerprint(ctx, path)
	beside, err := Beside(ctx, r.H, path, doc)
	if err != nil {
		if !isFree() || r.H.Fingerprint(r.Ctx, path) != copied { // which may be why
			return false, nil
		}
		return false, err
	}
	defer r.Sites.Lock(path)()
	if !isFree() {
		return false, beside.Remove(r.Ctx)
	}
	err = r.supplant(path, beside, copied)
	if errors.Is(err, zarrcore.ErrOutdated) {
		return false, nil
	}
	return err == nil, err
}

// supplant puts the array that was made beside the one at path in its place, unless that has
// changed since copied was its fingerprint. If the old one is gone when that fails, the new one
// stays where it is: nothing else has the bytes. Where their group was renamed, both are there.
func (r *Arrays) supplant(path string, beside *zarrcore.Beside, copied string) error {
	replace := func() error { return r.H.Supplant(r.Ctx, beside.Path(), path, copied) }
	if err := r.moveIn(path, replace); err != nil {
		now := beside.Path()
		stays := store.Parent(now) == store.Parent(path) && !errors.Is(err, zarrcore.ErrOutdated)
		if _, gone := r.H.Node(r.Ctx, path); stays && gone != nil {
			return fmt.Errorf("%w; what was to be at %q is at %q", err, path, now)
		}
		return errors.Join(err, beside.Remove(r.Ctx))
	}
	r.Stat.ForgetAll(path)
	r.Kernel.Changed(path)
	return r.Waiting.Texts(r.Ctx, path)
}

// moveIn calls do, by which this mount recreates what is at path. Open texts of it become those of
// the new one, and views that were removed stay so, unless do fails.
func (r *Arrays) moveIn(path string, do func() error) error {
	return r.Texts.MoveIn(path, do, func(from, to string) { r.Unlinked.Rehome(path, from, to) })
}
