package meta

import (
	"fmt"
	"strconv"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ParseV2Array reads a .zarray and a .zattrs, which is nil if there is none. Beside an error, the
// Array is what was understood.
func ParseV2Array(zarray, zattrs []byte) (*Array, error) {
	a := &Array{Format: 2, Order: 'C', Keys: layout.KeyEncoding{Kind: layout.KeyV2, Separator: '.'}}
	root, err := a.documents(zarray, ".zattrs", zattrs)
	if !root.Exists() {
		return a, err
	}
	first := firstError{err}
	first.note(checkFormat(root, 2))
	first.note(a.common(root, "compressor", a.codecsV2))
	if v := root.Get("dimension_separator"); v.Exists() && v.Kind() != pyjson.Null {
		a.SeparatorKnown = true
		a.Keys.Separator, err = separator("dimension_separator", v)
		first.note(err)
	}
	return a, first.err
}

// ParseV2Group reads a .zgroup and a .zattrs, which is nil if there is none. Beside an error, the
// Group is what was understood.
func ParseV2Group(zgroup, zattrs []byte) (*Group, error) {
	g := &Group{Format: 2}
	var root pyjson.Value
	var err error
	root, g.Attributes, g.Document, err = readPair(zgroup, ".zattrs", zattrs)
	if root.Exists() && err == nil {
		err = checkFormat(root, 2)
	}
	return g, err
}

// documents reads the array's document and that of its attributes. The result is the first if it is
// an object.
func (a *Array) documents(doc []byte, attrsName string, attrs []byte) (pyjson.Value, error) {
	var root pyjson.Value
	var err error
	root, a.Attributes, a.Document, err = readPair(doc, attrsName, attrs)
	return root, err
}

// readPair reads a document and one of attributes, and joins them to the one document for people.
func readPair(
	doc []byte, attrsName string, attrs []byte,
) (root, attributesValue pyjson.Value, joined []byte, err error) {
	root, err = pyjson.Parse(doc)
	if err != nil {
		return pyjson.Value{}, pyjson.Value{}, doc, because("", err)
	}
	if root.Kind() != pyjson.Object {
		return pyjson.Value{}, pyjson.Value{}, root.Indented("  "), invalid("", "an object", root)
	}
	if attrs != nil {
		attributesValue, err = pyjson.Parse(attrs)
		if err != nil {
			err = because(attrsName, err)
		} else {
			attributesValue, err = attributes(attrsName, attributesValue)
		}
	}
	return root, attributesValue, join(root, attributesValue), err
}

func checkFormat(root pyjson.Value, want int64) error {
	v := root.Get("zarr_format")
	if n, ok := v.Int64(); !ok {
		return invalid("zarr_format", strconv.FormatInt(want, 10), v)
	} else if n != want {
		return unsupported("zarr_format", strconv.FormatInt(want, 10), v)
	}
	return nil
}

// common reads what versions 1 and 2 have in common. Codecs are read by the given function.
func (a *Array) common(
	root pyjson.Value, codecMember string, codecs func(root pyjson.Value) error,
) error {
	var first firstError
	var err error
	a.Shape, a.Chunk, err = grid(root.Get("shape"), "chunks", root.Get("chunks"))
	first.note(err)
	first.note(a.typeV2(root.Get("dtype"), root.Get("fill_value")))
	first.note(a.order(root.Get("order")))
	first.note(codecs(root))
	axes := a.Attributes.Get(axesOfV2)
	a.DimensionNames, _ = axisNames(axes, len(a.Shape), false)
	if a.DimensionNames != nil {
		a.Document = join(root.With(axesMember, axes), a.Attributes)
	}
	first.note(a.checkSizes())
	return first.err
}

// typeV2 reads the type and the fill value.
func (a *Array) typeV2(typeValue, fill pyjson.Value) error {
	if !typeValue.Exists() {
		return invalid("dtype", "a string or an array of fields", typeValue)
	}
	t, err := dtype.ParseV2(typeValue)
	if err != nil {
		return because("dtype", err)
	}
	a.Type = t
	if a.Fill, err = dtype.FillV2.Element(t, fill); err != nil {
		return because("fill_value", err)
	}
	a.FillDefined = fill.Exists() && fill.Kind() != pyjson.Null
	return nil
}

func (a *Array) order(v pyjson.Value) error {
	switch v.Text() {
	case "C", "F":
		a.Order = v.Text()[0]
		return nil
	}
	return invalid("order", `"C" or "F"`, v)
}

// codecsV2 reads order, filters and compressor as a chain of codecs.
func (a *Array) codecsV2(root pyjson.Value) error {
	filters, err := filtersV2(root.Get("filters"))
	if err != nil {
		return err
	}
	compressor := root.Get("compressor")
	if !compressor.Exists() || compressor.Kind() == pyjson.Null {
		a.chain(filters, nil)
		return nil
	}
	codec, err := numcodec("compressor", compressor)
	if err != nil {
		return err
	}
	a.chain(filters, &codec)
	return nil
}

// chain sets Codecs as version 3 would have them.
func (a *Array) chain(filters []Codec, compressor *Codec) {
	a.Codecs = nil
	if a.Order == 'F' && len(a.Shape) > 1 {
		a.Codecs = append(a.Codecs, Codec{transpose, reversal(len(a.Shape))})
	}
	a.Codecs = append(a.Codecs, filters...)
	a.Codecs = append(a.Codecs, Codec{Name: "bytes"})
	if compressor != nil {
		a.Codecs = append(a.Codecs, *compressor)
	}
	for i, c := range a.Codecs {
		if c.Name == "numcodecs.shuffle" {
			a.Codecs[i].Config = c.Config.With("elementsize",
				shuffled(c.Config.Get("elementsize"), a.Type.Size))
		}
	}
	a.setOrder()
}

// shuffled returns the elementsize of a shuffle as numcodecs writes it, whose default is 4.
// netcdf-c always shuffles by the size of the array's elements; what it writes there is 0 or,
// before 4.10, a number as a string.
func shuffled(v pyjson.Value, itemSize int64) pyjson.Value {
	if !v.Exists() || v.Kind() == pyjson.Null {
		return pyjson.IntOf(4)
	}
	n, ok := v.Int64()
	if v.Kind() == pyjson.String {
		var err error
		n, err = strconv.ParseInt(v.Text(), 10, 64)
		ok = err == nil
	}
	switch {
	case !ok:
		return v // what is wrong with it, the codec says
	case n == 0:
		return pyjson.IntOf(itemSize)
	}
	return pyjson.IntOf(n)
}

func filtersV2(v pyjson.Value) ([]Codec, error) {
	if !v.Exists() || v.Kind() == pyjson.Null {
		return nil, nil
	}
	if v.Kind() != pyjson.Array {
		return nil, invalid("filters", "null or an array of codecs", v)
	}
	var all []Codec
	for e := range v.Elements() {
		at := fmt.Sprintf("filters[%d]", len(all))
		if len(all) == maxCodecs {
			return nil, invalid(at, fmt.Sprintf("at most %d codecs", maxCodecs), e)
		}
		codec, err := numcodec(at, e)
		if err != nil {
			return nil, err
		}
		all = append(all, codec)
	}
	return all, nil
}

// numcodec reads version 2's way to name a codec: an object of its id and configuration.
func numcodec(member string, v pyjson.Value) (Codec, error) {
	if v.Kind() != pyjson.Object {
		return Codec{}, invalid(member, "an object with an id", v)
	}
	id := v.Get("id")
	if id.Kind() != pyjson.String {
		return Codec{}, invalid(member+".id", "a string", id)
	}
	return Codec{"numcodecs." + id.Text(), v.Without("id")}, nil
}
