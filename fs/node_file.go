package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/composite"
	"github.com/zarrfs/zarrfs/fs/inode"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/selfcopy"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// fileNode is a file of the mount: one view of an array, or a group's document.
type fileNode struct {
	base
	view view.View

	told atomic.Int64         // the size that the kernel was last told by a stat or an open
	used atomic.Pointer[uses] // see use
}

// uses is what programs do with a file. Most files are only listed: a listing of a large group
// makes very many nodes, so this is not a part of them.
type uses struct {
	habit pagecache.Habit
	// the kernel may keep pages of it; set before it gets the first
	paged   atomic.Bool
	writers atomic.Int64 // writable handles
	mappers atomic.Int64 // those by which the file can be mapped to write to it
	ends    sync.Mutex   // held while the kernel gets a new end of the file
	sizing  wire.Sizing  // requests for another size
	// when its size last changed, for whatever reason, in nanoseconds since 1970
	sized   atomic.Int64
	readers selfcopy.Readers         // the others
	made    atomic.Pointer[madeFile] // by mknod(2), and not opened yet
	link    atomic.Pointer[string]   // the text of the link in whose place it was created

	composites composite.Handles // handles of a file that shows many arrays

	staying sync.Mutex // held while a file that became no array ends, and while one is opened
}

// resizing is one change of a file's size.
type resizing struct {
	*fileNode
	ctx context.Context // of the request
}

// unknownSize stands for a size that the kernel did not get.
const unknownSize = -1

var (
	_ = (gofuse.NodeGetattrer)((*fileNode)(nil))
	_ = (gofuse.NodeOpener)((*fileNode)(nil))
)

// Getattr returns size and time from the array's metadata, as the store has it now and as programs
// have changed it since.
func (n *fileNode) Getattr(
	ctx context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	errno := n.attr(ctx, out)
	if used := n.used.Load(); used != nil && used.mappers.Load() > 0 && !n.fs.isTeller(ctx) {
		req := n.fs.request(ctx)
		defer req.End()
		n.fs.writings.AwaitEnds(req, n.path) // before the program believes its answer
	}
	return errno
}

func (n *fileNode) attr(ctx context.Context, out *fuse.AttrOut) syscall.Errno {
	req := n.fs.request(ctx)
	defer req.End()
	if n.Place().IsGone() && !n.isBack(ctx) {
		return n.attrGone(ctx, &out.Attr)
	}
	before := n.fs.writings.FindAt(n.path)
	node, err := n.fs.stat.Node(req, n.path())
	if errors.Is(err, iofs.ErrNotExist) && n.announced() != nil {
		node, err = &zarrcore.Node{Path: n.path(), Kind: zarrcore.ArrayNode}, nil
	}
	if err == nil && !view.IsOf(n.view, node) {
		err = iofs.ErrNotExist
	}
	if errors.Is(err, iofs.ErrNotExist) { // removed since LOOKUP
		return n.attrGone(ctx, &out.Attr)
	}
	if err != nil {
		return n.fs.Errors.Errno("stat", n.path(), err)
	}
	out.SetTimeout(inode.Timeout)
	n.fs.inodes.File(node, n.view, before, &out.Attr)
	size, known := n.openSize()
	if known {
		out.Size = uint64(size)
	} else {
		known, err = n.fs.inodes.Counted(req, node, n.view, stat.Wait, true, &out.Attr)
	}
	if err != nil {
		return n.fs.Errors.Errno("stat", n.path(), err)
	}
	if !known {
		out.SetTimeout(0)
	}
	n.fs.inodes.Stored(req, node, n.view, stat.Wait, &out.Attr)
	n.tell(int64(out.Size))
	return 0
}

// use returns what programs do with the file.
func (n *fileNode) use() *uses {
	if u := n.used.Load(); u != nil {
		return u
	}
	n.used.CompareAndSwap(nil, new(uses))
	return n.used.Load()
}

// announce makes the kernel ask for the attributes again if the size is not the one that it got. An
// open must see the size of the file that it opens, not one of up to a second ago.
func (n *fileNode) announce(size int64) {
	if n.tell(size) != size {
		// attributes only: takes no page lock, so it may be sent from a handler
		n.NotifyContent(-1, 0)
	}
}

// tell notes the size that the kernel is about to be told, and returns the size known to it before.
func (n *fileNode) tell(size int64) (known int64) {
	// another program has changed it in the store
	if known = n.told.Swap(size); known > 0 && known != size {
		n.NoteSized()
	}
	return known
}

// NoteSized implements coherence.File.
func (n *fileNode) NoteSized() { n.use().sized.Store(time.Now().UnixNano()) }

