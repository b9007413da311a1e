package meta

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// This file makes documents of a later version from those of an earlier one, such that the stored
// chunks stay as they are.

// UpgradeV1 makes the documents of version 2 from the objects meta and attrs of version 1. The
// members that both versions have are taken over as they are spelled. The errors are those of
// ParseV1.
func UpgradeV1(metaDoc, attrs []byte) ([]Document, error) {
	a, err := ParseV1(metaDoc, attrs)
	if err != nil {
		return nil, err
	}
	root, err := pyjson.Parse(metaDoc)
	if err != nil {
		return nil, because("", err)
	}
	compressor := null
	if last := a.Codecs[len(a.Codecs)-1]; last.Kind() == BytesToBytes {
		compressor = idFirst(last.Name[len(numcodecs):], last.Config)
	}
	zarray := pyjson.Empty.
		With("chunks", root.Get("chunks")).
		With("compressor", compressor).
		With("dtype", root.Get("dtype")).
		With("fill_value", orNull(root.Get("fill_value"))).
		With("filters", null).
		With("order", root.Get("order")).
		With("shape", root.Get("shape")).
		With("zarr_format", pyjson.IntOf(2))
	return []Document{{NameArray, written(zarray)}, {NameAttrs, attrs}}, nil
}

// numcodecs begins the names that version 2's codecs have in version 3.
const numcodecs = "numcodecs."

func orNull(v pyjson.Value) pyjson.Value {
	if v.Exists() {
		return v
	}
	return null
}

// UpgradeV2 makes a zarr.json from the array that a .zarray and a .zattrs describe; its Keys must
// say how its chunks are really named. A fill value of null becomes the zero element, which version
// 3 must name. The errors name what version 3, or zarr-python 3, has no words for; they wrap
// errors.ErrUnsupported.
func UpgradeV2(a *Array) (Document, error) {
	codecs, err := a.CodecsV3()
	if err != nil {
		return Document{}, err
	}
	s := Spec{
		Format: 3, Shape: a.Shape, Chunk: a.Chunk, Type: a.Type, Fill: a.Fill, Codecs: codecs,
		DimensionNames: a.DimensionNames, Attributes: a.Attributes,
	}
	if a.Type.Kind == dtype.Object {
		if s.Type, s.Fill, err = upgradeObject(a, codecs); err != nil {
			return Document{}, err
		}
	}
	docs, err := s.Documents()
	if err != nil {
		return Document{}, err
	}
	keys := extensionOf("v2",
		pyjson.Empty.With("separator", pyjson.StringOf(string(rune(a.Keys.Separator)))))
	doc, err := pyjson.Set(docs[0].Data, keys, "chunk_key_encoding")
	return Document{NameV3, doc}, err
}

// CodecsV3 makes a chain of version 3 from that of an array of version 2. There filters stand in
// any order before the bytes codec, since each sees a buffer. Those that make bytes of bytes move
// behind it. The errors are as those of UpgradeV2.
func (a *Array) CodecsV3() ([]Codec, error) {
	var arrays, bytes []Codec
	serializer := Codec{Name: "bytes"}
	size := a.Type.Size // of an element of what the next codec is given
	for _, c := range a.Codecs {
		if c.Name == "bytes" {
			continue
		}
		if a.Type.Kind == dtype.Object &&
			(c.Name == "numcodecs.vlen-utf8" || c.Name == "numcodecs.vlen-bytes") {
			serializer = Codec{Name: c.Name[len(numcodecs):]}
			continue
		}
		upgraded, err := upgradeCodec(c, size)
		if err != nil {
			return nil, err
		}
		if c.Kind() == BytesToBytes {
			bytes = append(bytes, upgraded)
			continue
		}
		if len(bytes) > 0 {
			return nil, filterError("filters of arrays before those of bytes",
				c.Name+" after "+bytes[len(bytes)-1].Name)
		}
		if c.Name != "transpose" {
			if size, err = upgradeFilter(a.Type, c, size); err != nil {
				return nil, err
			}
		}
		arrays = append(arrays, upgraded)
	}
	return slices.Concat(arrays, []Codec{serializer}, bytes), nil
}

// upgradeObject finds what the elements of an array of objects are, by the codec that makes bytes
// of them. It also finds the fill value as one element. zarr-python 3 stores strings in order F in
// another way than zarr-python 2.
func upgradeObject(a *Array, codecs []Codec) (dtype.Type, []byte, error) {
	t := dtype.Type{Kind: dtype.Object}
	switch codecs[0].Name {
	case "vlen-utf8":
		t.Name = "string"
	case "vlen-bytes":
		t.Name = "bytes"
	default:
		return t, nil, filterError("vlen-utf8 or vlen-bytes alone, in order C", codecs[0].Name)
	}
	fill, err := pyjson.Parse(a.Fill)
	switch {
	case err != nil || !a.FillDefined:
		return t, []byte{}, nil
	case t.Name == "string" && fill.Kind() == pyjson.String:
		return t, []byte(fill.Text()), nil
	}
	if n, ok := fill.Int64(); ok && n == 0 || fill.Kind() == pyjson.String && fill.Text() == "" {
		return t, []byte{}, nil
	}
	return t, nil, unsupported("fill_value", "null, 0 or a string of a vlen-utf8 array", fill)
}

