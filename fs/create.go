package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/links"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var (
	_ = (gofuse.NodeMkdirer)((*groupNode)(nil))
	_ = (gofuse.NodeCreater)((*groupNode)(nil))
	_ = (gofuse.NodeMknoder)((*groupNode)(nil))
)

// Mkdir creates a group.
func (g *groupNode) Mkdir(
	ctx context.Context, name string, _ uint32, out *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	req := g.fs.request(ctx)
	defer req.End()
	path, err := g.newPath(name)
	if err != nil {
		return nil, g.fs.AnswerAt("mkdir", g.path(), name, err)
	}
	defer g.fs.sites.Lock(path)()
	if err := g.fs.present.Vacate(req, path); err != nil {
		return nil, g.fs.Answer("mkdir", path, err)
	}
	if err := g.fs.h.CreateGroup(req, path); err != nil {
		return nil, g.fs.Answer("mkdir", path, g.fs.libraries.NoGroup(path, err))
	}
	n, err := g.fs.h.Node(req, path)
	if err != nil {
		return nil, g.fs.Answer("mkdir", path, err)
	}
	g.fs.traces.MadeGroup(path, n.Version, wire.Thread(ctx), wire.Caller(ctx))
	g.fs.inodes.Entry(req, resolve.Target{Node: n}, false, out)
	return g.inodeFor(ctx, resolve.Target{Node: n}), 0
}

// newPath returns the path of the node that would be shown as name in this group.
func (g *groupNode) newPath(name string) (path string, err error) {
	dir, errno := g.here()
	if errno != 0 {
		return "", errno
	}
	return g.fs.names.NewPath(dir, name)
}

// Create makes a file. It is a view of an existing array, under a name that its creator has not met
// yet. Or it is the first view of a new array, or a transient.
func (g *groupNode) Create(
	ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut,
) (*gofuse.Inode, gofuse.FileHandle, uint32, syscall.Errno) {
	req := g.fs.request(ctx)
	defer req.End()
	g.fs.again.Ended(wire.Thread(ctx))
	unmoved := g.Place().Unmoved()
	dir, errno := g.here()
	if errno != 0 {
		return nil, nil, 0, errno
	}
	if name == names.ControlDir && g.IsRoot() {
		return nil, nil, 0, g.refuse("create", name, names.OwnFolder)
	}
	path, v, isView := g.fs.names.Path(dir, name)
	misnamed := cmp.Or(g.fs.names.Misnamed(name, isView), g.fs.names.Divides(dir, name))
	if err := cmp.Or(g.fs.libraries.OfStore(name), misnamed); err != nil {
		return nil, nil, 0, g.fs.libraries.RefuseName(ctx, dir, name, err)
	}
	if err := g.fs.RemovedStore(); err != nil {
		return nil, nil, 0, g.fs.AnswerAt("create", dir, name, err)
	}
	if isView && view.IsComposite(v) {
		by := wire.Caller(ctx)
		if by.Copier && !g.fs.traces.Of(path).Replaces(by, v) { // a copy of what it will show
			return g.createTransient(ctx, dir, name, flags, mode, out)
		}
	}
	lacks := !isView
	if isView {
		var err error
		if lacks, err = g.fs.names.Lacks(req, path, v); err != nil {
			return nil, nil, 0, g.fs.Answer("create", path, err)
		}
	}
	if lacks && !(isView && g.fs.creation.Restore(req, path, v, wire.Caller(ctx))) {
		return g.createTransient(ctx, dir, name, flags, mode, out)
	}
	end := g.fs.sites.Lock(path)
	n, err := g.fs.h.Node(req, path)
	replaced := ""
	if err == nil && g.fs.links.IsReplaceable(n, v, false) {
		replaced = n.Link.Text
		err = cmp.Or(g.fs.links.Remove(path), iofs.ErrNotExist)
	}
	missing := errors.Is(err, iofs.ErrNotExist)
	if missing && !g.stays(unmoved) {
		end()
		return g.Create(ctx, name, flags, mode, out)
	}
	if missing {
		g.fs.traces.NoteCreate(ctx, path, v)
		g.fs.unlinked.Forget(path) // what was hidden were names of an array that is not there
		n, err = &zarrcore.Node{Path: path, Kind: zarrcore.ArrayNode},
			g.fs.present.Vacate(req, path)
	}
	switch {
	case !missing && err == nil && g.fs.unlinked.Has(path, v):
		// what is written replaces the array's
		err = g.fs.rights.Refuses(rights.UserOf(ctx), n, rights.ToReplace)
	}
	switch {
	case err != nil:
		end()
		return nil, nil, 0, g.fs.Answer("create", path, err)
	case missing && g.fs.creation.Restore(req, path, v, wire.Caller(ctx)):
		missing = false
	case missing && !v.IsDescription(nil):
		defer end()
		return g.createTransient(ctx, dir, name, flags, mode, out)
	}
	t := resolve.Target{Node: n, View: v}
	inode, ok := g.inodeToCreate(ctx, name, t, missing, unmoved)
	end()
	if !ok {
		return g.Create(ctx, name, flags, mode, out)
	}
	if replaced != "" {
		inode.Operations().(*fileNode).use().link.Store(&replaced)
	}
	if n.Kind == zarrcore.LinkNode && !view.IsDerived(v) {
		g.fs.unlinked.Restore(path, v) // such as `cp --remove-destination` has just removed
		return nil, nil, 0, g.fs.Answer("create", path, links.ErrIsLink(n, v))
	}
	if name != groupFile && !view.IsDerived(v) && n.Kind != zarrcore.ArrayNode {
		return nil, nil, 0, g.fs.Answer("create", path,
			fmt.Errorf("%w: %q is a %s, and no array can have its name; choose another for %s",
				iofs.ErrExist, path, n.Kind, name))
	}
	return g.createView(ctx, inode, t, flags, out)
}

