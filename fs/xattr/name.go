// Package xattr says what the extended attributes of a node are, from its metadata, and which of
// them can be set. It knows no mount.
package xattr

import (
	"strings"

	"github.com/zarrfs/zarrfs/fs/names"
)

const (
	// Zarr begins the names of what follows from the metadata.
	Zarr = "user.zarr."
	// Attr begins the names of the attributes of an array or group, each as JSON.
	Attr = "user.zarr.attr."
	// Path is where the node is in the store.
	Path = Zarr + "path"
	// Error says why the data cannot be read, or what was written not stored or refused.
	Error = "user.zarrfs.error"

	axes = "user.zarr.dimension_names"
)

// The kernel's limits, in bytes.
const (
	// SizeMax is the longest value.
	SizeMax = 64 << 10
	// ListMax is the most that all names of a file take, with a NUL each.
	ListMax = 64 << 10
	nameMax = 255 // of one name
)

const (
	// create begins the names of what a group says of arrays that are created in it: a
	// recipe.Setting each.
	create = "user.zarrfs.create."
	// recipeAttribute is the attribute of the group that holds them.
	recipeAttribute = "zarrfs"
)

// show makes an attribute's name fit for an xattr's, by the rules for file names, but '/' is
// allowed here.
func show(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		if p != "" {
			parts[i] = names.Escape(p)
		}
	}
	return strings.Join(parts, "/")
}

// hide is the reverse of showXattr.
func hide(shown string) (name string, ok bool) {
	parts := strings.Split(shown, "/")
	for i, p := range parts {
		if p == "" {
			continue
		}
		parts[i] = names.Unescape(p)
	}
	name = strings.Join(parts, "/")
	return name, show(name) == shown
}
