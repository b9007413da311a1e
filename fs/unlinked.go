package fs

import (
	"sync"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// An array has several names. A program that removes one of them, as `rm *.raw` and `rsync --delete` do, takes it for a file of its
// own and does not mean the others. So a removed view is hidden from everybody in this mount until it is created again, and the array
// goes with the last of its listed views.

// unlinked are the views of arrays that were removed in this mount, by the arrays' paths. Its lock is innermost.
type unlinked struct {
	mu     sync.Mutex
	byPath map[string]viewSet
}

// has reports whether view v of the array at path was removed.
func (u *unlinked) has(path string, v view) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.byPath[path]&setOf(v) != 0
}

// add notes that v was removed, and reports whether v was the last of the listed views that was left. Of two programs that remove
// the last two views at the same time, one removes the last.
func (u *unlinked) add(path string, v view, listed viewSet) (last bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byPath == nil {
		u.byPath = make(map[string]viewSet)
	}
	u.byPath[path] |= setOf(v)
	return listed&setOf(v) != 0 && listed&^u.byPath[path] == 0
}

// restore shows v again.
func (u *unlinked) restore(path string, v view) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if left := u.byPath[path] &^ setOf(v); left != 0 {
		u.byPath[path] = left
	} else {
		delete(u.byPath, path)
	}
}

// forget notes that what was at path is there no more, nor what was below it.
func (u *unlinked) forget(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range pathsUnder(u.byPath, path) {
		delete(u.byPath, p)
	}
}

// move follows what was renamed.
func (u *unlinked) move(from, to string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	moved := make(map[string]viewSet)
	for _, p := range pathsUnder(u.byPath, from) {
		moved[names.Moved(p, from, to)] = u.byPath[p]
		delete(u.byPath, p)
	}
	for p, set := range moved {
		u.byPath[p] = set
	}
}

// listedOf returns the views under which an array, or a link to one, is listed where none of them was removed.
func (f *filesystem) listedOf(n *zarrcore.Node) viewSet {
	array := f.subjectOf(f.ctx, n)
	var listed viewSet
	for _, v := range f.listed {
		if shows(v, array) {
			listed |= setOf(v)
		}
	}
	return listed
}
