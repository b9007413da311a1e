package edit

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file changes what the documents of nodes say.

// Posted returns the node and what doc, written over its document, changes.
func (e *Editor) Posted(
	ctx context.Context, path string, doc []byte,
) (*catalog.Node, meta.Change, error) {
	n, err := e.Catalog.Placed(ctx, path)
	if err != nil {
		return nil, meta.Change{}, err
	}
	if n.Format == 1 {
		return nil, meta.Change{}, catalog.ErrVersion1
	}
	documents := map[string][]byte{}
	for _, name := range []string{meta.NameV3, meta.NameArray, meta.NameGroup, meta.NameAttrs} {
		if (name == meta.NameV3) != (n.Format == 3) {
			continue
		}
		data, _, err := e.Store.ReadAll(ctx, store.Join(path, name), catalog.DocumentLimit)
		isOwn := n.Kind == catalog.ArrayNode && (name == meta.NameV3 || name == meta.NameArray)
		switch {
		case err == nil:
			documents[name] = data
		case isOwn, !catalog.IsMissing(err): // isOwn: the array was renamed or removed since
			return nil, meta.Change{}, err
		}
	}
	var c meta.Change
	switch {
	case n.Kind == catalog.ArrayNode:
		c, err = meta.Posted(n.Meta, documents, doc)
	case meta.DescribesArray(doc):
		err = &groupStays{path: path, store: e.Store.Name()}
	default:
		g := &meta.Group{Format: n.Format, Attributes: n.Attributes, Document: n.Document}
		c, err = meta.PostedGroup(g, documents, doc)
	}
	return n, c, err
}

// ErrGroupStays says that a document of an array was written over that of a group.
var ErrGroupStays = errors.New("a document of an array cannot replace a group")

// groupStays is ErrGroupStays, and wraps meta.ErrInvalid. Libraries that take a mount for a store
// write such documents.
type groupStays struct{ path, store string }

func (e *groupStays) Error() string {
	return fmt.Sprintf("%s is a group; a document of an array cannot replace it. To write with "+
		"zarr or xarray, open the store itself: %s",
		catalog.QuotePath(e.path), e.store)
}

func (e *groupStays) Unwrap() []error { return []error{ErrGroupStays, meta.ErrInvalid} }

// PutChange stores the documents that a change has changed. It calls stored when they are in their
// places, and not yet durable.
func (e *Editor) PutChange(
	ctx context.Context, n *catalog.Node, c meta.Change, stored func(),
) error {
	if len(c.Documents) == 0 {
		return nil
	}
	var keys []string
	err := e.keepTime(ctx, n, c, func() error {
		for _, doc := range slices.Backward(c.Documents) {
			key := store.Join(n.Path, doc.Name)
			if err := e.Catalog.Put(ctx, key, doc.Data, store.If{}); err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	stored()
	return e.Store.SyncDirs(ctx, keys)
}

// keepTime calls put, which stores the documents of a change. One that leaves the shape of an array
// as it is does not make its data newer.
func (e *Editor) keepTime(
	ctx context.Context, n *catalog.Node, c meta.Change, put func() error,
) error {
	if n.Kind != catalog.ArrayNode || c.Shape != nil {
		return put()
	}
	return e.Catalog.KeepTime(ctx, n.Path, put)
}

// SetAttribute sets an attribute of the node to a JSON value, or to the string that value is where
// it is not JSON. Nil removes it, which is fs.ErrNotExist if there is none. It calls stored when
// the document is in its place, and not yet durable.
func (e *Editor) SetAttribute(
	ctx context.Context, path, name string, value []byte, stored func(),
) error {
	n, err := e.Catalog.Placed(ctx, path)
	if err != nil {
		return err
	}
	if n.Format == 1 {
		return catalog.ErrVersion1
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
	err = e.keepTime(ctx, n, meta.Change{}, func() error {
		return e.Catalog.Edit(ctx, key, func(doc []byte) ([]byte, error) {
			return meta.SetAttribute(n.Format, doc, name, v)
		})
	})
	if err != nil {
		return err
	}
	stored()
	if err := e.Catalog.DropConsolidated(ctx, path); err != nil {
		return err
	}
	return e.Store.SyncDirs(ctx, []string{key})
}
