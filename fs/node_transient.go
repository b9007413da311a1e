package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/xattr"
)

// transientNode is a transient as the kernel knows it: a plain file of the scratch folder under
// another name.
type transientNode struct {
	base
	data      *transient.File
	described atomic.Bool // a program has set what describes an array
}

// transientHandle is an open transient. All requests go to its one file.
type transientHandle struct {
	node   *transientNode
	writes bool
}

var (
	_ = (gofuse.NodeOnForgetter)((*transientNode)(nil))
	_ = (gofuse.NodeGetattrer)((*transientNode)(nil))
	_ = (gofuse.NodeSetattrer)((*transientNode)(nil))
	_ = (gofuse.NodeOpener)((*transientNode)(nil))
	_ = (gofuse.NodeGetxattrer)((*transientNode)(nil))
	_ = (gofuse.NodeListxattrer)((*transientNode)(nil))
	_ = (gofuse.NodeSetxattrer)((*transientNode)(nil))
	_ = (gofuse.FileReader)((*transientHandle)(nil))
	_ = (gofuse.FileWriter)((*transientHandle)(nil))
	_ = (gofuse.FileFlusher)((*transientHandle)(nil))
	_ = (gofuse.FileFsyncer)((*transientHandle)(nil))
	_ = (gofuse.FileReleaser)((*transientHandle)(nil))
	_ = (gofuse.FileAllocater)((*transientHandle)(nil))
	_ = (gofuse.FileLseeker)((*transientHandle)(nil))
)

// transient answers for a name that a transient has. It may become another thing at any
// moment, so the kernel does not keep its name.
func (g lookup) transient(x *transient.File) (*gofuse.Inode, syscall.Errno) {
	if x.Link != "" {
		n := g.newTransientLink(g.ctx, x)
		g.fs.inodes.Link(x.Link, g.fs.started, &g.out.Attr)
		return n.EmbeddedInode(), 0
	}
	if x.Bytes == nil {
		if g.fs.creation.HasCome(g.ctx, x) {
			return g.Lookup(g.ctx, x.At().Name, g.out)
		}
		return g.announced(x)
	}
	n := g.transientNode(g.ctx, x)
	return n.EmbeddedInode(), n.attr(&g.out.Attr)
}

func (g *groupNode) transientNode(ctx context.Context, x *transient.File) *transientNode {
	key := x.Key()
	return g.fs.ids.Inode(key, func(id gofuse.StableAttr) *nodes.Node {
		n := &transientNode{base: newBase(g.fs, key), data: x}
		id.Mode = syscall.S_IFREG
		g.NewInode(ctx, n, id)
		return &n.Node
	}).Operations().(*transientNode)
}

// OnForget frees the space of a file that no program can reach any more.
func (n *transientNode) OnForget() {
	n.base.OnForget()
	if n.Place().IsGone() {
		n.data.Bytes.Close()
	}
}

// attr fills in the attributes of the scratch file.
func (n *transientNode) attr(a *fuse.Attr) syscall.Errno {
	s, err := n.data.Bytes.SysStat()
	if err != nil {
		return n.fs.Errors.Errno("stat", n.data.Path(), err)
	}
	number := a.Ino
	a.FromStat(s)
	a.Ino, a.Nlink = number, 1
	if n.Place().IsGone() || n.data.IsAside() {
		a.Nlink = 0
	}
	owner := n.fs.rights.OfMount(0)
	a.Owner = fuse.Owner{Uid: owner.UID, Gid: owner.GID}
	return 0
}

// Getattr returns the attributes of the scratch file.
func (n *transientNode) Getattr(
	_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut,
) syscall.Errno {
	return n.attr(&out.Attr)
}

