package meta

import (
	"errors"
	iofs "io/fs"
	"slices"
	"strconv"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// The edits of this file change a stored document and keep all its other bytes as they are. They
// look at no more than they change: a document with members that this version does not understand
// can be edited too.

// SetShape returns an array's .zarray (format 2) or zarr.json (format 3) with another shape.
func SetShape(format int, doc []byte, shape []int64) ([]byte, error) {
	if err := checkEditable(format); err != nil {
		return nil, err
	}
	return edited(pyjson.Set(doc, pyjson.IntsOf(shape), "shape"))
}

// ShapeIn returns the shape in an array's .zarray (format 2) or zarr.json (format 3); nil if it is
// not an array's document.
func ShapeIn(format int, doc []byte) []int64 {
	var m *Array
	if format == 3 {
		m, _, _ = ParseV3(doc)
	} else {
		m, _ = ParseV2Array(doc, nil)
	}
	if m == nil {
		return nil
	}
	return m.Shape
}

// NameOfArray returns the name of the document that has an array's shape.
func NameOfArray(format int) string {
	if format == 3 {
		return NameV3
	}
	return NameArray
}

// ShapeOfRows returns a shape with another length of axis 0, if it has one.
func ShapeOfRows(shape []int64, rows int64) []int64 {
	shape = slices.Clone(shape)
	if len(shape) > 0 {
		shape[0] = rows
	}
	return shape
}

// SetAttributes returns the document that holds the attributes, a .zattrs (format 2) or zarr.json
// (format 3), with other ones. The attributes are an object, or absent for none; doc is nil if
// there is no .zattrs yet.
func SetAttributes(format int, doc []byte, attributes pyjson.Value) ([]byte, error) {
	if err := checkEditable(format); err != nil {
		return nil, err
	}
	attributes = orEmpty(attributes)
	if format == 2 {
		return written(attributes), nil
	}
	return edited(pyjson.Set(doc, attributes, "attributes"))
}

// SetAttribute returns the document that holds the attributes, as for SetAttributes, with one set
// to a value or, if that is absent, removed. It is iofs.ErrNotExist if another program has removed
// the document meanwhile.
func SetAttribute(format int, doc []byte, name string, value pyjson.Value) ([]byte, error) {
	if err := checkEditable(format); err != nil {
		return nil, err
	}
	path := []string{"attributes", name}
	switch {
	case format == 2 && doc == nil:
		doc, path = []byte("{}"), path[1:]
	case format == 2:
		path = path[1:]
	case doc == nil:
		return nil, iofs.ErrNotExist
	}
	if !value.Exists() {
		return edited(pyjson.Remove(doc, path...))
	}
	return edited(pyjson.Set(doc, value, path...))
}

// DropConsolidated returns a group's zarr.json without consolidated metadata, and whether it had
// any.
func DropConsolidated(doc []byte) ([]byte, bool) {
	if root, err := pyjson.Parse(doc); err != nil || !root.Get(consolidatedMember).Exists() {
		return doc, false
	}
	without, err := pyjson.Remove(doc, consolidatedMember)
	return without, err == nil
}

func checkEditable(format int) error {
	if format == 2 || format == 3 {
		return nil
	}
	return &Error{Member: "zarr_format", Expected: "2 or 3, which can be changed",
		Found: strconv.Itoa(format), Kind: errors.ErrUnsupported}
}

// edited gives an error of an edit its kind.
func edited(doc []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, because("", err)
	}
	return doc, nil
}
