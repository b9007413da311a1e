package fs

import (
	"context"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// opening is one open of a file, or a creation of one that may be there.
type opening struct {
	*fileNode
	ctx context.Context // of the request
}

// Open opens the file, on the array as the store has it now.
func (n *fileNode) Open(
	ctx context.Context, flags uint32,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	h, given, errno := opening{n, ctx}.open(flags)
	if errno == 0 {
		n.use().noteMapper(h, flags)
		n.fs.again.Ended(wire.Thread(ctx))
	}
	return h, given, errno
}

func (n opening) open(flags uint32) (gofuse.FileHandle, uint32, syscall.Errno) {
	if n.Place().IsGone() && !n.isBack(n.ctx) {
		return nil, 0, n.lookAgain(n.ctx)
	}
	if errno := n.staleness(n.ctx); errno != 0 {
		return nil, 0, errno
	}
	if x := n.announced(); x != nil {
		n.fs.creation.HasCome(n.ctx, x)
	}
	reads := flags&syscall.O_ACCMODE == syscall.O_RDONLY
	if !reads {
		if made := n.use().made.Swap(nil); made != nil {
			return made.handle, made.flags, 0
		}
	}
	if v, ok := n.view.(view.CompositeView); ok && (reads || !n.fs.o.Rights.ReadOnly) {
		return n.openComposite(v, !reads)
	}
	if reads {
		return n.openForReading()
	}
	if n.fs.o.Rights.ReadOnly {
		return nil, 0, syscall.EROFS
	}
	if err := view.RefusesWrites(n.view); err != nil {
		return nil, 0, n.fs.Answer("open", n.path(), err)
	}
	switch v := n.view.(type) {
	case view.ArrayView:
		return n.openForWriting(v)
	case view.TextView:
		return n.openWhole(v)
	}
	h, given, errno := n.openDocument()
	if d, ok := h.(*documentHandle); ok && errno == 0 && flags&syscall.O_ACCMODE == syscall.O_RDWR {
		d.noteRead(n.ctx)
	}
	return h, given, errno
}

func (n opening) openForReading() (gofuse.FileHandle, uint32, syscall.Errno) {
	req := n.fs.request(n.ctx)
	defer req.End()
	n.awaitEmptied()
	n.fs.stat.Forget(n.path()) // what is asked after the open must be as new as what is opened
	if n.announced() != nil {
		return newHandle(n.fileNode, view.Snapshot(nil)), fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH,
			0
	}
	c, err := n.view.Open(req, n.fs.h, n.path())
	if err != nil {
		return nil, 0, n.fs.AnswerRead("open", n.path(), err)
	}
	h := newHandle(n.fileNode, c)
	if err := h.refuses(n.ctx); err != nil {
		h.end()
		return nil, 0, n.fs.AnswerRead("open", n.path(), err)
	}
	n.fs.Failures.Opened(n.path())
	n.announce(h.size())
	flags, errno := n.openFlags(h)
	if errno != 0 {
		h.end()
		return nil, 0, errno
	}
	if text := view.TextOf(c); text != nil {
		n.fs.reads.Note(n.path(), wire.Caller(n.ctx), text)
	}
	if h.array() != nil {
		n.use().readers.Add(h, wire.Thread(n.ctx))
	}
	if n.view == view.Document {
		n.fs.libraries.ReadInNew(n.ctx, n.path())
	}
	return h, flags, 0
}

// openFlags chooses how the reads of this open pass the page cache, and which one.
func (n opening) openFlags(h *handle) (uint32, syscall.Errno) {
	count := &n.fs.count
	count.Opens.Add(1)
	if h.array() == nil {
		return fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH, 0 // a snapshot: each open has its own
	}
	print, habit := view.Fingerprint(n.view, h.content), &n.use().habit
	var ready pagecache.Backing
	if m := n.fs.material.Find(n.path(), n.view, print); m != nil {
		defer m.Leave()
		ready = m
	}
	soon := ready == nil && !view.IsDerived(n.view) && habit.Rereads(print) &&
		n.startMaterial(h.content, print)
	io := n.fs.o.IO.AfterResize(time.Since(time.Unix(0, n.use().sized.Load())))
	how, backing, flags := habit.Opened(io, print, ready, soon)
	h.backing, _ = backing.(*material.File)
	if flags&fuse.FOPEN_DIRECT_IO == 0 {
		n.use().paged.Store(true)
	}
	if how == pagecache.AsUsual && flags&fuse.FOPEN_KEEP_CACHE == 0 {
		h.drops = print
	}
	switch {
	case how == pagecache.NewInode:
		return 0, n.renew(n.ctx)
	case how == pagecache.Passthrough:
		n.fs.notes.PassTo(n.ctx, h.backing.Backing())
		count.OpenThrough.Add(1)
	case flags&fuse.FOPEN_DIRECT_IO != 0:
		h.direct = true
		count.OpenDirect.Add(1)
	case flags&fuse.FOPEN_KEEP_CACHE != 0:
		count.OpenKept.Add(1)
	}
	return flags, 0
}

// startMaterial begins to materialise the file, whose content was just opened, unless programs
// write to its array. It reports whether that is there soon.
func (n opening) startMaterial(c view.Content, print string) (soon bool) {
	return n.fs.writings.FindAt(n.path) == nil && n.fs.material.Start(n.path(), n.view, c, print)
}

// renew gives the file another inode. The open fails with ESTALE. The kernel then looks the name up
// again, finds the new inode and opens it, so the program notices nothing. (A program that opens
// /proc/self/fd/N does see the error.)
func (n *fileNode) renew(ctx context.Context) syscall.Errno {
	n.fs.material.NoteRenewed(n.path, n.view)
	n.fs.ids.Renew(&n.Node)
	return n.mustLookAgain(ctx)
}
