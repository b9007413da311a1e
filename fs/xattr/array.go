package xattr

import (
	"encoding/json"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ofArray returns the extended attributes that only arrays have.
func ofArray(n *zarrcore.Node) []Attribute {
	m := n.Meta
	var list []Attribute
	if m.Shape != nil {
		list = append(list, Attribute{Zarr + "shape", asJSON(m.Shape)})
	}
	if name := TypeName(n); name != "" {
		list = append(list, Attribute{Zarr + "dtype", text(name)})
	}
	if chunk := Chunk(n); chunk != nil {
		list = append(list, Attribute{Zarr + "chunks", asJSON(chunk)})
		if shard := Shard(n); shard != nil {
			list = append(list, Attribute{Zarr + "shards", asJSON(shard)})
		}
	}
	if m.Codecs != nil {
		list = append(list, Attribute{Zarr + "codecs", func() []byte { return CodecsJSON(n) }})
	}
	if fill := FillJSON(n); fill != nil {
		list = append(list, Attribute{Zarr + "fill_value", func() []byte { return fill }})
	}
	if m.Order != 0 && n.Format != 3 {
		list = append(list, Attribute{Zarr + "order", text(string(m.Order))})
	}
	if m.DimensionNames != nil {
		list = append(list, Attribute{axes, asJSON(m.DimensionNames)})
	}
	return list
}

// TypeName spells an array's data type as NumPy does, and one whose elements have no fixed size as
// Zarr v3; "" if it is unknown.
func TypeName(n *zarrcore.Node) string {
	t := n.Meta.Type
	switch {
	case zarrcore.IsVlen(n.Meta) && n.Format == 3:
		return t.Name
	case t.Size > 0 || zarrcore.IsVlen(n.Meta):
		return t.NumPy()
	}
	return ""
}

// Chunk returns the shape of an array's smallest separately decodable block: the inner chunk where
// there are shards. It is nil if that is unknown or not the same everywhere.
func Chunk(n *zarrcore.Node) []int64 {
	if inner := innerShape(n); inner != nil {
		return inner
	}
	return objectShape(n)
}

// Shard returns the shape of an array's shards, nil if it has none or they differ.
func Shard(n *zarrcore.Node) []int64 {
	if innerShape(n) == nil {
		return nil
	}
	return objectShape(n)
}

// CodecsJSON spells an array's codec chain as a Zarr v3 document does, whatever its own version;
// nil if it is unknown.
func CodecsJSON(n *zarrcore.Node) json.RawMessage {
	if n.Meta.Codecs == nil {
		return nil
	}
	return codecsJSON(n)
}

// FillJSON returns an array's fill value as JSON, nil if the document names none.
func FillJSON(n *zarrcore.Node) json.RawMessage {
	doc, err := pyjson.Parse(n.Document)
	if err != nil {
		return nil
	}
	if v := doc.Get("fill_value"); v.Exists() {
		return v.Standard()
	}
	return nil
}

// objectShape returns the shape of the array's objects, nil where they differ.
func objectShape(n *zarrcore.Node) []int64 {
	if !n.Meta.IsRegular() {
		return nil
	}
	return n.Meta.Chunk
}

// innerShape returns the shape of the chunks in an object, nil if it is not a shard.
func innerShape(n *zarrcore.Node) []int64 {
	shards, err := n.Meta.Shards()
	if err != nil || len(shards) == 0 {
		return nil
	}
	return shards[0].Chunk
}

// codecsJSON spells the chain as a Zarr v3 document does, whatever the array's own version.
func codecsJSON(n *zarrcore.Node) []byte {
	type codec struct {
		Name          string          `json:"name"`
		Configuration json.RawMessage `json:"configuration,omitempty"`
	}
	chain := make([]codec, 0, len(n.Meta.Codecs))
	for _, c := range n.Meta.Codecs {
		chain = append(chain, codec{c.Name, c.Config.Standard()})
	}
	b, _ := json.Marshal(chain)
	return b
}
