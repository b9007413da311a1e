package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var (
	_ = (gofuse.NodeSetxattrer)((*groupNode)(nil))
	_ = (gofuse.NodeSetxattrer)((*fileNode)(nil))
	_ = (gofuse.NodeRemovexattrer)((*groupNode)(nil))
	_ = (gofuse.NodeRemovexattrer)((*fileNode)(nil))
)

// Setxattr sets an attribute of the array or group, the names of an array's axes, or how arrays in
// the group are created. All other attributes follow from the metadata. They can only be set to the
// value that they have, as programs do that copy a file with all its attributes.
func (b *base) Setxattr(ctx context.Context, attr string, data []byte, flags uint32) syscall.Errno {
	by := wire.Caller(ctx)
	if !strings.HasPrefix(attr, "user.zarr") {
		return b.refuseForeign(attr, data, by)
	}
	n, errno := b.xattrNode(ctx)
	if errno == syscall.ENOENT && b.applyDocument(ctx) {
		n, errno = b.xattrNode(ctx)
	}
	if gone := b.fs.RemovedStore(); errno == syscall.ENOENT && gone != nil {
		return b.fs.Answer("setxattr", b.path(), gone)
	}
	if errno == syscall.ENOENT && !b.Place().IsGone() {
		return b.awaitArray(attr, data, by)
	}
	if errno != 0 {
		return errno
	}
	if refused := b.xattrsRefused(ctx, n); refused != 0 {
		return refused
	}
	old := xattr.Find(n, attr)
	switch {
	case old != nil && flags&unix.XATTR_CREATE != 0:
		return syscall.EEXIST
	case old == nil && flags&unix.XATTR_REPLACE != 0:
		return unix.ENODATA
	case old != nil && bytes.Equal(old.Value(), data):
		return 0
	}
	if b.fs.isFromDocument(n.Path, attr, by) {
		return 0
	}
	if xattr.IsFixed(attr) && b.fs.traces.Of(n.Path).Unfinished(by) {
		return b.setByDocument(ctx, attr, data)
	}
	if attr == xattr.Path { // each copy has another one: Python's copies try this with each file
		return syscall.EPERM
	}
	return b.changeXattr(n, attr, append([]byte{}, data...))
}

// awaitArray keeps what a program sets that copies files and has made one that is not an array yet.
func (b *base) awaitArray(attr string, data []byte, by program.Process) syscall.Errno {
	why := fmt.Errorf("%w: the file is not an array yet; set %s once it is written and closed",
		errors.ErrUnsupported, attr)
	if by.Mover {
		at := b.spot()
		if x := b.fs.transients.Find(at.Dir, at.Name); x != nil {
			why = x.Copied.Keep(attr, data)
		}
	}
	return b.fs.Answer("setxattr", b.path(), why)
}

// applyDocument creates the array of a document that a program has written and still has open.
// Programs that extract archives set a file's attributes before they close it. It reports whether
// the document could be applied.
func (b *base) applyDocument(ctx context.Context) bool {
	d := b.fs.documents.FindAt(b.path)
	return d != nil && d.Apply(b.fs.ctx, wire.Caller(ctx), document.Missing) == nil
}

// setByDocument answers a program that copies the files of an array and has created it by one of
// them. The program now sets an attribute that follows from the metadata. The array's document sets
// it: the program writes that last, or is writing it now. No reason is said: the copy is in order.
func (b *base) setByDocument(ctx context.Context, attr string, data []byte) syscall.Errno {
	b.applyDocument(ctx)
	n, errno := b.xattrNode(ctx)
	if errno != 0 {
		return errno
	}
	if now := xattr.Find(n, attr); now != nil && bytes.Equal(now.Value(), data) {
		return 0
	}
	return unix.EOPNOTSUPP
}

// refuseForeign refuses an attribute that is not of Zarr.
func (b *base) refuseForeign(attr string, data []byte, by program.Process) syscall.Errno {
	switch {
	case isSystems(attr):
		return b.refuseSystems(attr, data, by)
	case by.Mover && strings.HasPrefix(attr, "trusted."): // root's copies try these with each file
		return unix.EOPNOTSUPP
	case by.Mover:
		return b.refuseCopied(notOfZarr(attr))
	}
	return b.fs.Answer("setxattr", b.path(), notOfZarr(attr))
}

