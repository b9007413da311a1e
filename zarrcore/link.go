package zarrcore

import (
	"context"
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file makes and moves links; package catalog follows them.

// CreateLink makes a link at path, with the text of [Link.Text]. The text may lead to what is not
// there yet, but not out of the store. What is at path already is fs.ErrExist, except for a link
// where replace is set.
func (h *changes) CreateLink(ctx context.Context, path, text string, replace bool) error {
	if err := h.createLink(ctx, path, text, replace); err != nil {
		return &Error{Op: "link", Path: path, Err: err}
	}
	return nil
}

func (h *changes) createLink(ctx context.Context, path, text string, replace bool) error {
	if !h.IsWritable() {
		return store.ErrReadOnly
	}
	if err := catalog.Nameable(path); err != nil {
		return err
	}
	n, err := h.Node(ctx, path)
	switch {
	case err == nil && !(replace && n.Kind == LinkNode):
		return iofs.ErrExist
	case err != nil && !errors.Is(err, iofs.ErrNotExist):
		return err
	case err != nil:
		if err := h.Vacate(ctx, path); err != nil {
			return err
		}
	}
	if _, err := h.catalog.FormatBelow(ctx, store.Parent(path), path); err != nil {
		return err
	}
	if err := h.store.Links().Put(ctx, path, text, replace); err != nil {
		return err
	}
	return h.edit.Relinked(ctx, path)
}

// renameLink moves a link, onto another one if replace is set. Its text stays as
// it is, as in any file system, so that it may lead elsewhere from its new place.
func (h *changes) renameLink(ctx context.Context, from, to string, replace bool) error {
	n, err := h.Node(ctx, to)
	switch {
	case err == nil && !(replace && n.Kind == LinkNode):
		return iofs.ErrExist
	case err == nil:
		err = h.store.Links().Rename(ctx, from, to)
	case !errors.Is(err, iofs.ErrNotExist):
	default:
		if err = h.Vacate(ctx, to); err == nil {
			err = h.store.Dirs().Rename(ctx, from, to)
		}
	}
	if err != nil {
		return err
	}
	return h.edit.Relinked(ctx, from, to)
}
