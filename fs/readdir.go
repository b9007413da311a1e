package fs

import (
	"context"
	iofs "io/fs"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/listing"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// dirHandle is an open directory. No inode is made for an entry. go-fuse calls it from one
// goroutine at a time.
type dirHandle struct {
	group *groupNode
	all   *listing.Listing

	first  bool          // the reply under way begins the listing
	plus   bool          // it has attributes (READDIRPLUS)
	looked int64         // entries whose attributes were asked for with them
	last   listing.Entry // the last of them
	out    fuse.DirEntry
}

var (
	_ = (gofuse.FileReaddirenter)((*dirHandle)(nil))
	_ = (gofuse.FileSeekdirer)((*dirHandle)(nil))
	_ = (gofuse.FileLookuper)((*dirHandle)(nil))
	_ = (gofuse.FileReleasedirer)((*dirHandle)(nil))
)

// newDirHandle opens a directory. If bare is set, the group's document is not listed.
func newDirHandle(g *groupNode, bare bool) *dirHandle {
	return &dirHandle{group: g, all: listing.New(&g.fs.listings, g.path, bare)}
}

// Readdirent returns the next entry, nil at the end, of the listing or of the reply.
func (d *dirHandle) Readdirent(ctx context.Context) (*fuse.DirEntry, syscall.Errno) {
	if !d.all.HasBegun() {
		d.first, d.plus = true, false
	}
	if d.first && d.plus && d.all.Pos() >= pagecache.Briefly {
		d.first = false
		return nil, 0 // the end of this reply, not of the listing
	}
	req := d.group.fs.request(ctx)
	defer req.End()
	e, ok, errno := d.all.Next(req)
	if !ok {
		if errno == 0 {
			d.group.listing.Ended(int64(d.all.Pos()), d.looked, !d.all.IsLoose())
		}
		return nil, errno
	}
	d.last = e
	mode, key := e.Inode()
	number := d.group.fs.ids.Number(key)
	d.out = fuse.DirEntry{Name: e.Name, Mode: mode, Ino: number, Off: d.all.Pos()}
	return &d.out, 0
}

// Seekdir goes to an entry by its number; 0 lists again.
func (d *dirHandle) Seekdir(ctx context.Context, off uint64) syscall.Errno {
	d.plus = false // so that no reply ends while entries are passed over
	req := d.group.fs.request(ctx)
	defer req.End()
	d.all.Back(req, off)
	for !d.all.HasBegun() || d.all.Pos() < off {
		if off == 0 {
			return 0
		}
		if e, errno := d.Readdirent(ctx); errno != 0 || e == nil {
			return errno
		}
	}
	d.first = false
	return 0
}

// Lookup finds the entry that was returned last, for a listing with attributes (READDIRPLUS).
func (d *dirHandle) Lookup(
	ctx context.Context, name string, out *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	f := d.group.fs
	req := f.request(ctx)
	defer req.End()
	if name != d.last.Name || d.last.Self {
		return d.group.Lookup(ctx, name, out)
	}
	d.looked++
	d.plus = true
	if d.last.Transient != nil {
		return lookup{d.group, ctx, out}.transient(d.last.Transient)
	}
	n, err := d.lastNode(req)
	if err != nil {
		return nil, f.Errors.Errno("lookup", d.last.Path, err)
	}
	t := resolve.Target{Node: n, View: d.last.View}
	if err := f.inodes.Entry(req, t, true, out); err != nil {
		return nil, syscall.ENOENT
	}
	return d.group.inodeFor(ctx, t), 0
}

// lastNode returns the node of the entry that was returned last, if it still stands for it.
func (d *dirHandle) lastNode(ctx context.Context) (*zarrcore.Node, error) {
	n, err := d.group.fs.stat.Node(ctx, d.last.Path)
	if err != nil {
		return nil, err
	}
	shows, err := d.all.Shows(ctx, d.last, n)
	isRemoved := d.last.View != nil && d.group.fs.unlinked.Has(n.Path, d.last.View)
	if err == nil && (!shows || isRemoved) {
		err = iofs.ErrNotExist
	}
	return n, err
}

// Releasedir ends the listing.
func (d *dirHandle) Releasedir(context.Context, uint32) { d.all.End() }