func (g *groupNode) createTransient(
	ctx context.Context, dir, name string, flags, mode uint32, out *fuse.EntryOut,
) (*gofuse.Inode, gofuse.FileHandle, uint32, syscall.Errno) {
	if err := g.fs.transients.RefusesName(name); err != nil {
		return nil, nil, 0, g.fs.AnswerAt("create", dir, name, err)
	}
	x, err := g.fs.transients.Make(g.path, name)
	if err == nil {
		err = x.Bytes.UseFD(func(fd int) error { return unix.Fchmod(fd, mode&0o777) })
	}
	if err != nil {
		return nil, nil, 0, g.fs.Answer("create", names.Join(dir, name), err)
	}
	g.listing.Changed()
	n := g.transientNode(ctx, x)
	return n.EmbeddedInode(), n.handle(flags), fuse.FOPEN_KEEP_CACHE, n.attr(&out.Attr)
}

// createView opens a file that is a view, or will be when it has been written.
func (g *groupNode) createView(
	ctx context.Context, inode *gofuse.Inode, t resolve.Target, how uint32, out *fuse.EntryOut,
) (*gofuse.Inode, gofuse.FileHandle, uint32, syscall.Errno) {
	g.listing.Changed()
	n := inode.Operations().(*fileNode)
	x := n.hold()
	if x == nil {
		err := g.fs.copiedOntoItself(ctx, t.Node.Path, t.View)
		if err == nil {
			err = g.fs.between.Refuses(wire.Caller(ctx), t.Node.Path, t.View)
		}
		if err != nil {
			g.fs.unlinked.Restore(t.Node.Path, t.View) // `cp -f` has just removed it
			return nil, nil, 0, g.fs.Answer("create", n.path(), err)
		}
	}
	joined := x == nil && g.fs.traces.Opened(t.Node.Path, t.View, wire.Caller(ctx))
	// Otherwise a program that makes another view now would lose what it has written.
	h, flags, errno := opening{n, ctx}.openNew(!joined)
	n.letGo(x, errno != 0)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	n.use().noteMapper(h, how)
	g.fs.unlinked.Restore(t.Node.Path, t.View)
	g.fs.inodes.Common(rights.File, g.fs.started, &out.Attr)
	return inode, h, flags, 0
}

// announced answers for the name of a view that is about to be written.
func (g lookup) announced(x *transient.File) (*gofuse.Inode, syscall.Errno) {
	at := x.At()
	path, v, ok := g.fs.names.Path(at.Dir, at.Name)
	if !ok {
		return nil, syscall.ENOENT
	}
	t := resolve.Target{Node: &zarrcore.Node{Path: path, Kind: zarrcore.ArrayNode}, View: v}
	g.fs.inodes.File(t.Node, v, nil, &g.out.Attr)
	return g.inodeFor(g.ctx, t), 0
}

// attrGone returns the attributes of a file whose array was removed. A program that has it open
// asks for a file without a name. Others have come by its old name, which the kernel must look up
// again.
func (n *fileNode) attrGone(ctx context.Context, a *fuse.Attr) syscall.Errno {
	if !n.Place().IsOpen() {
		return n.lookAgain(ctx)
	}
	n.fs.inodes.Common(rights.File, n.fs.started, a)
	a.Nlink = 0
	a.Size = uint64(max(0, n.told.Load()))
	return 0
}