// Setattr truncates or extends the file, or sets its mode or times. An owner is accepted and has no
// effect.
func (n *transientNode) Setattr(
	_ context.Context, _ gofuse.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut,
) syscall.Errno {
	out.Ino = n.Number()
	var err error
	if size, ok := in.GetSize(); ok {
		err = n.data.Bytes.Truncate(int64(size))
	}
	if err == nil {
		err = n.data.Bytes.UseFD(func(fd int) error { return setAttr(fd, in) })
	}
	if err != nil {
		return n.fs.Answer("change", n.data.Path(), err)
	}
	return n.attr(&out.Attr)
}

// setAttr sets the mode and the times that are asked for.
func setAttr(fd int, in *fuse.SetAttrIn) (err error) {
	if mode, ok := in.GetMode(); ok {
		err = unix.Fchmod(fd, mode&0o777)
	}
	if err == nil {
		err = setTimes(fd, in)
	}
	return err
}

func setTimes(fd int, in *fuse.SetAttrIn) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
	for i, get := range []func() (time.Time, bool){in.GetATime, in.GetMTime} {
		if t, ok := get(); ok {
			times[i] = unix.NsecToTimespec(t.UnixNano())
		}
	}
	if times[0].Nsec == unix.UTIME_OMIT && times[1].Nsec == unix.UTIME_OMIT {
		return nil
	}
	return unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH)
}

// Open opens the transient, unless it has become something else under its name.
func (n *transientNode) Open(
	ctx context.Context, flags uint32,
) (gofuse.FileHandle, uint32, syscall.Errno) {
	if n.Place().IsGone() || n.data.IsAside() {
		return nil, 0, n.lookAgain(ctx)
	}
	n.fs.again.Ended(wire.Thread(ctx))
	return n.handle(flags), fuse.FOPEN_KEEP_CACHE, 0
}

// handle returns a handle of the file, opened with these flags of open(2).
func (n *transientNode) handle(flags uint32) *transientHandle {
	h := &transientHandle{n, flags&syscall.O_ACCMODE != syscall.O_RDONLY}
	if h.writes {
		n.fs.transients.Opened(n.data)
	}
	return h
}

// Getxattr says why the file could not become a view, or was refused something. A transient has no
// other metadata.
func (n *transientNode) Getxattr(
	_ context.Context, attr string, dest []byte,
) (uint32, syscall.Errno) {
	why := n.data.Refused()
	if why == nil {
		why = n.fs.Failures.Of(n.data.Path())
	}
	if why == nil || attr != xattr.Error {
		return 0, unix.ENODATA
	}
	return xattr.Copy(dest, []byte(errno.Reason(why)), xattr.SizeMax)
}

// Listxattr lists what Getxattr can return.
func (n *transientNode) Listxattr(_ context.Context, dest []byte) (uint32, syscall.Errno) {
	if n.data.Refused() == nil {
		return 0, 0
	}
	return xattr.Copy(dest, []byte(xattr.Error+"\x00"), xattr.ListMax)
}

// Setxattr is refused, as on a file system without attributes. Editors do not care, which set an
// access list of their temporary files. What is copied of an array waits for it. A program that
// sets what describes an array copies all attributes of a file, and needs no reason.
func (n *transientNode) Setxattr(
	ctx context.Context, attr string, data []byte, _ uint32,
) syscall.Errno {
	path, isCopied := n.data.Path(), wire.Caller(ctx).Mover
	switch {
	case xattr.IsSystems(attr):
		return unix.EOPNOTSUPP
	case isCopied && !strings.HasPrefix(attr, xattr.Zarr):
		return n.fs.Errors.Errno("setxattr", path, xattr.NotOfZarr(attr))
	case isCopied:
		return n.fs.Answer("setxattr", path, n.data.Copied.Keep(attr, data))
	case xattr.IsFixed(attr):
		n.described.Store(true)
		return unix.EOPNOTSUPP
	case n.described.Load() && strings.HasPrefix(attr, xattr.Attr):
		return unix.EOPNOTSUPP
	}
	_, name := names.Split(path)
	return n.fs.Answer("setxattr", path,
		fmt.Errorf("%w: %s is not an array, and has no attributes "+
			"such as %s", errors.ErrUnsupported, name, attr))
}

