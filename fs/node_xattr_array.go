package fs

import (
	"encoding/json"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// arrayXattrs returns the extended attributes that only arrays have.
func arrayXattrs(n *zarrcore.Node) []xattr {
	m := n.Meta
	var list []xattr
	if m.Shape != nil {
		list = append(list, xattr{xattrZarr + "shape", asJSON(m.Shape)})
	}
	if name := TypeName(n); name != "" {
		list = append(list, xattr{xattrZarr + "dtype", text(name)})
	}
	if chunk := innerChunk(n); chunk != nil {
		list = append(list, xattr{xattrZarr + "chunks", asJSON(chunk)})
		if shard := Shard(n); shard != nil {
			list = append(list, xattr{xattrZarr + "shards", asJSON(shard)})
		}
	}
	if m.Codecs != nil {
		list = append(list, xattr{xattrZarr + "codecs", func() []byte { return CodecsJSON(n) }})
	}
	if fill := FillJSON(n); fill != nil {
		list = append(list, xattr{xattrZarr + "fill_value", func() []byte { return fill }})
	}
	if m.Order != 0 && n.Format != 3 {
		list = append(list, xattr{xattrZarr + "order", text(string(m.Order))})
	}
	if m.DimensionNames != nil {
		list = append(list, xattr{xattrAxes, asJSON(m.DimensionNames)})
	}
	return list
}

// innerChunk returns the shape of the chunk that can be decoded alone: the shard's inner one where
// there are shards. It is nil where chunks differ in shape.
func innerChunk(n *zarrcore.Node) []int64 {
	if inner := innerShape(n); inner != nil {
		return inner
	}
	return objectShape(n)
}

// objectShape returns the shape of the array's objects, nil where they differ.
func objectShape(n *zarrcore.Node) []int64 {
	if !n.Meta.Regular() {
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
