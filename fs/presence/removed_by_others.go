package presence

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"syscall"
)

// Another program may remove an array or group in the store. The mount gets no notice. It finds out
// when something new is to get the name, or when an open file has to be stored. What was written to
// such a file must neither reach the next array of that name nor bring the old one back. A program
// that writes the file gets ESTALE.

// Vacate frees the name at path, after another program has removed what the store had at or below
// it. Programs that have files of these open get errors from then on.
func (p *Paths) Vacate(ctx context.Context, path string) error {
	vanished, err := p.vanishedBelow(ctx, path)
	if len(vanished) == 0 || err != nil || p.moves(vanished) {
		return err
	}
	if err := p.H.Vacate(ctx, path); err != nil {
		return err
	}
	if _, err := p.H.Node(ctx, ""); err != nil {
		return fmt.Errorf("%w: the store is not there: %w", syscall.ESTALE, err)
	}
	for _, path := range vanished {
		p.Texts.Vanished(path)
		p.Ended(path)
	}
	return nil
}

// vanishedBelow looks at path and the paths below it. It returns those that programs have open,
// though the store has nothing there.
func (p *Paths) vanishedBelow(
	ctx context.Context, path string,
) (vanished []string, err error) {
	for _, path := range p.States.Below(path) {
		if !p.hasOpen(path) {
			continue
		}
		_, err := p.H.Node(ctx, path)
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
func (p *Paths) hasOpen(path string) bool {
	p.Writings.Find(path) // forgets it where all is stored
	return p.States.HasOpen(path)
}

// moves reports whether this mount is just renaming what was at the paths. The store has done so
// already, and the states follow.
func (p *Paths) moves(paths []string) bool {
	for _, path := range paths {
		p.Sites.AwaitRename(path)
	}
	return !slices.ContainsFunc(paths, p.hasOpen)
}
