package catalog

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file makes nodes by documents of the other format, which come where trees are copied from
// store to store.

// foreignDocuments returns the documents of a new node that has all that a document of another
// format says of it: shape, type, fill value, attributes and names of axes, and chunks where these
// are regular. Its codecs are the same ones if both formats have them and they can be encoded
// here, otherwise the recipe's.
func (cat *Catalog) foreignDocuments(
	ctx context.Context, path string, format int, f *meta.Foreign,
) ([]meta.Document, error) {
	if f.Array == nil {
		return meta.GroupDocuments(format, f.Attributes), nil
	}
	r, err := cat.recipeFor(ctx, store.Parent(path))
	if err != nil {
		return nil, err
	}
	r.Format = format
	r = r.Like(f.Array)
	docs, err := likeForeign(r.WithCodecsOf(f.Array), f)
	if err == nil {
		_, err = Encodable(format, docs)
	}
	if err == nil {
		return docs, nil
	}
	return likeForeign(r, f)
}

// likeForeign is foreignDocuments with chunks and codecs by the recipe.
func likeForeign(r recipe.Recipe, f *meta.Foreign) ([]meta.Document, error) {
	t, fill, err := f.Array.Elements()
	if err != nil {
		return nil, err
	}
	spec, err := r.Spec(f.Array.Shape, t, f.Array.IsInFortranOrder())
	if err != nil {
		return nil, err
	}
	if r.Format == 2 && t.Kind == dtype.Object {
		if fill, err = objectFill(t, fill); err != nil {
			return nil, err
		}
	}
	spec.NoFill = r.Format == 2 && !f.Array.FillDefined || r.HasNoFill() &&
		len(bytes.Trim(fill, "\x00")) == 0
	spec.Fill, spec.DimensionNames, spec.Attributes = fill, f.Axes(r.Format), f.Attributes
	return spec.Documents()
}

// objectFill returns the fill value of elements of no fixed size as format 2 says it, in JSON.
func objectFill(t dtype.Type, fill []byte) ([]byte, error) {
	if t.Name != "string" && len(fill) > 0 {
		return nil, &meta.Error{Member: "fill_value", Expected: "no bytes in format 2",
			Found: strconv.Quote(string(fill)), Kind: errors.ErrUnsupported}
	}
	return pyjson.StringOf(string(fill)).Raw(), nil
}
