package fs

import (
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// An array has several names. A program that removes one of them takes it for a separate file and
// does not mean the others. `rm *.raw` and `rsync --delete` are such programs. So a removed view is
// hidden from everybody in this mount until it is created again. The array goes with the last of
// its listed views.

// unlinkedViews are those of an array that were removed.
type unlinkedViews view.Set

func (p *unlinkedViews) moved(string)  {}
func (p *unlinkedViews) ended()        { *p = 0 }
func (p *unlinkedViews) isEmpty() bool { return *p == 0 }

// unlinked are the views of arrays that were removed in this mount.
type unlinked struct{ states *states }

// has reports whether view v of the array at path was removed.
func (u *unlinked) has(path string, v view.View) (has bool) {
	u.states.Look(path, func(s *state) { has = view.Set(s.unlinked)&view.SetOf(v) != 0 })
	return has
}

// add notes that v was removed, and reports whether v was the last of the listed views that was
// left. Of two programs that remove the last two views at the same time, one removes the last.
func (u *unlinked) add(path string, v view.View, listed view.Set) (last bool) {
	u.states.Make(path, func(s *state) {
		s.unlinked |= unlinkedViews(view.SetOf(v))
		last = listed&view.SetOf(v) != 0 && listed&^view.Set(s.unlinked) == 0
	})
	return last
}

// restore shows v again.
func (u *unlinked) restore(path string, v view.View) {
	u.states.Edit(path, func(s *state) { s.unlinked &^= unlinkedViews(view.SetOf(v)) })
}

// forget shows all views of the array at path again.
func (u *unlinked) forget(path string) {
	u.states.Edit(path, func(s *state) { s.unlinked.ended() })
}

// listedOf returns the views under which an array, or a link to one, is listed where none of them
// was removed.
func (f *filesystem) listedOf(n *zarrcore.Node) view.Set {
	array := f.subjectOf(f.ctx, n)
	var listed view.Set
	for _, v := range f.listed {
		if view.Shows(v, array) {
			listed |= view.SetOf(v)
		}
	}
	return listed
}
