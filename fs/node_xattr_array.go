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

// sharding is the codec whose objects hold many chunks.
const sharding = "sharding_indexed"

// innerChunk returns the shape of the chunk that can be decoded alone: the shard's inner one where there are shards. It is nil
// where chunks differ in shape.
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

// innerShape returns the chunk shape that the outermost sharding codec names, nil if there is none.
func innerShape(n *zarrcore.Node) []int64 {
	for _, c := range n.Meta.Codecs {
		if c.Name != sharding {
			continue
		}
		var shape []int64
		for v := range c.Config.Get("chunk_shape").Elements() {
			if i, ok := v.Int64(); ok {
				shape = append(shape, i)
			}
		}
		return shape
	}
	return nil
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
