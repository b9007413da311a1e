package edit

import (
	"context"
	"errors"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file puts another array in the place of one, and removes objects that are left behind.

// Successor returns what the array at path would be after it was overwritten. Nothing is changed.
func (e *Editor) Successor(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) (*meta.Array, error) {
	n, err := e.Catalog.Placed(ctx, path)
	if err != nil {
		return nil, err
	}
	if n.Kind != catalog.ArrayNode || n.Meta == nil || catalog.IsVlen(n.Meta) {
		return n.Meta, n.Err // strings have no other length before they are written
	}
	docs, err := e.Successors(ctx, path, shape, t, fortran)
	if err != nil {
		return nil, err
	}
	byName := map[string][]byte{}
	key := store.Join(path, meta.NameAttrs)
	if attrs, _, err := e.Store.ReadAll(ctx, key, catalog.DocumentLimit); err == nil {
		byName[meta.NameAttrs] = attrs
	}
	for _, doc := range docs {
		byName[doc.Name] = doc.Data
	}
	return meta.ParseArray(max(n.Format, 2), byName)
}

// Successors returns the documents of an array that takes the place of the one at path. Those that
// stay as they are may be missing.
func (e *Editor) Successors(
	ctx context.Context, path string, shape []int64, t dtype.Type, fortran bool,
) ([]meta.Document, error) {
	n, err := e.Catalog.Placed(ctx, path)
	if err != nil {
		return nil, err
	}
	if n.Err == nil && n.Format >= 2 && n.Meta.Type.CanBeSavedAs(t) &&
		len(shape) == len(n.Meta.Shape) {
		if docs, err := e.reshaped(ctx, n, shape, fortran); docs != nil || err != nil {
			return docs, err
		}
	}
	docs, err := e.Catalog.ArrayDocuments(ctx, path, max(n.Format, 2), shape, t, fortran, n)
	if err != nil {
		return nil, &catalog.Error{Op: "create", Path: path, Err: err}
	}
	return docs, nil
}

// reshaped returns the array's document with another shape and order. It is nil if the grid has no
// chunks for that, or the codecs do not fit them.
func (e *Editor) reshaped(
	ctx context.Context, n *catalog.Node, shape []int64, fortran bool,
) ([]meta.Document, error) {
	name := meta.NameOfArray(n.Format)
	doc, _, err := e.Store.ReadAll(ctx, store.Join(n.Path, name), catalog.DocumentLimit)
	if err != nil {
		return nil, err
	}
	if !n.Meta.HasOrder(fortran) {
		if doc, err = meta.TurnOrder(n.Meta, doc); err != nil {
			return nil, err
		}
	}
	if doc, err = meta.SetShape(n.Format, doc, shape); err != nil {
		return nil, err
	}
	docs := []meta.Document{{Name: name, Data: doc}}
	if m, err := catalog.Encodable(n.Format, docs); err != nil || !m.HasOrder(fortran) {
		return nil, nil
	}
	return docs, nil
}

// Replace deletes the objects of the array at path and gives it other documents. All is done in the
// directory that is found there first. If another program renames this directory meanwhile, the
// error is catalog.ErrRenamed. An array that is at path by then is left alone.
func (e *Editor) Replace(ctx context.Context, path string, docs []meta.Document) error {
	in, err := e.Store.Hold(ctx, path, path)
	if err != nil {
		return &catalog.Error{Op: "create", Path: path, Err: err}
	}
	defer in.Close()
	if n, err := e.Catalog.NodeIn(ctx, in, path); err == nil && n.Err == nil {
		if err := e.deleteObjects(ctx, in, n); err != nil {
			return err
		}
	}
	if err := e.putIn(ctx, in, path, docs); err != nil {
		return &catalog.Error{Op: "create", Path: path, Err: err}
	}
	return nil
}

// putIn stores the documents of the array at path, the last one first, in its directory.
func (e *Editor) putIn(
	ctx context.Context, in *store.Store, path string, docs []meta.Document,
) error {
	for _, doc := range slices.Backward(docs) {
		key := store.Join(path, doc.Name)
		if _, err := catalog.ReplaceIn(ctx, in, key, doc.Data, store.If{}); err != nil {
			return err
		}
	}
	if err := e.Catalog.IsStillAt(ctx, in, path); err != nil {
		return err
	}
	return e.Catalog.DropConsolidated(ctx, path)
}

// deleteObjects deletes all objects of the array n, in its directory.
func (e *Editor) deleteObjects(ctx context.Context, in *store.Store, n *catalog.Node) error {
	if catalog.IsVlen(n.Meta) {
		return nil
	}
	a, err := generation.New(*n.Meta, n.Path, 0, nil)
	if err != nil {
		return nil // its objects cannot be told from other files
	}
	var numbers []int64
	err = scan.Each(ctx, in, a.Objects.Keys, func(n int64) { numbers = append(numbers, n) })
	if err != nil {
		return err
	}
	for _, n := range numbers {
		key := a.Objects.Key(n)
		if err := e.Undurable.Delete(ctx, in, a.Path, key, store.If{}); err != nil {
			return &catalog.Error{Op: "remove", Path: a.Path, Key: key, Err: err}
		}
	}
	return removeFolders(ctx, in, a)
}

// removeFolders removes the folders of the array's objects, where keys are
// nested: an object of an array with fewer axes may have the name of one.
func removeFolders(ctx context.Context, in *store.Store, a *generation.Array) error {
	var folders []string
	err := in.List(ctx, a.Path, func(e store.Entry) error {
		if e.Dir && a.Meta.Keys.Leads(e.Name, a.Objects.Rank()) {
			folders = append(folders, e.Name)
		}
		return nil
	})
	for _, name := range folders {
		if err == nil {
			err = in.Dirs().RemoveAll(ctx, a.Objects.Prefix()+name)
		}
	}
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return &catalog.Error{Op: "remove", Path: a.Path, Err: err}
	}
	return nil
}

// DeleteOutside deletes the objects of old that lie outside a, the same array in its new shape. It
// does so in the directory in, held before the array got its new shape. If another directory has
// the array's path by now, nothing is deleted, and the error is catalog.ErrRenamed.
func (e *Editor) DeleteOutside(
	ctx context.Context, in *store.Store, old, a *generation.Array,
) error {
	if err := e.Catalog.IsStillAt(ctx, in, a.Path); err != nil {
		return err
	}
	gone, err := scan.Outside(ctx, in, old.Objects.Keys, a.Objects.Keys)
	for _, key := range gone {
		if err == nil {
			err = e.Undurable.Delete(ctx, in, a.Path, key, store.If{})
		}
	}
	return err
}
