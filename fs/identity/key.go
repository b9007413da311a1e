// Package identity knows the node of each file and folder that the kernel knows. So a file is one
// inode however it was found, also after it was renamed.
//
// A file's inode number is a hash of its path and view: the same in every mount of the store. A
// file that was renamed keeps its number as long as the kernel knows it, and what takes its place
// gets another. The generation tells apart all that ever had the same number, also in a store built
// to collide.
//
// The lock of a table is innermost, except that a new node is made under it. It may be taken under
// that of the states (package pathstate): a rename moves nodes and states in one step.
package identity

import (
	"math/bits"
	"strings"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
)

// Key names what a node of the mount shows: a view of the array or group at Path, or the folder
// there if View is "".
type Key struct{ Path, View string }

// Of returns the key of a view, or of the folder at path.
func Of(path, view string) Key { return Key{path, view} }

// linkView begins the views of links.
const linkView = "link."

// OfGhost returns the key of a name that is left of a view's file. Its array was at path.
func OfGhost(path string, v view.View) Key { return Key{path, "ghost." + v.Name()} }

// OfLink returns the key of a link at path. If the link leads to an array, v is a view of the
// array, otherwise nil.
func OfLink(path string, v view.View) Key {
	if v == nil {
		return Key{path, linkView}
	}
	return Key{path, linkView + v.Name()}
}

// Number returns the number that readdir and stat show: FNV-1a of the path, spread, and kept off
// the reserved numbers. Its lowest bits are the view's, in the order in which views are listed:
// programs that copy trees in the order of inode numbers, as cp does, must come to an array's
// document first.
func (k Key) Number() uint64 {
	sum := uint64(14695981039346656037)
	for i := 0; i < len(k.Path); i++ {
		sum = (sum ^ uint64(k.Path[i])) * 1099511628211
	}
	name, link := strings.CutPrefix(k.View, linkView)
	if link { // another number than that of what else may be there
		sum = (sum ^ '@') * 1099511628211
	}
	last := uint64(len(view.All())) // what is not among the views
	for i, v := range view.All() {
		if v.Name() == name {
			last = uint64(i)
		}
	}
	if k.isPart() {
		for i := 0; i < len(k.View); i++ {
			sum = (sum ^ uint64(k.View[i])) * 1099511628211
		}
	}
	return spread(sum)&^(1<<bits.Len(uint(len(view.All())))-1) | last
}

// isPart reports whether the node shows a part of an array, of which there are any number of views.
func (k Key) isPart() bool { return k.View != "" && names.File("", k.View) == k.View }

func spread(sum uint64) uint64 {
	sum ^= sum >> 32
	sum *= 0x9E3779B97F4A7C15
	return sum&^(3<<62) | 1<<60
}
