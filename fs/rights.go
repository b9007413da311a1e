package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file says which user may do what with the files of a mount. The kernel checks the modes and
// owners that it is told, because the mount has default_permissions. They follow the store, so that
// nobody reaches through the mount what the store keeps from them.

// The bits of a mode that let somebody write, and those of the owner.
const (
	writableBits = 0o222
	ownerReads   = 0o400
	ownerWrites  = 0o200
	ownerEnters  = 0o500
)

// folderRights sets mode and owner of the folder that shows a group.
func (f *filesystem) folderRights(n *zarrcore.Node, a *fuse.Attr) {
	if f.o.Umask == nil && n.Folder.Known {
		a.Mode = n.Folder.Mode
		if !f.o.AllowOther { // it was found, so the user who mounted may enter it; what else they may the store says when they try
			a.Mode = a.Mode&^0o700 | ownerEnters
			if n.Folder.Mode&writableBits != 0 && f.mayReplace(n) {
				a.Mode |= ownerWrites
			}
		}
		a.Mode |= dirMode &^ 0o7777
	}
	f.shared(n.Folder, a)
}

// fileRights sets mode and owner of a view. Its objects are read by way of the folder in the store,
// and replaced by those who may write to it.
func (f *filesystem) fileRights(n *zarrcore.Node, v view.View, a *fuse.Attr) {
	r := n.Documents.And(n.Folder.Inside())
	if f.o.Umask == nil && r.Known {
		a.Mode = r.Mode & 0o666
		if !f.o.AllowOther {
			a.Mode = a.Mode&^0o700 | ownerReads // the document was read
			if n.Documents.Mode&writableBits != 0 && f.mayReplace(n) {
				a.Mode |= ownerWrites
			}
		}
		a.Mode |= fileMode &^ 0o7777
	}
	if v != view.Document && n.Meta != nil && n.Writable() != nil {
		a.Mode &^= writableBits
	}
	f.shared(r, a)
}

// mayReplace reports whether the user who mounted may replace what the node's folder holds. For
// root, which may do everything, it says what the owner may do. An access control list, of which
// the mode says little, may give it to those who own nothing.
func (f *filesystem) mayReplace(n *zarrcore.Node) bool {
	const each, writeAndEnter = 0o7, 0o3
	r, me := n.Folder, uint32(os.Geteuid())
	class := r.Mode
	switch {
	case me == 0 || me == r.UID:
		return r.Mode>>6&writeAndEnter == writeAndEnter
	case slices.Contains(f.groups, int(r.GID)):
		class >>= 3
	}
	return class&each&writeAndEnter == writeAndEnter || f.o.Store != nil && f.o.Store.MayWrite(f.ctx, n.Path) == nil
}

// The kernel takes an array for files in the folder of its group. In the store it is a folder of
// its own: users who may not change that cannot remove, replace or move the array there.
const (
	toRemove  = 0o7 // `rm -r` has to list the folder, to write to it, and to enter it
	toReplace = 0o3
	toMove    = 0o2 // to another folder, as rename(2) asks
)

// refuses returns why the store would not let a user do something with a node's folder, or nil. The
// bits of its mode that this needs are given. Without --allow-other the kernel lets nobody else in.
func (f *filesystem) refuses(u user, n *zarrcore.Node, needs uint32) error {
	const sticky = 0o1000
	r := f.folderAs(n)
	if !f.o.AllowOther || !r.Known || !u.known || u.uid == 0 || int(u.uid) == os.Geteuid() {
		return nil // the store itself refuses the daemon, and so the user who mounted
	}
	if u.class(r)&needs != needs {
		return fmt.Errorf("%w: user %d may not change the folder of %q in the store, which has the mode %03o",
			iofs.ErrPermission, u.uid, n.Path, r.Mode&0o777)
	}
	if needs != toMove && r.Mode&sticky != 0 && u.uid != r.UID && u.uid != or(f.o.UID, n.Documents.UID) {
		return fmt.Errorf("%w: in the folder of %q in the store user %d may remove only what is theirs",
			syscall.EPERM, n.Path, u.uid)
	}
	return nil
}

// folderAs returns the rights to a node's folder as users of the mount are to have them.
func (f *filesystem) folderAs(n *zarrcore.Node) store.Rights {
	r := n.Folder
	if f.o.Umask != nil {
		r.Mode = 0o777 &^ *f.o.Umask
	}
	r.UID, r.GID = or(f.o.UID, r.UID), or(f.o.GID, r.GID)
	return r
}

// user is the user whose program sent a request.
type user struct {
	known    bool
	uid, gid uint32
	thread   int
}

func userOf(ctx context.Context) user {
	c, ok := ctx.(*fuse.Context)
	if !ok {
		return user{}
	}
	return user{true, c.Uid, c.Gid, wire.Thread(ctx)}
}

// class returns what a user may do, as the three bits of a mode.
func (u user) class(r store.Rights) uint32 {
	switch {
	case u.uid == r.UID:
		return r.Mode >> 6 & 7
	case u.gid == r.GID || u.isIn(r.GID):
		return r.Mode >> 3 & 7
	}
	return r.Mode & 7
}

// isIn reports whether a group is among the supplementary groups of the thread that sent the
// request.
func (u user) isIn(gid uint32) bool {
	return program.HasGroup(u.thread, gid)
}

// mayStore returns why nothing of the node at path can be stored, if the store can say so before a
// write. So a program gets the error when it opens a file for writing, and not at a close that it
// may ignore.
func (f *filesystem) mayStore(path string) error {
	if f.o.Store == nil {
		return nil
	}
	err := f.o.Store.MayWrite(f.ctx, path)
	if err == nil || errors.Is(err, iofs.ErrNotExist) { // it has no folder yet
		return nil
	}
	return fmt.Errorf("its folder in the store may not be changed: %w", err)
}

// whyNotWritten returns why an array cannot be written to, in a mount that can.
func (f *filesystem) whyNotWritten(n *zarrcore.Node) error {
	if f.o.ReadOnly || n.Kind != zarrcore.ArrayNode {
		return nil
	}
	if err := n.Writable(); err != nil {
		return err
	}
	return f.mayStore(n.Path)
}

// shared sets the owner that other users are to see, and takes the right to write in a read-only
// mount.
func (f *filesystem) shared(r store.Rights, a *fuse.Attr) {
	if f.o.AllowOther && r.Known {
		a.Owner = fuse.Owner{Uid: or(f.o.UID, r.UID), Gid: or(f.o.GID, r.GID)}
	}
	if f.o.ReadOnly {
		a.Mode &^= writableBits
	}
}

// private sets mode and owner of what is for nobody but the user who mounted: the mount's own files
// have something about all arrays.
func (f *filesystem) private(a *fuse.Attr) {
	a.Mode &^= 0o277
	a.Owner = fuse.Owner{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}
}

// supplementary returns the groups of the user who mounts.
func supplementary() []int {
	groups, _ := os.Getgroups() // without them the store is asked
	return append(groups, os.Getegid())
}