// Read reads from the scratch file.
func (h *transientHandle) Read(
	_ context.Context, dest []byte, off int64,
) (fuse.ReadResult, syscall.Errno) {
	got, err := h.node.data.Bytes.ReadAt(dest, off)
	if err != nil && err != io.EOF {
		return nil, h.node.fs.AnswerRead("read", h.node.data.Path(), err)
	}
	return fuse.ReadResultData(dest[:got]), 0
}

// Write writes to the scratch file. A file that became a view, or was removed by that, refuses
// more: the bytes would be lost.
func (h *transientHandle) Write(_ context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	err := h.node.fs.transients.Space.Take(int64(len(data)))
	written := 0
	h.node.data.Wrote()
	if err == nil {
		written, err = h.node.data.Bytes.WriteAt(data, off)
	}
	if err != nil {
		return uint32(written), h.node.fs.Answer("write", h.node.data.Path(), err)
	}
	return uint32(written), 0
}

// Flush stores what is written, where there is an array for it. Otherwise it stays in the scratch
// file, which survives a kill of the mount's process from now on.
func (h *transientHandle) Flush(context.Context) syscall.Errno {
	x := h.node.data
	if h.writes {
		x.NoteWhole()
	}
	err := h.node.fs.adopting.FinishLate(x)
	if err == nil && h.writes && !x.IsLate() {
		err = x.Bytes.Keep(x.Shown())
	}
	return h.node.fs.Answer("close", x.Path(), err)
}

// Release ends the handle, and with the last one a file that has become the array's.
func (h *transientHandle) Release(context.Context) syscall.Errno {
	f, x := h.node.fs, h.node.data
	if !h.writes || !f.transients.Closed(x) {
		return 0
	}
	if x.IsAside() {
		f.adopting.ClosedAside(x)
		return 0
	}
	if !x.IsLate() {
		f.transients.SayLater(x)
		return 0
	}
	if err := f.adopting.FinishLate(x); err != nil {
		f.log.Error("closed, but not stored", "path", x.Path(), "bytes", x.Size(), "err", err)
	}
	if x.IsLate() {
		f.transients.End(x)
	}
	return 0
}

// Fsync makes the scratch file durable.
func (h *transientHandle) Fsync(context.Context, uint32) syscall.Errno {
	x := h.node.data
	return h.node.fs.Answer("fsync", x.Path(), x.Bytes.Sync(x.Shown()))
}

// Allocate asks the scratch folder's file system.
func (h *transientHandle) Allocate(_ context.Context, off, size uint64, mode uint32) syscall.Errno {
	err := error(unix.EINTR)
	if mode&unix.FALLOC_FL_PUNCH_HOLE == 0 {
		if full := h.node.fs.transients.Space.Take(int64(min(size, 1<<62))); full != nil {
			err = full
		}
	}
	for err == unix.EINTR {
		err = h.node.data.Bytes.UseFD(func(fd int) error {
			return unix.Fallocate(fd, mode, int64(off), int64(size))
		})
	}
	if err == unix.ENOSYS {
		err = unix.EOPNOTSUPP
	}
	if err != nil {
		return h.node.fs.Answer("allocate", h.node.data.Path(), err)
	}
	return 0
}

// Lseek finds data and holes of the scratch file.
func (h *transientHandle) Lseek(
	_ context.Context, off uint64, whence uint32,
) (uint64, syscall.Errno) {
	var n int64
	err := h.node.data.Bytes.UseFD(func(fd int) (err error) {
		n, err = unix.Seek(fd, int64(off), int(whence))
		return err
	})
	if err == unix.ENXIO {
		return 0, unix.ENXIO // the everyday answer for "no more data"
	}
	if err != nil {
		return 0, h.node.fs.Errors.Errno("seek", h.node.data.Path(), err)
	}
	return uint64(n), 0
}
