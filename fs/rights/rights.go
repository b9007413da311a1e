// Package rights says which user may do what with the files of a mount. The kernel checks the modes
// and owners that it is told, because the mount has default_permissions. They follow the store, so
// that nobody reaches through the mount what the store keeps from them.
//
// Nothing here changes after it is made, so there are no locks.
package rights

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Modes if the store has none, or if an option says that the mount does not follow them. The
// mount's umask takes bits from them, and a read-only mount takes Writable.
const (
	Dir  = syscall.S_IFDIR | 0o777
	File = syscall.S_IFREG | 0o666
	// Writable are the bits that let somebody write.
	Writable = 0o222
)

// The bits of the owner.
const (
	ownerReads  = 0o400
	ownerWrites = 0o200
	ownerEnters = 0o500
)

// Options say how far the mount follows the store.
type Options struct {
	AllowOther bool // users other than the one who mounts may enter
	ReadOnly   bool // nothing can be written
	// owner of all files; nil: as in the store with AllowOther, otherwise the user who mounts
	UID, GID *uint32
	Umask    *uint32 // permissions that nothing has; nil: those of the store
}

// Rights are those in a mount.
type Rights struct {
	o      Options
	ctx    context.Context // ends with the mount
	store  *store.Store    // nil: unknown
	umask  uint32
	groups []int // of the user who mounts
	said   sync.Once
}

// New returns the rights in a mount of a store, which ends with ctx. The store may be nil.
func New(ctx context.Context, o Options, s *store.Store) *Rights {
	groups, _ := os.Getgroups() // without them the store is asked
	return &Rights{o: o, ctx: ctx, store: s, umask: or(o.Umask, 0o022),
		groups: append(groups, os.Getegid())}
}

// or returns what is set, or otherwise the default.
func or(set *uint32, otherwise uint32) uint32 {
	if set == nil {
		return otherwise
	}
	return *set
}

// Shown is what the kernel is told.
type Shown struct{ Mode, UID, GID uint32 }

// OfMount returns what is shown of a file or folder that the store does not have.
func (r *Rights) OfMount(mode uint32) Shown {
	s := Shown{mode &^ r.umask, or(r.o.UID, uint32(os.Getuid())), or(r.o.GID, uint32(os.Getgid()))}
	if r.o.ReadOnly {
		s.Mode &^= Writable
	}
	return s
}

// OfControl returns what is shown of the mount's own files, which have something about all arrays.
// They are for nobody but the user who mounted.
func (r *Rights) OfControl(mode uint32) Shown {
	return Shown{r.OfMount(mode).Mode &^ 0o277, uint32(os.Getuid()), uint32(os.Getgid())}
}

// OfFolder returns what is shown of the folder that shows a group.
func (r *Rights) OfFolder(n *zarrcore.Node) Shown {
	s := r.OfMount(Dir)
	if r.o.Umask == nil && n.Folder.Known {
		s.Mode = n.Folder.Mode
		// The folder was found, so the mounting user may enter it. The store decides what else this
		// user may do.
		if !r.o.AllowOther {
			s.Mode = s.Mode&^0o700 | ownerEnters
			if n.Folder.Mode&Writable != 0 && r.mayReplace(n) {
				s.Mode |= ownerWrites
			}
		}
		s.Mode |= Dir &^ 0o7777
	}
	return r.shared(n.Folder, s)
}

// OfFile returns what is shown of a view. Its objects are read by way of the folder in the store,
// and replaced by those who may write to it.
func (r *Rights) OfFile(n *zarrcore.Node) Shown {
	s, in := r.OfMount(File), n.Documents.And(n.Folder.Inside())
	if r.o.Umask == nil && in.Known {
		s.Mode = in.Mode & 0o666
		if !r.o.AllowOther {
			s.Mode = s.Mode&^0o700 | ownerReads // the document was read
			if n.Documents.Mode&Writable != 0 && r.mayReplace(n) {
				s.Mode |= ownerWrites
			}
		}
		s.Mode |= File &^ 0o7777
	}
	return r.shared(in, s)
}

// shared sets the owner that other users are to see, and takes the right to write in a read-only
// mount.
func (r *Rights) shared(in store.Rights, s Shown) Shown {
	if r.o.AllowOther && in.Known {
		s.UID, s.GID = or(r.o.UID, in.UID), or(r.o.GID, in.GID)
	}
	if r.o.ReadOnly {
		s.Mode &^= Writable
	}
	return s
}

