// Package inode fills in what the kernel is told of the files and folders of a mount: modes,
// owners, times, sizes and blocks, and how long it may believe them. It also fills in the space
// that df shows of a mount.
package inode

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/composite"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const (
	// Timeout is how long the kernel may believe attributes and names. A change of the store shows
	// after it at most.
	Timeout = time.Second
	// blockSize is st_blksize of files, in bytes: programs that look at it read and write so much
	// at a time.
	blockSize = 1 << 20
	// dirBlockSize is st_blksize of directories: glibc asks for so many bytes of a listing at once.
	dirBlockSize = 256 << 10
)

// Attributes are those of the inodes of a mount.
type Attributes struct{ Mount }

// Mount is the mount whose inodes these are.
type Mount struct {
	H          *zarrcore.Hierarchy
	Store      *store.Store // nil: unknown
	Errors     *errno.Log
	Started    time.Time
	Names      *resolve.Resolver
	Rights     *rights.Rights
	Stat       *stat.Cache
	Writings   *writing.Arrays
	Texts      *texts.Files
	Documents  *document.Files
	Composites *composite.Files
	// OpenSize returns the size of a file that shows many arrays, while it is open.
	OpenSize func(path string, v view.View) (size int64, ok bool)
}

// New returns the attributes of the inodes of a mount.
func New(of Mount) *Attributes { return &Attributes{of} }

// Entry fills in the attributes of a target that was looked up, by a listing or by someone who
// asked for this file. It returns why there can be no such file.
func (f *Attributes) Entry(
	ctx context.Context, t resolve.Target, listing bool, out *fuse.EntryOut,
) error {
	out.SetEntryTimeout(Timeout)
	out.SetAttrTimeout(Timeout)
	if t.IsLink() {
		out.SetEntryTimeout(0) // by what names it is shown depends on what it leads to
		f.Link(f.Names.LinkText(ctx, t.Node, t.View), t.Node.ModTime, &out.Attr)
		return nil
	}
	if view.DependsOnNames(t.View) {
		out.SetEntryTimeout(0)
	}
	if t.View == nil {
		if t.Node.Err != nil { // it is shown without attributes
			f.Errors.Errno("lookup", t.Node.Path, t.Node.Err)
		}
		f.Group(ctx, t.Node, &out.Attr)
		return nil
	}
	f.File(t.Node, t.View, nil, &out.Attr)
	wait := stat.Wait
	if listing {
		wait = stat.ListWait
	}
	known, err := f.Counted(ctx, t.Node, t.View, wait, false, &out.Attr)
	if errors.Is(err, errno.ErrTooBig) {
		f.Errors.Errno("lookup", t.Node.Path, err)
		return iofs.ErrNotExist
	}
	if !known {
		out.SetAttrTimeout(0)
	}
	if !f.Stored(ctx, t.Node, t.View, wait, &out.Attr) && listing {
		out.SetAttrTimeout(0) // the next request for it waits longer
	}
	return nil
}

// Group fills in the attributes of the folder that shows a group.
func (f *Attributes) Group(ctx context.Context, n *zarrcore.Node, a *fuse.Attr) {
	f.dir(f.Stamp(ctx, n).ModTime, a)
	show(f.Rights.OfFolder(n), a)
}

// dir fills in a directory's attributes.
func (f *Attributes) dir(mtime time.Time, a *fuse.Attr) {
	f.Common(rights.Dir, mtime, a)
	a.Size = 4096
	a.Blksize = dirBlockSize
	a.Blocks = 8
}

// File fills in the attributes of one view of an array or group. A node whose size is unknown
// has size 0: opening it says why. before is the array as programs had written to it before n was
// read; nil: they had not. (If all of it was stored since, n may be older than that.)
func (f *Attributes) File(n *zarrcore.Node, v view.View, before *writing.Array, a *fuse.Attr) {
	f.Common(rights.File, viewTime(n, v), a)
	show(f.Rights.OfFile(n), a)
	size, err := v.Size(n)
	if err != nil {
		size = 0
	}
	if w := cmp.Or(f.Writings.Find(n.Path), before); w != nil {
		if now, ok := w.Size(v); ok {
			size = now
		}
	}
	if d := f.Documents.Find(n.Path); d != nil && v == view.Document {
		if now, changed := d.Text.ChangedSize(); changed {
			size = now
		}
	}
	if !v.IsWritable() || n.Format == 1 ||
		v != view.Document && n.Meta != nil && n.Writable() != nil {
		a.Mode &^= rights.Writable
	}
	a.Size = uint64(size)
	a.Blksize = blockSize
	a.Blocks = f.charge(n, v, size)
}

// viewTime returns the time of a view, as far as the node and its directory say.
func viewTime(n *zarrcore.Node, v view.View) time.Time {
	if n.Kind == zarrcore.ArrayNode && v != view.Document {
		return n.DataTime()
	}
	return n.ModTime
}

// Common fills in what the store does not have, and all inodes have.
func (f *Attributes) Common(mode uint32, mtime time.Time, a *fuse.Attr) {
	show(f.Rights.OfMount(mode), a)
	a.Nlink = 1
	if mtime.IsZero() {
		mtime = f.Started
	}
	a.SetTimes(&mtime, &mtime, &mtime)
}

// show sets a mode and an owner.
func show(s rights.Shown, a *fuse.Attr) {
	a.Mode, a.Owner = s.Mode, fuse.Owner{Uid: s.UID, Gid: s.GID}
}

// Link fills in the attributes of a link with that text.
func (f *Attributes) Link(text string, mtime time.Time, a *fuse.Attr) {
	f.Common(0, mtime, a)
	a.Mode = syscall.S_IFLNK | 0o777
	a.Size = uint64(len(text))
}

// Stamp returns a group's state: of its metadata, and of its folder in the store, which
// changes when a child is made or removed.
func (f *Attributes) Stamp(ctx context.Context, n *zarrcore.Node) pagecache.Stamp {
	s := pagecache.Stamp{Version: n.Version, ModTime: n.ModTime}
	if !f.ShowsTimes() {
		return s
	}
	if info, err := f.Store.Stat(ctx, n.Path); err == nil {
		s.Version += " in " + info.Version
		if info.ModTime.After(s.ModTime) {
			s.ModTime = info.ModTime
		}
	}
	return s
}

// ShowsTimes reports whether the time of a directory in the store says when a name in it changed.
func (f *Attributes) ShowsTimes() bool { return f.Store != nil && f.Store.Traits().DirTimes }

// ControlDir fills in the attributes of the folder of the mount's own files.
func (f *Attributes) ControlDir(a *fuse.Attr) {
	f.dir(f.Started, a)
	show(f.Rights.OfControl(rights.Dir), a)
}

// ControlFile fills in the attributes of a file of that folder.
func (f *Attributes) ControlFile(size int64, a *fuse.Attr) {
	f.Common(rights.File, f.Started, a)
	show(f.Rights.OfControl(rights.File), a)
	a.Size = uint64(size)
	a.Blksize = 4096
}
