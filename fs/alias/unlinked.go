package alias

import (
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/view"
)

// An array has several names. A program that removes one of them takes it for a separate file and
// does not mean the others. `rm *.raw` and `rsync --delete` are such programs. So a removed view is
// hidden from everybody in this mount until it is created again. The array goes with the last of
// its listed views.

// Another program may recreate the array meanwhile. Of the new one nothing was removed. So the
// identity of the array's directory is known, as it was when the first view was removed.

// UnlinkedViews are those of an array that were removed.
type UnlinkedViews struct {
	views view.Set
	home  string // the identity of the array's directory; "": not known
}

// Moved implements pathstate.Part.
func (p *UnlinkedViews) Moved(string) {}

// Ended implements pathstate.Part.
func (p *UnlinkedViews) Ended() { *p = UnlinkedViews{} }

// IsEmpty implements pathstate.Part.
func (p *UnlinkedViews) IsEmpty() bool { return p.views == 0 }

// isOfOther reports whether the views are certain to be of an array that was in another directory
// than that of the identity now.
func (p *UnlinkedViews) isOfOther(now string) bool {
	return p.home != "" && now != "" && p.home != now
}

// Unlinked are the views of arrays that were removed in this mount.
type Unlinked struct {
	parts    pathstate.Parts[UnlinkedViews]
	identity func(path string) string // of a directory in the store; "": not known
}

// NewUnlinked returns those that the parts of a mount's states are. identity returns that of the
// directory at a path, "" if it is not known.
func NewUnlinked(
	parts pathstate.Parts[UnlinkedViews], identity func(path string) string,
) *Unlinked {
	return &Unlinked{parts, identity}
}

// Has reports whether view v of the array at path was removed. If the store does not say which
// directory is there, what was removed stays so. A file that was not removed is never hidden.
func (u *Unlinked) Has(path string, v view.View) bool {
	var removed UnlinkedViews
	u.parts.Look(path, func(p *UnlinkedViews) { removed = *p })
	return removed.views&view.SetOf(v) != 0 && !removed.isOfOther(u.identity(path))
}

// Add notes that v was removed, and reports whether v was the last of the listed views that was
// left. Of two programs that remove the last two views at the same time, one removes the last. The
// caller sees to it that this mount does not recreate the array meanwhile.
func (u *Unlinked) Add(path string, v view.View, listed view.Set) (last bool) {
	home := u.identity(path)
	u.parts.Make(path, func(p *UnlinkedViews) {
		if p.IsEmpty() || p.isOfOther(home) {
			*p = UnlinkedViews{home: home}
		}
		p.views |= view.SetOf(v)
		last = listed&view.SetOf(v) != 0 && listed&^p.views == 0
	})
	return last
}

// Restore shows v again.
func (u *Unlinked) Restore(path string, v view.View) {
	u.parts.Edit(path, func(p *UnlinkedViews) { p.views &^= view.SetOf(v) })
}

// Forget shows all views of the array at path again.
func (u *Unlinked) Forget(path string) {
	u.parts.Edit(path, (*UnlinkedViews).Ended)
}

// Rehome notes that this mount has recreated the array at path, and that its directory is another
// one now.
func (u *Unlinked) Rehome(path, from, to string) {
	u.parts.Edit(path, func(p *UnlinkedViews) {
		if p.home == from {
			p.home = to
		}
	})
}
