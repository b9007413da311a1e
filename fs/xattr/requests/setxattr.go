package requests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Set sets an attribute of the array or group, the names of an array's axes, or how arrays in
// the group are created. All other attributes follow from the metadata. They can only be set to the
// value that they have, as programs do that copy a file with all its attributes.
func (a *Attributes) Set(
	ctx context.Context, on *nodes.Node, attr string, data []byte, flags uint32,
) syscall.Errno {
	by := wire.Caller(ctx)
	if !strings.HasPrefix(attr, "user.zarr") {
		return a.refuseForeign(on, attr, data, by)
	}
	n, errno := a.node(ctx, on)
	if errno == syscall.ENOENT && a.applyDocument(ctx, on) {
		n, errno = a.node(ctx, on)
	}
	if gone := a.RemovedStore(); errno == syscall.ENOENT && gone != nil {
		return a.Answer("setxattr", on.Where(), gone)
	}
	if errno == syscall.ENOENT && !on.Place().IsGone() {
		return a.awaitArray(on, attr, data, by)
	}
	if errno != 0 {
		return errno
	}
	if refused := a.refused(ctx, n); refused != 0 {
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
	if a.IsFromDocument(n.Path, attr, by) {
		return 0
	}
	if xattr.IsFixed(attr) && a.Traces.Of(n.Path).IsUnfinished(by) {
		return a.setByDocument(ctx, on, attr, data)
	}
	if attr == xattr.Path { // each copy has another one: Python's copies try this with each file
		return syscall.EPERM
	}
	return a.change(on, n, attr, append([]byte{}, data...))
}

// awaitArray keeps what a program that copies files sets of a file before it is an array.
func (a *Attributes) awaitArray(
	on *nodes.Node, attr string, data []byte, by program.Process,
) syscall.Errno {
	why := fmt.Errorf("%w: the file is not an array yet; set %s once it is written and closed",
		errors.ErrUnsupported, attr)
	if by.Mover {
		at := transient.SpotOf(on.Place().Key())
		if x := a.Transients.Find(at.Dir, at.Name); x != nil {
			why = x.Copied.Keep(attr, data)
		}
	}
	return a.Answer("setxattr", on.Where(), why)
}

// applyDocument creates the array of a document that a program has written and still has open.
// Programs that extract archives set a file's attributes before they close it. It reports whether
// the document could be applied.
func (a *Attributes) applyDocument(ctx context.Context, on *nodes.Node) bool {
	d := a.Documents.FindAt(on.Where)
	return d != nil && d.Apply(a.Ctx, wire.Caller(ctx), document.Missing) == nil
}

// setByDocument answers a program that copies the files of an array and has created it by one of
// them. The program now sets an attribute that follows from the metadata. The array's document sets
// it: the program writes that last, or is writing it now. No reason is said: the copy is in order.
func (a *Attributes) setByDocument(
	ctx context.Context, on *nodes.Node, attr string, data []byte,
) syscall.Errno {
	a.applyDocument(ctx, on)
	n, errno := a.node(ctx, on)
	if errno != 0 {
		return errno
	}
	if now := xattr.Find(n, attr); now != nil && bytes.Equal(now.Value(), data) {
		return 0
	}
	return unix.EOPNOTSUPP
}

// refuseForeign refuses an attribute that is not of Zarr.
func (a *Attributes) refuseForeign(
	on *nodes.Node, attr string, data []byte, by program.Process,
) syscall.Errno {
	switch {
	case xattr.IsSystems(attr):
		return a.refuseSystems(on, attr, data, by)
	case by.Mover && strings.HasPrefix(attr, "trusted."): // root's copies try these with each file
		return unix.EOPNOTSUPP
	case by.Mover:
		return a.refuseCopied(on, xattr.NotOfZarr(attr))
	}
	return a.Answer("setxattr", on.Where(), xattr.NotOfZarr(attr))
}

// sizeOfMode is the size in bytes of an access list that says what a mode does: a header, and an
// entry each for the owner, the group and all others (linux/posix_acl_xattr.h).
const sizeOfMode = 4 + 3*8

// refuseSystems refuses an attribute of a kind that only the system has. The array is in order, so
// the reason is not kept as one of the array. A program that copies tries labels with each file,
// and access lists equal to the mode: it gets the error without a reason. Other attributes have a
// reason, once for each program that sets them on many files.
func (a *Attributes) refuseSystems(
	on *nodes.Node, attr string, data []byte, by program.Process,
) syscall.Errno {
	last, _ := a.foreign.Swap(attr, by)
	isTried := !strings.HasPrefix(attr, "system.") || len(data) <= sizeOfMode
	if by.Mover && isTried || last == by {
		return unix.EOPNOTSUPP
	}
	return a.Errors.Errno("setxattr", on.Where(), fmt.Errorf("%s: %w; access lists, labels and "+
		"capabilities are not kept. The rights to an array are those of its folder and "+
		"documents in the store: %s", attr, errors.ErrUnsupported, a.H.Name()))
}

// refuseCopied refuses an attribute to a program that copies a file with all that it has, and
// ignores the error. So the reason does not replace that of another refusal.
func (a *Attributes) refuseCopied(on *nodes.Node, err error) syscall.Errno {
	if a.Failures.Of(on.Where()) != nil {
		return a.Errors.Errno("setxattr", on.Where(), err)
	}
	return a.Answer("setxattr", on.Where(), err)
}

// Remove removes an attribute, the names of the axes, or a setting. A program that copies files
// removes none: what its source does not have stays, as where a .npy is copied over an array.
func (a *Attributes) Remove(ctx context.Context, on *nodes.Node, attr string) syscall.Errno {
	n, errno := a.node(ctx, on)
	if errno != 0 {
		return errno
	}
	if refused := a.refused(ctx, n); refused != 0 {
		return refused
	}
	if xattr.Find(n, attr) == nil {
		return unix.ENODATA
	}
	if wire.Caller(ctx).Mover { // rsync -X removes what a source does not have: it may be any file
		return 0
	}
	return a.change(on, n, attr, nil)
}

// change sets what attr names, or removes it where value is nil.
func (a *Attributes) change(
	on *nodes.Node, n *zarrcore.Node, attr string, value []byte,
) syscall.Errno {
	since := a.Sites.Now()
	err := xattr.Set(a.Ctx, a.H, n, attr, value)
	if errors.Is(err, iofs.ErrNotExist) && since.HasMoved(on.Where, n.Path) {
		if _, moved, missing := a.nodeWhereItIs(a.Ctx, on); missing == nil {
			return a.change(on, moved, attr, value)
		}
	}
	a.Stat.Forget(n.Path)
	for _, known := range a.Nodes.Known(n.Path) { // the documents have other sizes now
		known.NotifyContent(-1, 0)
	}
	return a.AnswerChange("setxattr", n.Path, errno.Refused(err))
}

// IsFromDocument reports whether what a program sets by an extended attribute is to come from the
// document alone: the program copies files, and either the attribute follows from the metadata, or
// the document was copied with it.
func (a *Attributes) IsFromDocument(path, attr string, by program.Process) bool {
	if !by.Mover {
		return false
	}
	if xattr.IsFixed(attr) || attr == xattr.Error {
		return true
	}
	if d := a.Documents.Find(path); d != nil && d.Text.IsDue() {
		return true
	}
	if !a.Copied.Has(path, by) {
		return false
	}
	a.Log.Info("the copied document counts, not the extended attribute that was copied beside it",
		"path", path, "attribute", attr)
	return true
}
