package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"syscall"
)

// Another program may remove an array or group in the store. Nothing tells the mount. It finds out
// when the name is to be that of something new, or when a file that is open has to be stored. What
// was written to such a file must reach neither the next array of that name nor bring the old one
// back. A program that writes it gets ESTALE.

// vacate frees a name at which, or below which, the store has nothing any more, because another
// program has removed what was there. Programs that have files of it open get errors from then on.
func (f *filesystem) vacate(ctx context.Context, path string) error {
	vanished, err := f.vanishedBelow(ctx, path)
	if len(vanished) == 0 || err != nil || f.moves(vanished) {
		return err
	}
	if err := f.h.Vacate(ctx, path); err != nil {
		return err
	}
	if _, err := f.h.Node(ctx, ""); err != nil {
		return fmt.Errorf("%w: the store is not there: %w", syscall.ESTALE, err)
	}
	for _, path := range vanished {
		f.wholes.Vanished(path)
		f.gone(path)
	}
	return nil
}

// vanishedBelow returns those of path and the paths below it which programs have open, and at which
// the store has nothing.
func (f *filesystem) vanishedBelow(
	ctx context.Context, path string,
) (vanished []string, err error) {
	for _, path := range f.states.Below(path) {
		if !f.hasOpen(path) {
			continue
		}
		_, err := f.h.Node(ctx, path)
		switch {
		case errors.Is(err, iofs.ErrNotExist):
			vanished = append(vanished, path)
		case err != nil:
			return nil, err
		}
	}
	return vanished, nil
}

// hasOpen reports whether programs write to files of what is at path, or what they wrote is not
// stored.
func (f *filesystem) hasOpen(path string) (open bool) {
	f.writings.Find(path) // forgets it where all is stored
	return f.states.HasOpen(path)
}

// moves reports whether this mount is just renaming what was at the paths. The store has done so
// already, and the states follow.
func (f *filesystem) moves(paths []string) bool {
	for _, path := range paths {
		f.sites.AwaitRename(path)
	}
	return !slices.ContainsFunc(paths, f.hasOpen)
}
