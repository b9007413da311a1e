package zarrcore

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file shows what package catalog finds.

type (
	// A Node is a group or an array as its metadata describes it, or a link to one.
	Node = catalog.Node
	// NodeKind says what a node is.
	NodeKind = catalog.NodeKind
	// A Child is one entry of a group.
	Child = catalog.Child
	// Elements is what the document of an array says of its elements, at a look.
	Elements = catalog.Elements
	// A Link is another name for a group or array.
	Link = catalog.Link
	// An Error is a failure to read or change a node.
	Error = catalog.Error
)

// The kinds of nodes.
const (
	GroupNode     = catalog.GroupNode     // has group metadata
	ArrayNode     = catalog.ArrayNode     // has array metadata
	DirectoryNode = catalog.DirectoryNode // has none, but children: an implicit group
	LinkNode      = catalog.LinkNode      // another name for a node
)

// ErrNotArray says that a node is a group.
var ErrNotArray = catalog.ErrNotArray

// ElementsOf returns what kind of elements an array has.
func ElementsOf(m *meta.Array) Elements { return catalog.ElementsOf(m) }

// IsVlen reports whether an array's elements have no fixed size.
func IsVlen(m *meta.Array) bool { return catalog.IsVlen(m) }

// nodes finds what the store has.
type nodes struct {
	store   *store.Store
	catalog *catalog.Catalog
}

// Node reads the metadata of the node at path; see [catalog.Catalog.Node].
func (h *nodes) Node(ctx context.Context, path string) (*Node, error) {
	return h.catalog.Node(ctx, path)
}

// Children calls yield for each child of the group at path while they are found, nearly
// in the order of their names. Below an array there are none: there everything is chunks.
// An error of yield ends it and is returned.
func (h *nodes) Children(ctx context.Context, path string, yield func(Child) error) error {
	return h.catalog.Children(ctx, path, yield)
}

// ChildBatches is Children for a caller that can take many at once. Yield may keep what it
// is given, but not change it.
func (h *nodes) ChildBatches(
	ctx context.Context, path string, yield func([]Child) error) error {
	return h.catalog.ChildBatches(ctx, path, yield)
}

// Resolve returns the path of the node at path. It follows all links on the way, and a link at the
// end. A link that leads nowhere is an error with the reason. A missing node is fs.ErrNotExist.
func (h *nodes) Resolve(ctx context.Context, path string) (string, error) {
	return h.catalog.Resolve(ctx, path)
}

// RecipeAt returns the recipe, with its format, of an array that is created at path once the
// groups on the way to it are there. The nearest group that is there says it. Below an array no
// other one can be created.
func (h *nodes) RecipeAt(ctx context.Context, path string) (recipe.Recipe, error) {
	return h.catalog.RecipeAt(ctx, path)
}

// MayHold reports whether the store has a directory at path, or something that cannot be followed.
// It is one look at most, for names that nearly never have one.
func (h *nodes) MayHold(ctx context.Context, path string) bool {
	return h.catalog.MayHold(ctx, path)
}

// IsRemote reports whether each look at the store is a round trip, so that nothing is to be looked
// at which nobody has asked for.
func (h *nodes) IsRemote() bool { return h.store.Traits().Remote }

// Identity returns a text that identifies the directory of the node at path. A directory that
// another program recreates there has another identity. A rename does not change the identity. If
// the identity is not known, it is "".
func (h *nodes) Identity(ctx context.Context, path string) (string, error) {
	return h.store.Dirs().Identity(ctx, path)
}

// Name returns the store's name.
func (h *nodes) Name() string { return h.store.Name() }
