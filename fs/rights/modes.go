package rights

import (
	"log/slog"
	"os"
	"slices"
	"syscall"

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
