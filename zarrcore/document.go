package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file changes what the documents of nodes say.

// Identity returns a text that tells the directory of the node at path from another one, which some
// program recreates there. A rename leaves it as it is. It is "" where that is not known.
func (h *Hierarchy) Identity(ctx context.Context, path string) (string, error) {
	return h.store.Identity(ctx, path)
}

// SetDocument changes the node as a document written over a.json, or over a
// group's zarr.json, says: attributes, dimension names and shape. What cannot
// be changed is an error that wraps meta.ErrInvalid, and nothing is changed.
func (h *Hierarchy) SetDocument(ctx context.Context, path string, doc []byte) error {
	if !h.Writable() {
		return &Error{Op: "change", Path: path, Err: store.ErrReadOnly}
	}
	if err := h.setDocument(ctx, path, meta.FromMount(doc)); err != nil {
		return &Error{Op: "change", Path: path, Err: err}
	}
	return nil
}

func (h *Hierarchy) setDocument(ctx context.Context, path string, doc []byte) error {
	if err := h.saveAt(ctx, path); err != nil {
		return err
	}
	defer h.describing.Lock(path)()
	n, change, err := h.posted(ctx, path, doc)
	if err != nil {
		return err
	}
	if change.Shape != nil {
		if err := h.reshape(ctx, n, change); err != nil {
			return err
		}
		if n, change, err = h.posted(ctx, path, doc); err != nil {
			return err
		}
	}
	return h.putChange(ctx, n, change)
}

// saveAt stores what was written to the array at path, so that the document says
// what its length is.
func (h *Hierarchy) saveAt(ctx context.Context, path string) error {
	a := h.openAt(path)
	if a == nil || !a.Unsaved() {
		return nil
	}
	if err := a.Save(ctx, false); !errors.Is(err, ErrFraction) {
		return err
	}
	return nil
}

// posted returns the node and what doc, written over its document, changes.
func (h *Hierarchy) posted(ctx context.Context, path string, doc []byte) (*Node, meta.Change, error) {
	n, err := h.catalog.Placed(ctx, path)
	if err != nil {
		return nil, meta.Change{}, err
	}
	documents := map[string][]byte{}
	for _, name := range []string{meta.NameV3, meta.NameArray, meta.NameGroup, meta.NameAttrs} {
		if (name == meta.NameV3) != (n.Format == 3) {
			continue
		}
		data, _, err := h.store.ReadAll(ctx, store.Join(path, name), catalog.DocumentLimit)
		isOwn := n.Kind == ArrayNode && (name == meta.NameV3 || name == meta.NameArray)
		switch {
		case err == nil:
			documents[name] = data
		case isOwn, !catalog.IsMissing(err): // isOwn: the array was renamed or removed since
			return nil, meta.Change{}, err
		}
	}
	var c meta.Change
	switch {
	case n.Kind == ArrayNode:
		c, err = meta.Posted(n.Meta, documents, doc)
	case meta.DescribesArray(doc):
		err = &groupStays{path: path, store: h.Name()}
	default:
		c, err = meta.PostedGroup(&meta.Group{Format: n.Format, Attributes: n.Attributes, Document: n.Document}, documents, doc)
	}
	return n, c, err
}

// ErrGroupStays says that a document of an array was written over that of a group.
var ErrGroupStays = errors.New("a document of an array cannot replace a group")

// groupStays is ErrGroupStays, and wraps meta.ErrInvalid. Libraries that take a mount for a store write such documents.
type groupStays struct{ path, store string }

func (e *groupStays) Error() string {
	return fmt.Sprintf("%s is a group; a document of an array cannot replace it. To write with zarr or xarray, open the store itself: %s",
		catalog.QuotePath(e.path), e.store)
}

func (e *groupStays) Unwrap() []error { return []error{ErrGroupStays, meta.ErrInvalid} }