// wrote takes note of a WRITE. The kernel now believes that the file reaches to end at least.
// The size is another one if bytes were appended behind those that the kernel knew, or if their
// writer has a longer header. The kernel got known before size was looked up, and may have got
// another one since.
func (n *fileNode) wrote(known, end, size int64) {
	if known == unknownSize {
		return
	}
	if max(known, end) == size {
		n.told.CompareAndSwap(known, size)
		return
	}
	n.told.Store(unknownSize)
	n.NotifyContent(-1, 0)
}

// isEmpty reports whether the file was created and nothing was written to it yet, though its array
// has bytes.
func (n *fileNode) isEmpty() bool {
	if !n.IsWritten() {
		return false
	}
	w := n.fs.writings.FindAt(n.path)
	return w != nil && w.IsEmpty(n.view)
}

// ForgetSize implements coherence.File.
func (n *fileNode) ForgetSize() {
	n.told.Store(unknownSize)
	n.NotifyContent(-1, 0) // attributes only: takes no page lock, so it may be sent from a handler
}

// View implements coherence.File.
func (n *fileNode) View() view.View { return n.view }

// IsPaged implements coherence.File.
func (n *fileNode) IsPaged() bool {
	used := n.used.Load()
	return used != nil && used.paged.Load()
}

// IsWritten implements coherence.File.
func (n *fileNode) IsWritten() bool {
	used := n.used.Load()
	return used != nil && used.writers.Load() > 0
}

// CanBeMapped implements coherence.File.
func (n *fileNode) CanBeMapped(by coherence.File) bool {
	used := n.used.Load()
	return used != nil && used.mappers.Load() > 0 && (by != n || used.writers.Load() > 1)
}

// MoveEnd implements coherence.File. The byte that it puts into the page cache may be an older one
// by then: the kernel may let the notice wait, and another program may write. So the page is
// dropped again. That does not help if the page is dirty: what a program has just stored in a
// mapping would be lost. So where a program may have such a mapping, the kernel is made to ask for
// the size. That takes longer.
func (n *fileNode) MoveEnd(end int64, last []byte) {
	used := n.use()
	used.ends.Lock()
	defer used.ends.Unlock()
	if used.mappers.Load() > 0 && n.fs.tellSize(n, end) {
		return
	}
	n.WriteCache(end-1, last)
	n.NotifyContent(end-1, 1)
}

// tellSize makes the kernel ask for the size of a file that has become longer. It reports whether
// that can be done.
func (f *filesystem) tellSize(n *fileNode, end int64) bool {
	if f.teller == nil {
		return false
	}
	err := f.teller.Tell(n.inMount(), n.Number(), end)
	if err != nil && f.ctx.Err() == nil {
		f.log.Warn("the kernel is not told that a file has become longer", "file", n.inMount(),
			"err", err)
	}
	return err == nil
}

// isTeller reports whether a request comes from the process that tellSize asks, or may come from
// it.
func (f *filesystem) isTeller(ctx context.Context) bool {
	if f.teller == nil {
		return false
	}
	caller := wire.Caller(ctx).PID
	return caller == 0 || caller == f.teller.PID()
}

// inMount returns where the file is, with the path of the mount.
func (n *fileNode) inMount() string { return filepath.Join(n.fs.mount, n.Path(nil)) }

// noteMapper notes a handle of the file by which a program can map it to write to it. It is called
// before the program has the handle, and waits until no byte is put into the page cache.
func (u *uses) noteMapper(h gofuse.FileHandle, flags uint32) {
	if flags&syscall.O_ACCMODE != syscall.O_RDWR {
		return
	}
	w, ok := h.(*writer)
	if made, isNew := h.(*headerless); isNew {
		w, ok = made.writer, true
	}
	if !ok {
		return
	}
	w.maps = true
	u.mappers.Add(1)
	u.ends.Lock()
	defer u.ends.Unlock()
}

// files returns the files of the array at path that the kernel knows.
func (f *filesystem) files(path string) (files []*fileNode) {
	for _, b := range f.ids.Showing(path) {
		if n, ok := b.EmbeddedInode().Operations().(*fileNode); ok {
			files = append(files, n)
		}
	}
	return files
}

// cached returns the same files, as far as the kernel keeps something of them.
func (f *filesystem) cached(path string) (files []coherence.File) {
	for _, n := range f.files(path) {
		files = append(files, n)
	}
	return files
}

// copiedOntoItself returns an error if the caller is a program that copies, and reads another view
// of the array at path than v.
func (f *filesystem) copiedOntoItself(ctx context.Context, path string, v view.View) error {
	var threads []int
	for _, n := range f.files(path) {
		if used := n.used.Load(); used != nil && n.view != v {
			threads = used.readers.Append(threads)
		}
	}
	return selfcopy.Refuses(threads, func() program.Process { return wire.Caller(ctx) })
}
