package fs

import (
	"context"
	"sync"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// groupNode is a directory of the mount: a group, or the folder that holds an array that is the store's root.
type groupNode struct {
	base

	mu   sync.Mutex
	kept listing // what the kernel was told to keep
}

// listing is a directory's listing that the kernel may have kept.
type listing struct {
	of    stamp
	at    time.Time // zero: none is kept
	whole bool      // it came to its end, and what it shows can change only with the directory itself
}

// stamp is the state of a group. Equal stamps: the same children.
type stamp struct {
	version string
	mtime   time.Time
}

var (
	_ = (gofuse.NodeLookuper)((*groupNode)(nil))
	_ = (gofuse.NodeGetattrer)((*groupNode)(nil))
	_ = (gofuse.NodeOpendirHandler)((*groupNode)(nil))
)

// Lookup finds a child by the name under which it is shown.
func (g *groupNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofuse.Inode, syscall.Errno) {
	g.fs.count.lookups.Add(1)
	req := g.fs.request(ctx)
	defer req.end()
	if name == controlDir && g.IsRoot() {
		return g.lookupControl(ctx, out)
	}
	t, err := g.fs.resolve(req, g.path(), name)
	if err != nil {
		return nil, g.fs.errors.errno("lookup", join(g.path(), name), err)
	}
	g.fs.entry(req, t, false, out)
	return g.inodeFor(ctx, t), 0
}

// Getattr tells when the group was changed.
func (g *groupNode) Getattr(ctx context.Context, _ gofuse.FileHandle, out *fuse.AttrOut) syscall.Errno {
	req := g.fs.request(ctx)
	defer req.end()
	n, err := g.fs.h.Node(req, g.path())
	if err != nil {
		return g.fs.errors.errno("stat", g.path(), err)
	}
	out.SetTimeout(timeout)
	g.fs.dirAttr(g.fs.groupStamp(req, n).mtime, &out.Attr)
	return 0
}

// groupStamp returns a group's state: of its metadata, and of its folder in the store, which changes when a child is
// made or removed.
func (f *filesystem) groupStamp(ctx context.Context, n *zarrcore.Node) stamp {
	s := stamp{n.Version, n.ModTime}
	if f.o.Store == nil {
		return s
	}
	if info, err := f.o.Store.Stat(ctx, n.Path); err == nil {
		s.version += " in " + info.Version
		if info.ModTime.After(s.mtime) {
			s.mtime = info.ModTime
		}
	}
	return s
}

// OpendirHandle begins a listing. The kernel may keep it as long as the group is unchanged.
func (g *groupNode) OpendirHandle(ctx context.Context, _ uint32) (gofuse.FileHandle, uint32, syscall.Errno) {
	g.fs.count.listings.Add(1)
	req := g.fs.request(ctx)
	defer req.end()
	n, err := g.fs.h.Node(req, g.path())
	if err != nil {
		return nil, 0, g.fs.errors.errno("list", g.path(), err)
	}
	if g.fs.o.Store == nil || g.fs.alone {
		return newDirHandle(g), 0, 0
	}
	return newDirHandle(g), g.keep(g.fs.groupStamp(req, n), time.Now()), 0
}

const (
	// settle is how old a group must be before its listing is kept: a change within the same tick of the store's clock
	// would not show in its time.
	settle = 2 * time.Second
	// keepFor is how long a listing is kept. A child that turns from a group into an array does not change its parent.
	keepFor = time.Minute
)

// keep tells the kernel whether to use and make a kept listing. The answer no also drops the one it has.
func (g *groupNode) keep(now stamp, at time.Time) uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	stale := !g.kept.at.IsZero() && (g.kept.of != now || !g.kept.whole || at.Sub(g.kept.at) > keepFor)
	if stale || now.mtime.IsZero() || at.Sub(now.mtime) < settle {
		g.kept = listing{}
		return 0
	}
	if g.kept.at.IsZero() {
		g.kept = listing{of: now, at: at}
	}
	return fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
}

// listedWhole notes that a listing came to its end.
func (g *groupNode) listedWhole() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept.whole = true
}
