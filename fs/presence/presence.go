// Package presence keeps a mount in step with what is in its store. What ends, moves or has
// vanished there does so in all that the mount knows, and for the kernel.
package presence

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Paths are those of a mount.
type Paths struct{ Mount }

// Mount is the mount whose paths these are.
type Mount struct {
	Ctx      context.Context // ends with the mount
	H        *zarrcore.Hierarchy
	States   *known.States
	Nodes    *nodes.Table
	Sites    *site.Paths
	Texts    *texts.Files
	Writings *writing.Arrays
}

// New returns the paths of a mount.
func New(of Mount) *Paths { return &Paths{of} }

// Ended notes everywhere in the mount that what was at path does not exist any more.
func (p *Paths) Ended(path string) {
	p.States.End(path)
	nodes.Disown(p.Nodes.Remove(path))
}

// Move moves a node in the store and in the mount, if replace is set to where another one is. The
// kernel itself moves what is renamed, one of the node's files or its folder.
func (p *Paths) Move(from, to string, replace bool, renamed identity.Key) error {
	defer p.Sites.Lock(to)() // a lookup that finds the node at to waits until its files are there
	if err := p.Vacate(p.Ctx, to); err != nil {
		return err
	}
	defer p.Sites.Renames(from)()
	if err := p.H.Rename(p.Ctx, from, to, replace); err != nil {
		return err
	}
	p.Ended(to)
	var others []*nodes.Node
	p.States.MoveWith(from, to, func() { others = p.Nodes.Move(from, to, renamed) })
	nodes.Disown(others)
	return nil
}

// MoveAwaited moves the file of a view whose array is not there yet, and what was written to it. It
// calls rename. rename must move what stands for the array, and call file in the same step: the
// file finds the array by the file's own place.
func (p *Paths) MoveAwaited(
	from, to string, v view.View, rename func(file func()) error,
) error {
	err := rename(func() {
		p.Nodes.Rename(identity.Of(from, v.Name()), identity.Of(to, v.Name()))
	})
	if err == nil {
		p.States.MoveAwaited(from, to, v)
	}
	return err
}

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
