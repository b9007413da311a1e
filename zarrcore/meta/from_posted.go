package meta

import (
	"strconv"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// FromPosted returns the documents of a new array or group of a format, from a document as one is
// shown. It also returns the array, nil for a group: in format 2 the members of the .zarray or
// .zgroup, "attributes" and "dimension_names", in format 3 the zarr.json. A document of another
// format is an ErrInvalid. Consolidated metadata are left out: what is new has no members yet.
func FromPosted(posted []byte, format int) ([]Document, *Array, error) {
	if err := checkEditable(format); err != nil {
		return nil, nil, err
	}
	posted = WithNumbers(posted)
	root, err := parsePosted(posted)
	if err != nil {
		return nil, nil, err
	}
	if v := root.Get("zarr_format"); v.Exists() {
		if n, ok := v.Int64(); !ok || n != int64(format) {
			return nil, nil, invalid("zarr_format", strconv.Itoa(format)+", the format of the "+
				"group that it is for", v)
		}
	}
	if format == 2 {
		return fromPostedV2(root, posted)
	}
	doc, _ := DropConsolidated(posted)
	a, _, err := ParseV3(doc)
	return []Document{{NameV3, doc}}, a, err
}

func fromPostedV2(root pyjson.Value, posted []byte) ([]Document, *Array, error) {
	object, err := attributes("attributes", root.Get("attributes"))
	if err != nil {
		return nil, nil, err
	}
	doc, err := edited(pyjson.Remove(posted, "attributes"))
	if err != nil {
		return nil, nil, err
	}
	if !root.Get("shape").Exists() && !root.Get("dtype").Exists() {
		attrs := Document{NameAttrs, written(orEmpty(object))}
		_, err := ParseV2Group(doc, attrs.Data)
		return []Document{{NameGroup, doc}, attrs}, nil, err
	}
	if object, err = axesFromV2(root, object); err != nil {
		return nil, nil, err
	}
	if doc, err = edited(pyjson.Remove(doc, axesMember)); err != nil {
		return nil, nil, err
	}
	attrs := Document{NameAttrs, written(orEmpty(object))}
	a, err := ParseV2Array(doc, attrs.Data)
	return []Document{{NameArray, doc}, attrs}, a, err
}
