package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var (
	_ = (gofuse.NodeUnlinker)((*groupNode)(nil))
	_ = (gofuse.NodeRmdirer)((*groupNode)(nil))
)

// Rmdir removes a group that has no children. Its own document does not count as a child.
func (g *groupNode) Rmdir(ctx context.Context, name string) syscall.Errno {
	req := g.fs.request(ctx)
	defer req.End()
	dir, errno := g.here()
	if errno != 0 {
		return errno
	}
	if name == names.ControlDir && g.IsRoot() {
		return g.refuse("rmdir", name, names.OwnFolder)
	}
	t, err := g.fs.names.Resolve(req, dir, name)
	if err == nil && (t.View != nil || t.IsLink()) {
		return syscall.ENOTDIR
	}
	if err != nil {
		return g.fs.AnswerAt("rmdir", dir, name, err)
	}
	path := t.Node.Path
	if t.Node.Kind != zarrcore.DirectoryNode { // which has nothing to remove before it
		if err := g.fs.rights.Refuses(rights.UserOf(ctx), t.Node, rights.ToRemove); err != nil {
			return g.fs.Answer("rmdir", path, err)
		}
	}
	if left := g.fs.transients.In(path); len(left) > 0 {
		return g.fs.Answer("rmdir", path, fmt.Errorf("%w: %q holds files that are not arrays",
			zarrcore.ErrNotEmpty, name))
	}
	if by := wire.Caller(ctx); by.Mover && g.fs.traces.Awaits(path, by) {
		return syscall.ENOTEMPTY // rsync tries this after each file that it has renamed out of it
	}
	if err := g.fs.h.Remove(req, path); err != nil {
		return g.fs.Answer("rmdir", path, err)
	}
	g.listing.Changed()
	g.fs.present.Ended(path)
	g.fs.traces.Removed(path, nil, g.fs.names.ListedOfGroups(), wire.Caller(ctx))
	return 0
}

// Unlink removes a file. An array goes with the last of its listed views, and a group's document
// stays as long as the group.
func (g *groupNode) Unlink(ctx context.Context, name string) syscall.Errno {
	dir, errno := g.here()
	if errno != 0 {
		return errno
	}
	g.listing.Changed()
	if x := g.fs.transients.Find(dir, name); x != nil {
		g.fs.transients.End(x)
		g.fs.transients.ForgetText(transient.Spot{Dir: dir, Name: name})
		return 0
	}
	err := g.unlink(ctx, dir, name)
	return g.fs.AnswerAt("unlink", dir, name, err)
}

func (g *groupNode) unlink(ctx context.Context, dir, name string) error {
	t, err := g.fs.names.Resolve(g.fs.ctx, dir, name)
	switch {
	case errors.Is(err, iofs.ErrNotExist) && g.fs.unlinkLeft(ctx, dir, name):
		return nil
	case errors.Is(err, iofs.ErrNotExist) && g.fs.isSignpost(name):
		return g.fs.libraries.IsOfStore(name)
	case err != nil:
		return err
	case view.IsPart(t.View): // tar tries it again and again if it succeeds without effect
		return fmt.Errorf("%w: the file shows a part of an array, and is not removed by itself; "+
			"write to it in place", syscall.EPERM)
	case t.View != nil && view.IsDerived(t.View):
		return g.fs.hideFrom(ctx, t.Node.Path, t.View)
	case t.IsLink():
		return g.fs.links.Unlink(t, wire.Caller(ctx))
	case t.View == nil:
		return syscall.EISDIR
	case t.Node.Kind != zarrcore.ArrayNode:
		return g.fs.hideFrom(ctx, t.Node.Path, t.View)
	}
	return g.fs.unlinkView(ctx, t)
}

// unlinkView hides a view of an array, or removes the array with the last of its listed views.
func (f *filesystem) unlinkView(ctx context.Context, t resolve.Target) error {
	path := t.Node.Path
	listed, err := f.names.Listed(t.Node)
	if err != nil {
		return err
	}
	keepers := listed & view.Keepers()
	if err := f.rights.RefusesAll(ctx, rights.UserOf(ctx), f.h, t.Node,
		rights.ToRemove); err != nil {
		return err
	}
	if err := f.between.Refuses(wire.Caller(ctx), path, t.View); err != nil {
		return err
	}
	defer f.sites.Lock(path)()
	if !f.unlinked.Add(path, t.View, keepers) {
		return nil
	}
	if err := f.removeArray(ctx, t); err != nil {
		f.unlinked.Forget(path) // the array stays, so no file of it is gone
		return err
	}
	var replaced *zarrcore.Node
	if keepers == view.SetOf(t.View) {
		replaced = t.Node
	}
	f.traces.Removed(path, replaced, listed&^keepers, wire.Caller(ctx))
	return nil
}

// removeArray removes an array by the name of one of its views.
func (f *filesystem) removeArray(ctx context.Context, t resolve.Target) error {
	path := t.Node.Path
	if err := f.copiedOntoItself(ctx, path, t.View); err != nil {
		return err
	}
	if err := f.h.Remove(f.ctx, path); err != nil {
		return err
	}
	f.present.Ended(path)
	return nil
}

// hideFrom hides a file from a program that removes or replaces a tree, until the program makes it
// again. It is a group's document, which goes with its group, or the file of a derived view.
func (f *filesystem) hideFrom(ctx context.Context, path string, v view.View) error {
	f.traces.Hide(path, v, wire.Caller(ctx))
	return nil
}

// unlinkLeft removes a name that was left to the calling program. The program has removed the
// name's link, or the array of this derived name.
func (f *filesystem) unlinkLeft(ctx context.Context, dir, name string) bool {
	path, v, ok := f.names.Former(dir, name)
	if !ok || !f.traces.Of(path).Leaves(ctx, v) {
		return false
	}
	f.traces.Leave(path, v)
	return true
}
