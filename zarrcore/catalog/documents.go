package catalog

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file has the documents of new nodes.

// ArrayDocuments returns the documents of a new array. If it replaces the array old, it keeps the
// attributes of that, and the names of the dimensions if it has as many. old may be nil.
func (cat *Catalog) ArrayDocuments(
	ctx context.Context, path string, format int, shape []int64, t dtype.Type, fortran bool,
	old *Node) ([]meta.Document, error) {
	r, err := cat.recipeFor(ctx, store.Parent(path))
	if err != nil {
		return nil, err
	}
	r.Format = format
	spec, err := r.Spec(shape, t, fortran)
	if err != nil {
		return nil, err
	}
	if old != nil {
		spec.Attributes = old.Attributes
	}
	if old != nil && old.Meta != nil && len(old.Meta.Shape) == len(shape) {
		spec.DimensionNames = old.Meta.DimensionNames
	}
	return DocumentsOf(spec)
}

// DocumentsOf returns the documents of the array that spec describes, if it can be written.
func DocumentsOf(spec meta.Spec) ([]meta.Document, error) {
	docs, err := spec.Documents()
	if err != nil {
		return nil, err
	}
	if _, err := Encodable(spec.Format, docs); err != nil {
		return nil, err
	}
	return docs, nil
}

// DocumentsFrom returns the documents of a new node, in the given format, that a
// document describes.
func (cat *Catalog) DocumentsFrom(
	ctx context.Context, path string, format int, doc []byte) ([]meta.Document, error) {
	foreign, err := meta.ParseForeign(doc, format)
	if err != nil {
		return nil, err
	}
	if foreign != nil {
		return cat.foreignDocuments(ctx, path, format, foreign)
	}
	docs, _, err := meta.FromPosted(doc, format)
	return docs, err
}

// Encodable returns the array that documents of a format describe, if data can be written
// to it.
func Encodable(format int, docs []meta.Document) (*meta.Array, error) {
	byName := map[string][]byte{}
	for _, doc := range docs {
		byName[doc.Name] = doc.Data
	}
	m, err := meta.ParseArray(format, byName)
	if err != nil {
		return nil, err
	}
	if IsVlen(m) {
		return m, Encodes(m)
	}
	chains, largest, err := object.NewChains(m, codec.Bind)
	if err != nil {
		return nil, err
	}
	layout, err := object.NewLayout(m, "", largest, false)
	if err != nil {
		return nil, err
	}
	if err := chains.BindAll(layout.Keys); err != nil {
		return nil, err
	}
	return m, largest.Writable()
}
