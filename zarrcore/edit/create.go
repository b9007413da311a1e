package edit

import (
	"context"
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file makes nodes, and knows the empty directories of those that were never finished.

// Create stores the documents of a new node, all of them or none.
func (e *Editor) Create(ctx context.Context, path string, docs []meta.Document) error {
	return e.CreateLike(ctx, path, "", docs)
}

// CreateLike is Create of a node that gets the rights of the one at like.
func (e *Editor) CreateLike(
	ctx context.Context, path, like string, docs []meta.Document,
) error {
	err := e.Catalog.Make(ctx, path, like, docs)
	switch {
	case errors.Is(err, iofs.ErrExist):
		return &catalog.Error{Op: "create", Path: path, Err: iofs.ErrExist}
	case err != nil:
		return &catalog.Error{Op: "create", Path: path, Err: err}
	}
	return nil
}

// IsHollow reports whether the node is nothing but a directory that holds nothing. A program leaves
// that if it is killed while it makes a node.
func (e *Editor) IsHollow(ctx context.Context, n *catalog.Node) bool {
	if n.Kind != catalog.DirectoryNode {
		return false
	}
	info, err := e.Store.Stat(ctx, n.Path)
	if err != nil || !info.Dir {
		return false
	}
	return e.Store.List(ctx, n.Path, func(store.Entry) error { return errNotHollow }) == nil
}

// errNotHollow ends the listing of a directory that holds something.
var errNotHollow = errors.New("not hollow")