// sizeOfMode is the size in bytes of an access list that says what a mode does: a header, and an
// entry each for the owner, the group and all others (linux/posix_acl_xattr.h).
const sizeOfMode = 4 + 3*8

// isSystems reports whether an attribute of that name is an access list, a label or a capability.
func isSystems(attr string) bool {
	return strings.HasPrefix(attr, "system.") || strings.HasPrefix(attr, "security.")
}

// notOfZarr is why an attribute of that name is refused.
func notOfZarr(attr string) error {
	_, name, _ := strings.Cut(attr, ".") // it is "user" or "trusted" that comes before
	return fmt.Errorf("%s: %w; an attribute of the array or group is %s%s",
		attr, errors.ErrUnsupported, xattr.Attr, name)
}

// refuseSystems refuses an attribute of a kind that only the system has. The array is in order, so
// the reason is not kept as one of the array. A program that copies tries labels with each file, and
// access lists that equal the mode: it is told without a word. Other attributes have a reason, once
// for each program that sets them of many files.
func (b *base) refuseSystems(attr string, data []byte, by program.Process) syscall.Errno {
	last, _ := b.fs.foreign.Swap(attr, by)
	isTried := !strings.HasPrefix(attr, "system.") || len(data) <= sizeOfMode
	if by.Mover && isTried || last == by {
		return unix.EOPNOTSUPP
	}
	return b.fs.Errors.Errno("setxattr", b.path(), fmt.Errorf("%s: %w; access lists, labels and "+
		"capabilities are not kept. The rights to an array are those of its folder and "+
		"documents in the store: %s", attr, errors.ErrUnsupported, b.fs.h.Name()))
}

// refuseCopied refuses an attribute to a program that copies a file with all that it has, and
// ignores the error. So the reason does not replace that of another refusal.
func (b *base) refuseCopied(err error) syscall.Errno {
	if b.fs.Failures.Of(b.path()) != nil {
		return b.fs.Errors.Errno("setxattr", b.path(), err)
	}
	return b.fs.Answer("setxattr", b.path(), err)
}

// Removexattr removes an attribute, the names of the axes, or a setting. A program that copies files
// removes none: what its source does not have stays, as where a .npy is copied over an array.
func (b *base) Removexattr(ctx context.Context, attr string) syscall.Errno {
	n, errno := b.xattrNode(ctx)
	if errno != 0 {
		return errno
	}
	if refused := b.xattrsRefused(ctx, n); refused != 0 {
		return refused
	}
	if xattr.Find(n, attr) == nil {
		return unix.ENODATA
	}
	if wire.Caller(ctx).Mover { // rsync -X removes what a source does not have: it may be any file
		return 0
	}
	return b.changeXattr(n, attr, nil)
}

// changeXattr sets what attr names, or removes it where value is nil.
func (b *base) changeXattr(n *zarrcore.Node, attr string, value []byte) syscall.Errno {
	f := b.fs
	since := f.sites.Now()
	err := xattr.Set(f.ctx, f.h, n, attr, value)
	if errors.Is(err, iofs.ErrNotExist) && since.HasMoved(b.path, n.Path) {
		if _, moved, missing := b.nodeWhereItIs(f.ctx); missing == nil {
			return b.changeXattr(moved, attr, value)
		}
	}
	f.stat.Forget(n.Path)
	for _, known := range f.ids.Known(n.Path) { // the documents have other sizes now
		known.NotifyContent(-1, 0)
	}
	return f.AnswerChange("setxattr", n.Path, errno.Refused(err))
}

// isFromDocument reports whether what a program sets by an extended attribute is to come from the
// document alone: the program copies files, and either the attribute follows from the metadata, or
// the document was copied with it.
func (f *filesystem) isFromDocument(path, attr string, by program.Process) bool {
	if !by.Mover {
		return false
	}
	if xattr.IsFixed(attr) || attr == xattr.Error {
		return true
	}
	if d := f.documents.Find(path); d != nil && d.Text.IsDue() {
		return true
	}
	if !f.copied.Has(path, by) {
		return false
	}
	f.log.Info("the copied document counts, not the extended attribute that was copied beside it",
		"path", path, "attribute", attr)
	return true
}
