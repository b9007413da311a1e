package alias

import (
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/view"
)

// An array has several names. A program that removes one of them takes it for a separate file and
// does not mean the others. `rm *.raw` and `rsync --delete` are such programs. So a removed view is
// hidden from everybody in this mount until it is created again. The array goes with the last of
// its listed views.

// UnlinkedViews are those of an array that were removed.
type UnlinkedViews view.Set

// Moved implements pathstate.Part.
func (p *UnlinkedViews) Moved(string) {}

// Ended implements pathstate.Part.
func (p *UnlinkedViews) Ended() { *p = 0 }

// IsEmpty implements pathstate.Part.
func (p *UnlinkedViews) IsEmpty() bool { return *p == 0 }

// Unlinked are the views of arrays that were removed in this mount.
type Unlinked struct {
	parts pathstate.Parts[UnlinkedViews]
}

// NewUnlinked returns those that the parts of a mount's states are.
func NewUnlinked(parts pathstate.Parts[UnlinkedViews]) *Unlinked { return &Unlinked{parts} }

// Has reports whether view v of the array at path was removed.
func (u *Unlinked) Has(path string, v view.View) (has bool) {
	u.parts.Look(path, func(p *UnlinkedViews) { has = view.Set(*p)&view.SetOf(v) != 0 })
	return has
}

// Add notes that v was removed, and reports whether v was the last of the listed views that was
// left. Of two programs that remove the last two views at the same time, one removes the last.
func (u *Unlinked) Add(path string, v view.View, listed view.Set) (last bool) {
	u.parts.Make(path, func(p *UnlinkedViews) {
		*p |= UnlinkedViews(view.SetOf(v))
		last = listed&view.SetOf(v) != 0 && listed&^view.Set(*p) == 0
	})
	return last
}

// Restore shows v again.
func (u *Unlinked) Restore(path string, v view.View) {
	u.parts.Edit(path, func(p *UnlinkedViews) { *p &^= UnlinkedViews(view.SetOf(v)) })
}

// Forget shows all views of the array at path again.
func (u *Unlinked) Forget(path string) {
	u.parts.Edit(path, (*UnlinkedViews).Ended)
}