// mayReplace reports whether the user who mounted may replace what the node's folder holds. For
// root, which may do everything, it says what the owner may do. The mode says little of an
// access control list, which may give this right to users who own nothing.
func (r *Rights) mayReplace(n *zarrcore.Node) bool {
	const each, writeAndEnter = 0o7, 0o3
	in, me := n.Folder, uint32(os.Geteuid())
	class := in.Mode
	switch {
	case me == 0 || me == in.UID:
		return in.Mode>>6&writeAndEnter == writeAndEnter
	case slices.Contains(r.groups, int(in.GID)):
		class >>= 3
	}
	return class&each&writeAndEnter == writeAndEnter || r.store != nil &&
		r.store.Dirs().MayWrite(r.ctx, n.Path) == nil
}

// SayModesStay says once in the log that chmod and chown have no effect. Each program that copies
// files with their modes calls them.
func (r *Rights) SayModesStay(log *slog.Logger) {
	r.said.Do(func() {
		log.Info("chmod and chown have no effect in a mount: owners and modes follow those in " +
			"the store; change them there, or set them by --uid, --gid and --umask")
	})
}

// The kernel takes an array for files in the folder of its group. In the store it is a folder of
// its own: users who may not change that cannot remove, replace or move the array there.
const (
	ToRemove  = 0o7 // `rm -r` has to list the folder, to write to it, and to enter it
	ToReplace = 0o3 // by a rename
	ToMove    = 0o2 // to another folder, as rename(2) asks
)

// sticky is the bit of a folder in which users may replace and remove only what is theirs.
const sticky = 0o1000

// Checks reports whether Refuses looks at anything for a user.
func (r *Rights) Checks(u User) bool { return r.o.AllowOther && !u.isTrusted() }

// Refuses returns why the store would not let a user do something with a node's folder, or nil. The
// bits of its mode that this needs are given. Without --allow-other the kernel lets nobody else in.
func (r *Rights) Refuses(u User, n *zarrcore.Node, needs uint32) error {
	in := r.folderAs(n)
	if !in.Known || !r.Checks(u) {
		return nil // the store itself refuses the daemon, and so the user who mounted
	}
	if u.class(in)&needs != needs {
		return fmt.Errorf("%w: user %d may not change the folder of %q in the store, which has "+
			"the mode %03o",
			iofs.ErrPermission, u.UID, n.Path, in.Mode&0o777)
	}
	if needs != ToMove && in.Mode&sticky != 0 && u.UID != in.UID &&
		u.UID != or(r.o.UID, n.Documents.UID) {
		return fmt.Errorf("%w: in the folder of %q in the store user %d may remove only what "+
			"is theirs",
			syscall.EPERM, n.Path, u.UID)
	}
	return nil
}

// RefusesReading returns why a user may not know what a node's documents hold, or nil. The kernel
// knows only the mode of the folder that shows a group, and not the mode of its document.
func (r *Rights) RefusesReading(u User, n *zarrcore.Node) error {
	const read = 0o4
	as := r.OfFile(n)
	may := u.class(store.Rights{Mode: as.Mode, UID: as.UID, GID: as.GID})
	if !r.o.AllowOther || u.isTrusted() || may&read != 0 {
		return nil
	}
	return fmt.Errorf("%w: user %d may not read the metadata of %q, which has the mode %03o",
		iofs.ErrPermission, u.UID, n.Path, as.Mode&0o777)
}

// RefusesListing returns why a user may not know what a group holds, or nil.
func (r *Rights) RefusesListing(u User, n *zarrcore.Node) error {
	const list = 0o4
	to := n.Folder.Listing()
	if !r.Binds(u) || !to.Known || n.Kind == zarrcore.ArrayNode || u.class(r.as(to))&list != 0 {
		return nil
	}
	return fmt.Errorf("%w: user %d may not list %q, whose folder in the store has the mode %03o",
		iofs.ErrPermission, u.UID, n.Path, n.Folder.Mode&0o777)
}

// RefusesWriting returns why a user may not write the bytes of an array through a file whose mode
// is not the array's, or nil.
func (r *Rights) RefusesWriting(u User, n *zarrcore.Node) error {
	const write = 0o2
	as := r.OfFile(n)
	may := u.class(store.Rights{Mode: as.Mode, UID: as.UID, GID: as.GID})
	if !r.o.AllowOther || u.isTrusted() || may&write != 0 {
		return nil
	}
	return fmt.Errorf("%w: user %d may not write %q, which has the mode %03o",
		iofs.ErrPermission, u.UID, n.Path, as.Mode&0o777)
}