// upgradeFilter refuses filters of arrays that zarr-python 3 applies in another way than
// zarr-python 2: to big-endian numbers, to booleans, and quantize to another type. It returns the
// size of the elements that c makes of those of the given size.
func upgradeFilter(t dtype.Type, c Codec, size int64) (int64, error) {
	if order, err := t.ByteOrder(); err != nil || order == dtype.Big {
		return 0, filterError("none, as the type is big-endian", c.Name)
	}
	if c.Name == "numcodecs.delta" && t.Kind == dtype.Bool {
		return 0, filterError("none, as the type is boolean", c.Name)
	}
	// the last ones are of what is stored
	for _, member := range []string{"dtype", "decode_dtype", "astype", "encode_dtype"} {
		v := c.Config.Get(member)
		if !v.Exists() || v.Kind() == pyjson.Null {
			continue
		}
		typ, err := dtype.ParseV2(v)
		if err != nil {
			return 0, because("filters", err)
		}
		if typ.Order == dtype.Big {
			return 0, filterError("filters of little-endian numbers",
				c.Name+" with "+member+" "+show(v))
		}
		if c.Name == "numcodecs.quantize" && typ.Descr() != t.Descr() {
			return 0, filterError("the array's type as its "+member, c.Name+" with "+show(v))
		}
		size = typ.Size
	}
	return size, nil
}

func filterError(expected, found string) error {
	return &Error{Member: "filters", Expected: expected, Found: found, Kind: errors.ErrUnsupported}
}

// upgradeCodec names a codec of version 2 as version 3 does; size is that of an element before it,
// in bytes.
func upgradeCodec(c Codec, size int64) (Codec, error) {
	upgrade := codecTypes[c.Name].upgrade
	if upgrade == nil {
		return Codec{}, &Error{
			Member: "codecs", Expected: "a codec that zarr-python 3 knows in format 3",
			Found: strconv.Quote(c.Name), Kind: errors.ErrUnsupported,
		}
	}
	up, err := upgrade(c.Complete(2, size), size)
	if err != nil || up.Name == c.Name {
		return c, err
	}
	return up.fitted(size), nil
}

// fitted is a codec with the parameters of its row alone. One that the row does not take has its
// default: it does not matter to what is stored, but to what is written next.
func (c Codec) fitted(itemSize int64) Codec {
	var config pyjson.Value
	for _, p := range codecTypes[c.Name].Parameters {
		v, otherwise := c.Config.Get(p.Member), p.Default(itemSize)
		if v.Kind() != otherwise.Kind() || !p.takes(v) {
			v = otherwise
		}
		config = config.With(p.Member, v)
	}
	return Codec{c.Name, config}
}

// unchanged is for codecs that zarr-python 3 knows in format 3 by the same name, with the same
// configuration.
func unchanged(c Codec, _ int64) (Codec, error) { return c, nil }

// unprefixed is for codecs that differ in their names alone.
func unprefixed(c Codec, _ int64) (Codec, error) {
	return Codec{c.Name[len(numcodecs):], c.Config}, nil
}

// upgradeCRC32C: version 3's own checksum stands at the end.
func upgradeCRC32C(c Codec, size int64) (Codec, error) {
	if where := c.Config.Get("location"); !where.Exists() || where.Text() == "end" {
		return unprefixed(c, size)
	}
	return c, nil
}

// upgradeBlosc spells blosc's shuffle as version 3 does, whose documents also have the size of an
// element. Automatic shuffle, -1, is by bits for elements of a byte and by bytes for others.
func upgradeBlosc(c Codec, size int64) (Codec, error) {
	v := c.Config.Get("shuffle")
	n, ok := v.Int64()
	if !ok || n < -1 || n > 2 {
		return Codec{}, invalid("compressor.shuffle", "-1, 0, 1 or 2", v)
	}
	shuffle := bloscShuffle(size)
	if n >= 0 {
		shuffle = pyjson.StringOf(bloscShuffles[n])
	}
	c.Config = c.Config.Without("typesize").With("shuffle", shuffle)
	return unprefixed(c, size)
}

// UpgradeGroup makes a group's zarr.json from its .zgroup and .zattrs, which is nil if there is
// none.
func UpgradeGroup(zgroup, zattrs []byte) (Document, error) {
	g, err := ParseV2Group(zgroup, zattrs)
	if err != nil {
		return Document{}, fmt.Errorf("%s: %w", NameGroup, err)
	}
	return GroupDocuments(3, g.Attributes)[0], nil
}
