package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/inode"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// groupNode is a directory of the mount: a group, or the folder of an array that is the store's
// root.
type groupNode struct {
	base

	listing pagecache.Listing // how programs list it
}

var (
	_ = (gofuse.NodeLookuper)((*groupNode)(nil))
	_ = (gofuse.NodeGetattrer)((*groupNode)(nil))
	_ = (gofuse.NodeOpendirHandler)((*groupNode)(nil))
	_ = (gofuse.NodeLinker)((*groupNode)(nil))
)

// here returns the path of the directory, unless it was removed.
func (g *groupNode) here() (string, syscall.Errno) {
	if g.Place().IsGone() {
		return "", syscall.ENOENT
	}
	return g.path(), 0
}

// Lookup finds a child by the name under which it is shown.
func (g *groupNode) Lookup(
	ctx context.Context, name string, out *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	found, errno := lookup{g, ctx, out}.find(name)
	if errno == 0 {
		g.fs.again.Found(wire.Thread(ctx), found.StableAttr().Gen)
	}
	return found, errno
}

// lookup is one LOOKUP of a name in a folder.
type lookup struct {
	*groupNode
	ctx context.Context // of the request
	out *fuse.EntryOut
}

// find finds a child by the name under which it is shown.
func (g lookup) find(name string) (*gofuse.Inode, syscall.Errno) {
	g.fs.count.Lookups.Add(1)
	g.listing.NoteLookup()
	req := g.fs.request(g.ctx)
	defer req.End()
	dir, errno := g.here()
	if errno != 0 {
		return nil, errno
	}
	if name == names.ControlDir && g.IsRoot() {
		return g.control()
	}
	if x := g.fs.transients.Find(dir, name); x != nil {
		return g.transient(x)
	}
	t, err := g.fs.names.Resolve(req, dir, name)
	if path, missed := g.missed(dir, name, err); missed && g.fs.traces.Of(path).IsMade() {
		t, err = g.fs.names.Resolve(req, dir, name) // it may have been made before that was noted
	}
	if errors.Is(err, iofs.ErrNotExist) {
		if ghost := g.ghost(dir, name); ghost != nil {
			return ghost, 0
		}
		if signpost := g.signpost(dir, name); signpost != nil {
			return signpost, 0
		}
		g.fs.libraries.MissedInNew(g.ctx, dir, name)
	}
	if err != nil {
		return nil, g.fs.AnswerLookup(dir, name, err)
	}
	if t.View != nil {
		g.fs.sites.Wait(t.Node.Path)
	}
	trace := g.fs.traces.Of(t.Node.Path)
	if t.View != nil && trace.Hides(g.ctx, t.View) {
		return nil, syscall.ENOENT
	}
	if err := g.fs.inodes.Entry(req, t, false, g.out); err != nil {
		return nil, syscall.ENOENT
	}
	if trace != nil && t.View != nil {
		g.out.SetEntryTimeout(0) // it depends on the process that asks
	}
	return g.inodeFor(g.ctx, t), 0
}

// missed notes that the caller is about to get the answer that a view does not exist.
func (g lookup) missed(dir, name string, err error) (path string, ok bool) {
	if !errors.Is(err, iofs.ErrNotExist) {
		return "", false
	}
	path, v, ok := g.fs.names.Path(dir, name)
	if ok {
		g.fs.traces.NoteMiss(g.ctx, path, v)
	}
	return path, ok
}

// Getattr returns when the group was changed.
func (g *groupNode) Getattr(
	ctx context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	req := g.fs.request(ctx)
	defer req.End()
	dir, errno := g.here()
	if errno != 0 {
		return errno
	}
	n, err := g.fs.h.Node(req, dir)
	// the store was removed: its mount is still there, to say so
	if errors.Is(err, iofs.ErrNotExist) && g.IsRoot() {
		n, err = &zarrcore.Node{}, nil
	}
	if err != nil {
		return g.fs.Errors.Errno("stat", dir, err)
	}
	out.SetTimeout(inode.Timeout)
	g.fs.inodes.Group(req, n, &out.Attr)
	return 0
}

// OpendirHandle begins a listing. The kernel may keep it as long as the group is unchanged.
func (g *groupNode) OpendirHandle(
	ctx context.Context, _ uint32,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	g.fs.count.Listings.Add(1)
	req := g.fs.request(ctx)
	defer req.End()
	dir, errno := g.here()
	if errno != 0 {
		return nil, 0, errno
	}
	n, err := g.fs.h.Node(req, dir)
	if err != nil {
		return nil, 0, g.fs.Errors.Errno("list", dir, err)
	}
	bare := g.fs.libraries.IsMadeByCaller(ctx, dir) && g.fs.libraries.IsAsMade(n)
	d := newDirHandle(g, bare)
	if bare || !g.fs.inodes.ShowsTimes() || g.fs.names.IsAlone() ||
		len(g.fs.transients.In(dir)) > 0 {
		g.listing.Changed()
		return d, 0, 0
	}
	return d, g.listing.Opened(g.fs.inodes.Stamp(req, n), time.Now()), 0
}

// Link makes no hard links.
func (g *groupNode) Link(
	_ context.Context, _ gofuse.InodeEmbedder, name string, _ *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	return nil, g.refuse("link", name, "a store has no hard links; copy the file instead")
}

// refuse is EPERM with a reason.
func (g *groupNode) refuse(op, name, why string) syscall.Errno {
	return g.fs.AnswerAt(op, g.path(), name, fmt.Errorf("%w: %q: %s", syscall.EPERM, name, why))
}