// openNew opens the file for writing as one that is not there yet. An empty file says nothing: the
// array keeps its bytes until others are written, and loses them then. If cut is not set, it loses
// only those that are overwritten.
func (n opening) openNew(cut bool) (gofuse.FileHandle, uint32, syscall.Errno) {
	err := cmp.Or(view.RefusesWrites(n.view), writing.RefusesSaving(n.view, wire.Caller(n.ctx)))
	if err != nil {
		return nil, 0, n.fs.Answer("create", n.path(), err)
	}
	if v, ok := n.view.(view.CompositeView); ok {
		if wire.Caller(n.ctx).Copier {
			return n.openComposite(v, true) // which refuses another structure
		}
		err := view.ErrStructure(v, "a new file in the place of")
		return nil, 0, n.fs.Answer("create", n.path(), err)
	}
	v, ok := n.view.(view.ArrayView)
	if text, isText := n.view.(view.TextView); isText && !ok {
		return n.openWholeNew(n.openWhole(text))
	}
	if !ok {
		h, flags, errno := n.openDocument()
		if d, ok := h.(*documentHandle); ok && errno == 0 {
			d.created = d.awaited == nil
			errno = n.fs.Answer("create", n.path(), d.doc.Text.SetSize(0))
		}
		return h, flags, errno
	}
	h, flags, errno := n.openForWriting(v)
	if _, ok := h.(*wholeHandle); ok {
		return n.openWholeNew(h, flags, errno)
	}
	if w, ok := h.(*writer); ok && errno == 0 && cut {
		w.By = wire.Caller(n.ctx)
		c, err := w.Of.ComparesNow(w.By, v)
		if c == nil && err == nil {
			err = w.Of.NoteCreated(n.fs.ctx, n.fileNode, v)
		}
		if errno = n.fs.Answer("create", n.path(), err); errno != 0 {
			w.Release(n.ctx)
		}
	}
	return h, flags, errno
}

// openWholeNew is openNew for a file that is taken as a whole.
func (n opening) openWholeNew(
	h gofuse.FileHandle, flags uint32, errno syscall.Errno,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	if w, ok := h.(*wholeHandle); ok && errno == 0 {
		w.whole.CopyBegins(w.By)
		begin := func() error { return w.whole.SetSize(0) }
		if w.By.Mover { // an empty file is a copy of one
			begin = w.whole.Truncate
		}
		errno = n.fs.Answer("create", n.path(), begin())
	}
	return h, flags, errno
}

// hold counts a program that opens the file to make it an array, and returns what stands for it
// until then. It returns nil if nothing does.
func (n *fileNode) hold() *transient.File {
	n.use().staying.Lock()
	defer n.use().staying.Unlock()
	if x := n.announced(); x != nil && n.fs.transients.Hold(x) {
		return x
	}
	return nil
}

// letGo ends such a count. The last count ends a refused file, which was to become an array:
// nothing of it stays. Other programs that have it open, and for example truncate it, would find no
// file.
func (n *fileNode) letGo(x *transient.File, refused bool) {
	n.use().staying.Lock()
	defer n.use().staying.Unlock()
	if x != nil && n.fs.transients.LetGo(x, refused) {
		n.Place().End()
		n.fs.ids.Renew(&n.Node)
		if text := n.use().link.Swap(nil); text != nil {
			n.fs.links.PutBack(n.path(), *text)
		}
	}
}

// Mknod makes a file, as tar does that has extended attributes to set before it opens the file. It
// makes no pipes, sockets or devices.
func (g *groupNode) Mknod(
	ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut,
) (*gofuse.Inode, syscall.Errno) {
	if kind := mode & syscall.S_IFMT; kind != syscall.S_IFREG && kind != 0 {
		return nil, g.refuse("mknod", name, "a store holds groups and arrays, no pipes, "+
			"sockets or devices; make it in another folder")
	}
	inode, handle, flags, errno := g.Create(ctx, name, syscall.O_WRONLY, mode, out)
	if errno != 0 {
		return nil, errno
	}
	made := &madeFile{handle.(gofuse.FileReleaser), flags}
	if n, ok := inode.Operations().(*fileNode); ok {
		n.keepMade(made)
	} else {
		made.handle.Release(ctx)
	}
	return inode, 0
}

// madeFile is a view that was made by mknod(2). It is empty, though its array may have bytes, until
// it is opened: so it has a handle, which the first program gets that opens it to write.
type madeFile struct {
	handle gofuse.FileReleaser
	flags  uint32 // FOPEN_*
}

// madeFor is how long a program may take from its mknod(2) to its open(2).
const madeFor = 10 * time.Second

// keepMade keeps the handle until a program opens the file.
func (n *fileNode) keepMade(made *madeFile) {
	if old := n.use().made.Swap(made); old != nil {
		old.handle.Release(context.Background())
	}
	time.AfterFunc(madeFor, func() {
		if n.use().made.CompareAndSwap(made, nil) {
			made.handle.Release(context.Background())
		}
	})
}