// putChange stores the documents that a change has changed.
func (h *Hierarchy) putChange(ctx context.Context, n *Node, c meta.Change) error {
	if len(c.Documents) == 0 {
		return nil
	}
	var keys []string
	err := h.keepTime(ctx, n, c, func() error {
		for _, doc := range slices.Backward(c.Documents) {
			key := store.Join(n.Path, doc.Name)
			if err := h.catalog.Put(ctx, key, doc.Data, store.If{}); err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	h.renew(ctx, n.Path)
	return h.store.SyncDirs(ctx, keys)
}

// keepTime calls put, which stores the documents of a change. One that leaves the shape of an array
// as it is does not make its data newer.
func (h *Hierarchy) keepTime(ctx context.Context, n *Node, c meta.Change, put func() error) error {
	if n.Kind != ArrayNode || c.Shape != nil {
		return put()
	}
	return h.catalog.KeepTime(ctx, n.Path, put)
}

// reshape gives the array another shape: what is outside of it is deleted, and
// nothing is moved (Zarr v2, "Resizing and appending").
func (h *Hierarchy) reshape(ctx context.Context, n *Node, c meta.Change) error {
	if IsVlen(n.Meta) {
		return h.vlens.Reshape(ctx, n, c.Shape, func() error { return h.putChange(ctx, n, c) })
	}
	a, err := h.OpenArray(ctx, n.Path)
	if err != nil {
		return err
	}
	if len(c.Shape) > 0 && slices.Equal(c.Shape[1:], a.gen.Meta.Shape[1:]) && a.gen.Grid.RowBytes() > 0 {
		if err := a.SetSize(ctx, c.Shape[0]*a.gen.Grid.RowBytes()); err != nil {
			return err
		}
		return a.Flush(ctx, true)
	}
	if a.gen.Objects.Bounded() {
		return &meta.Error{Member: "shape", Kind: meta.ErrInvalid, Found: fmt.Sprint(c.Shape),
			Expected: fmt.Sprintf("no other length than in %v but of axis 0, as chunks end where the array does", a.gen.Meta.Shape)}
	}
	if err := a.Flush(ctx, true); err != nil {
		return err
	}
	return h.regrid(ctx, a.Live(), c)
}

// regrid is reshape for other axes than the first.
func (h *Hierarchy) regrid(ctx context.Context, a *Array, c meta.Change) error {
	d := a.draft
	defer d.pause()()
	if err := d.storeBoth(ctx); err != nil {
		return err
	}
	n := &Node{Path: a.gen.Path, Format: a.gen.Meta.Format}
	if err := h.putChange(ctx, n, c); err != nil {
		return err
	}
	b, err := h.OpenArray(ctx, a.gen.Path)
	if err != nil {
		return err
	}
	if b.draft != d {
		d.abandon()
		d.bequeath(b)
	}
	return b.deleteOutside(ctx, a)
}

// deleteOutside deletes the objects of old, which had another shape, that lie
// outside the array.
func (a *Array) deleteOutside(ctx context.Context, old *Array) error {
	gone, err := scan.Outside(ctx, a.h.store, old.gen.Objects.Keys, a.gen.Objects.Keys)
	for _, key := range gone {
		if err == nil {
			err = a.h.undurable.Delete(ctx, a.h.store, a.gen.Path, key, store.If{})
		}
	}
	return err
}

// SetAttribute sets an attribute of the node to a JSON value, or to the string
// that value is where it is no JSON; nil removes it, which is fs.ErrNotExist if
// there is none.
func (h *Hierarchy) SetAttribute(ctx context.Context, path, name string, value []byte) error {
	if err := h.setAttribute(ctx, path, name, value); err != nil {
		return &Error{Op: "change", Path: path, Err: err}
	}
	return nil
}

func (h *Hierarchy) setAttribute(ctx context.Context, path, name string, value []byte) error {
	if !h.Writable() {
		return store.ErrReadOnly
	}
	defer h.describing.Lock(path)()
	n, err := h.catalog.Placed(ctx, path)
	if err != nil {
		return err
	}
	var v pyjson.Value
	if value == nil {
		if !n.Attributes.Get(name).Exists() {
			return iofs.ErrNotExist
		}
	} else if v, err = pyjson.Parse(value); err != nil {
		v = pyjson.StringOf(string(value))
	}
	key := store.Join(path, meta.NameV3)
	if n.Format == 2 {
		key = store.Join(path, meta.NameAttrs)
	}
	err = h.keepTime(ctx, n, meta.Change{}, func() error {
		return h.catalog.Edit(ctx, key, func(doc []byte) ([]byte, error) { return meta.SetAttribute(n.Format, doc, name, v) })
	})
	if err != nil {
		return err
	}
	h.renew(ctx, path)
	if err := h.catalog.DropConsolidated(ctx, path); err != nil {
		return err
	}
	return h.store.SyncDirs(ctx, []string{key})
}

// renew lets the array at path, if it is open, know the version of the documents
// that this process has just stored.
func (h *Hierarchy) renew(ctx context.Context, path string) {
	if h.openAt(path) == nil {
		return
	}
	h.renewed(ctx, path) // what cannot be opened any more is not to be renewed
}
