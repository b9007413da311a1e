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

import "github.com/zarrfs/zarrfs/fs/view"

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
