package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"
)

// Another program may remove an array or group in the store. Nothing tells the mount. It finds out
// when the name is to be that of something new, or when a file that is open has to be stored. What
// was written to such a file must reach neither the next array of that name nor bring the old one
// back. A program that writes it gets ESTALE.

// errVanished returns the error of a file whose array or group another program has removed.
func errVanished(path string) error {
	return fmt.Errorf("%w: another program has removed %q, and what was written to its file "+
		"is not stored; write it to the file that is there now", syscall.ESTALE, path)
}

// vacate frees a name at which the store has nothing any more, because another program has removed
// what was there. Programs that have files of it open get errors from then on.
func (f *filesystem) vacate(ctx context.Context, path string) error {
	if !f.hasOpen(path) {
		return nil
	}
	if _, err := f.h.Node(ctx, path); !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if f.moves(path) {
		return nil
	}
	if err := f.h.Vacate(ctx, path); err != nil {
		return err
	}
	if _, err := f.h.Node(ctx, ""); err != nil {
		return fmt.Errorf("%w: the store is not there: %w", syscall.ESTALE, err)
	}
	for _, w := range f.wholes.below(path) {
		w.vanish()
	}
	f.gone(path)
	return nil
}

// hasOpen reports whether programs write to files of what is at path, or what they wrote is not
// stored.
func (f *filesystem) hasOpen(path string) (open bool) {
	f.writings.find(path) // forgets it where all is stored
	f.states.Look(path, func(s *state) { open = s.hasOpen() })
	return open
}

// hasOpen is hasOpen of a filesystem. Files of an array that is only about to be created do not
// count.
func (s *state) hasOpen() bool {
	return !s.writing.IsEmpty() && s.writing.It.array() != nil ||
		!s.document.IsEmpty() && s.document.It.existed.Load() ||
		!s.wholes.IsEmpty()
}

// moves reports whether this mount is just renaming what was at path. The store has renamed it
// already, and the states follow.
func (f *filesystem) moves(path string) bool {
	for end := time.Now().Add(renameWait); f.hasOpen(path); time.Sleep(renameGrain) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// vanish notes that another program has removed the array. It waits until the text is not being
// taken, so that no part of it reaches the next array of that name.
func (w *whole) vanish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.vanished = true
}

// lost returns an error if there is no array any more that could take the text. The caller holds
// mu.
func (w *whole) lost() error {
	if w.vanished {
		return errVanished(w.path())
	}
	return nil
}