// RefusesBytes returns why a user may not have the bytes of the array at path, or nil. to are the
// rights to all its objects that were read. The kernel knows only the mode of the document.
func (r *Rights) RefusesBytes(u User, path string, to store.Rights) error {
	const read = 0o4
	if !r.Binds(u) || !to.Known {
		return nil
	}
	to = r.as(to)
	if u.class(to)&read != 0 {
		return nil
	}
	return fmt.Errorf("%w: user %d may not read all objects of %q in the store: only what "+
		"mode %03o allows; let its owner change that with chmod", iofs.ErrPermission, u.UID, path,
		to.Mode&0o777)
}

// Binds reports whether the rights in the store bind a user more than they bind the daemon.
func (r *Rights) Binds(u User) bool {
	return r.o.AllowOther && r.o.Umask == nil && !u.isTrusted()
}

// RefusesObjects returns why the store would not let a user change the objects of an array, or nil.
// The bits that this needs of each folder between the array and its objects are given. The kernel
// knows only the modes of the array's own folder and document.
func (r *Rights) RefusesObjects(
	ctx context.Context, u User, h *zarrcore.Hierarchy, n *zarrcore.Node, needs uint32,
) error {
	if !r.Binds(u) || n.Kind != zarrcore.ArrayNode || n.Meta == nil {
		return nil
	}
	var allowed store.Rights // to the last folder: most have the same, and groups take time
	return h.ObjectFolders(ctx, n, func(key string, to store.Rights) error {
		if to == allowed {
			return nil
		}
		as, kind := r.as(to), error(nil)
		switch {
		case !to.Known:
		case u.class(as)&needs != needs:
			kind = iofs.ErrPermission
		case as.Mode&sticky != 0 && u.UID != as.UID: // others own only some of what is in it
			kind = syscall.EPERM
		}
		if kind == nil {
			allowed = to
			return nil
		}
		return fmt.Errorf("%w: user %d may not change the chunks of %q in the folder %q of the "+
			"store, which has the mode %03o; let its owner change that with chmod",
			kind, u.UID, n.Path, key, to.Mode&(sticky|0o777))
	})
}

// RefusesAll returns why the store would not let a user do something with a node's folder and with
// all that is in it, or nil.
func (r *Rights) RefusesAll(
	ctx context.Context, u User, h *zarrcore.Hierarchy, n *zarrcore.Node, needs uint32,
) error {
	if err := r.Refuses(u, n, needs); err != nil {
		return err
	}
	return r.RefusesObjects(ctx, u, h, n, needs)
}

// folderAs returns the rights to a node's folder as users of the mount are to have them.
func (r *Rights) folderAs(n *zarrcore.Node) store.Rights {
	in := n.Folder
	if r.o.Umask != nil {
		in.Mode = 0o777 &^ *r.o.Umask
	}
	return r.as(in)
}

// as returns rights in the store with the owner and group that they have in the mount.
func (r *Rights) as(to store.Rights) store.Rights {
	to.UID, to.GID = or(r.o.UID, to.UID), or(r.o.GID, to.GID)
	return to
}

// User is the user whose program sent a request.
type User struct {
	Known    bool
	UID, GID uint32
	Thread   int // of the program
}

// isTrusted reports whether the mount keeps nothing from a user: root, the mount's own user, or an
// unknown one.
func (u User) isTrusted() bool {
	return !u.Known || u.UID == 0 || int(u.UID) == os.Geteuid()
}

// class returns what a user may do, as the three bits of a mode.
func (u User) class(r store.Rights) uint32 {
	switch {
	case u.UID == r.UID:
		return r.Mode >> 6 & 7
	case u.GID == r.GID || u.isIn(r.GID):
		return r.Mode >> 3 & 7
	}
	return r.Mode & 7
}

// isIn reports whether a group is among the supplementary groups of the thread that sent the
// request.
func (u User) isIn(gid uint32) bool {
	return program.HasGroup(u.Thread, gid)
}

// MayStore returns why nothing of the node at path can be stored, if the store can say so before a
// write. So a program gets the error when it opens a file for writing, and not at a close that it
// may ignore.
func (r *Rights) MayStore(path string) error {
	if r.store == nil {
		return nil
	}
	err := r.store.Dirs().MayWrite(r.ctx, path)
	if err == nil || errors.Is(err, iofs.ErrNotExist) { // it has no folder yet
		return nil
	}
	return fmt.Errorf("its folder in the store may not be changed: %w", err)
}

// WhyNotWritten returns why an array cannot be written to, in a mount that can.
func (r *Rights) WhyNotWritten(n *zarrcore.Node) error {
	if r.o.ReadOnly || n.Kind != zarrcore.ArrayNode {
		return nil
	}
	if err := n.Writable(); err != nil {
		return err
	}
	return r.MayStore(n.Path)
}
