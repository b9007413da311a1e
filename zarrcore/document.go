package zarrcore

import (
	"context"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file changes what the documents of nodes say.

// SetDocument changes the node as a document written over a.json, or over a
// group's zarr.json, says: attributes, dimension names and shape. What cannot
// be changed is an error that wraps meta.ErrInvalid, and nothing is changed.
func (h *changes) SetDocument(ctx context.Context, path string, doc []byte) error {
	if !h.IsWritable() {
		return &Error{Op: "change", Path: path, Err: store.ErrReadOnly}
	}
	if err := h.setDocument(ctx, path, meta.FromMount(doc)); err != nil {
		return &Error{Op: "change", Path: path, Err: err}
	}
	return nil
}

func (h *changes) setDocument(ctx context.Context, path string, doc []byte) error {
	if err := h.arrays.SaveAt(ctx, path); err != nil {
		return err
	}
	defer h.describing.Lock(path)()
	n, change, err := h.edit.Posted(ctx, path, doc)
	if err != nil {
		return err
	}
	if change.Shape != nil {
		if err := h.reshape(ctx, n, change); err != nil {
			return err
		}
		if n, change, err = h.edit.Posted(ctx, path, doc); err != nil {
			return err
		}
	}
	return h.putChange(ctx, n, change)
}

// putChange stores the documents that a change has changed.
func (h *changes) putChange(ctx context.Context, n *Node, c meta.Change) error {
	return h.edit.PutChange(ctx, n, c, func() { h.arrays.Renew(ctx, n.Path) })
}

// reshape gives the array another shape: what is outside of it is deleted, and
// nothing is moved (Zarr v2, "Resizing and appending").
func (h *changes) reshape(ctx context.Context, n *Node, c meta.Change) error {
	if IsVlen(n.Meta) {
		return h.vlens.table.Reshape(ctx, n, c.Shape, func() error {
			return h.putChange(ctx, n, c)
		})
	}
	a, err := h.OpenArray(ctx, n.Path)
	if err != nil {
		return err
	}
	row := a.Generation().Grid.RowBytes()
	if len(c.Shape) > 0 && slices.Equal(c.Shape[1:], a.Meta().Shape[1:]) && row > 0 {
		if err := a.SetSize(ctx, c.Shape[0]*row); err != nil {
			return err
		}
		return a.Flush(ctx, true)
	}
	if a.WaitsForRow() {
		return &meta.Error{Member: "shape", Kind: meta.ErrInvalid, Found: fmt.Sprint(c.Shape),
			Expected: fmt.Sprintf("no other length than in %v but of axis 0, as chunks end where "+
				"the array does", a.Meta().Shape)}
	}
	if err := a.Flush(ctx, true); err != nil {
		return err
	}
	return h.regrid(ctx, a.Live(), c)
}

// regrid is reshape for other axes than the first.
func (h *changes) regrid(ctx context.Context, a *Array, c meta.Change) error {
	in, err := h.store.Hold(ctx, a.Path(), a.Path())
	if err != nil {
		return err
	}
	defer in.Close()
	put := func() error {
		return h.putChange(ctx, &Node{Path: a.Path(), Format: a.Meta().Format}, c)
	}
	return h.arrays.Reshape(ctx, a, put, func(b *Array) error {
		return h.edit.DeleteOutside(ctx, in, a.Generation(), b.Generation())
	})
}

// SetAttribute sets an attribute of the node to a JSON value. A value that is not JSON is taken
// for a string. A value of nil removes the attribute, which is fs.ErrNotExist if there is none.
func (h *changes) SetAttribute(ctx context.Context, path, name string, value []byte) error {
	if err := h.setAttribute(ctx, path, name, value); err != nil {
		return &Error{Op: "change", Path: path, Err: err}
	}
	return nil
}

func (h *changes) setAttribute(ctx context.Context, path, name string, value []byte) error {
	if !h.IsWritable() {
		return store.ErrReadOnly
	}
	defer h.describing.Lock(path)()
	return h.edit.SetAttribute(ctx, path, name, value, func() { h.arrays.Renew(ctx, path) })
}
