package presence

import (
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/view"
)

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
