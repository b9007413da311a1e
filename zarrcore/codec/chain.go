// Package codec decodes and encodes the objects of one array: it binds the document's chain of
// codecs once to the exact type, shape and size of the array's chunks. Then it turns encoded
// objects into the array's bytes, and back.
//
// Each codec is one file with a line that registers it; docs/FORMATS.md lists them. A codec knows
// exactly what it is bound to: every buffer has its final size before decoding begins, and more or
// fewer bytes than that are an error.
package codec

import (
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Chain is the codec chain of one array. It is safe for concurrent use.
type Chain struct {
	shape  []int64 // of a chunk
	counts []int64 // chunks in an object along each axis
	levels levels  // the sharding codecs that chunks are found through, outermost first
	chunk  *pipeline
	blocks bool // the chunk is one blosc buffer of the bytes themselves
	// filters before the sharding codecs that only change what is encoded, each element on its own
	lossy []step
}

// level is one sharding codec whose chunks can be read apart.
type level struct {
	index *indexReader
	axes  []levelAxis // one for each axis of the array
}

// levels are the sharding codecs of a chain, outermost first.
type levels []level

// indexBytes is the length of all indexes of an object that holds every chunk.
func (all levels) indexBytes() int64 {
	n, shards := int64(0), int64(1)
	for _, l := range all {
		n += shards * l.index.codecs.encoded.size
		shards *= l.index.n
	}
	return n
}

// levelAxis is one axis of the array in one level's index. The number of a chunk along that axis,
// counted over the whole object, adds number / div % mod * stride to its place in the index.
type levelAxis struct{ div, mod, stride int64 }

// Bind binds an array's codecs. An error names the codec; it wraps errors.ErrUnsupported where one
// cannot be decoded and meta.ErrInvalid where a configuration cannot be.
func Bind(a *meta.Array) (*Chain, error) {
	c, err := bind(a)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", meta.ErrInvalid, err)
	}
	return c, err
}

func bind(a *meta.Array) (*Chain, error) {
	if a.Type.Kind == dtype.Object {
		return nil, fmt.Errorf("type %s has no fixed size: %w", a.Type.Name, errors.ErrUnsupported)
	}
	st, err := arrayState(a)
	if err != nil {
		return nil, err
	}
	c := &Chain{}
	codecs, st, err := c.bindLevels(a.Codecs, st)
	if err != nil {
		return nil, err
	}
	if c.chunk, err = bindPipeline(codecs, st); err != nil {
		return nil, err
	}
	c.chunk.precede(c.lossy)
	c.shape = st.begin
	c.finishLevels(a.Chunk)
	c.blocks = len(c.chunk.steps) == 1 && isBlosc(&c.chunk.steps[0])
	return c, nil
}

// bindLevels takes sharding codecs off the chain for as long as their chunks can be read apart: no
// filter before but transposes and those without effect on decoding, no reshape that cuts or joins
// axes, and nothing behind. It returns the codecs of the chunk and the state they begin with.
func (c *Chain) bindLevels(codecs []meta.Codec, st state) ([]meta.Codec, state, error) {
	for {
		inner, next, err := c.bindLevel(codecs, st)
		if err != nil {
			return nil, st, err
		}
		if inner == nil {
			return codecs, st, nil
		}
		codecs, st = inner, next
	}
}

// bindLevel takes one sharding codec off the chain; no codecs are returned where that cannot be.
func (c *Chain) bindLevel(codecs []meta.Codec, st state) ([]meta.Codec, state, error) {
	last := len(codecs) - 1
	if last < 0 || codecs[last].Name != shardingName {
		return nil, st, nil
	}
	var lossy []step
	for _, f := range codecs[:last] {
		e := registry[f.Name]
		if e.bind == nil || e.kind != meta.ArrayToArray {
			return nil, st, nil
		}
		filter, after, err := e.bind(st, configOf(f, st))
		if err != nil || filter.decodes() || after.recut {
			// a filter that computes or cuts axes; bindPipeline reports its errors
			return nil, st, nil
		}
		filter.name = f.Name
		lossy = append(lossy, filter)
		st = after
	}
	s, err := parseSharding(st, configOf(codecs[last], st))
	if err != nil {
		return nil, st, fmt.Errorf("codec %q: %w", shardingName, err)
	}
	l := level{index: s.index, axes: make([]levelAxis, len(st.begin))}
	for a := range l.axes {
		l.axes[a].mod = 1 // an axis of length 1 that the shard does not have
	}
	for i, stride := range strides(s.counts, 1) {
		if axis := st.axes[i]; axis != newAxis {
			l.axes[axis] = levelAxis{mod: s.counts[i], stride: stride}
		}
	}
	c.levels = append(c.levels, l)
	c.lossy = append(c.lossy, lossy...)
	return s.codecs, s.inside(st), nil
}

// finishLevels works out how chunks are numbered over all levels.
func (c *Chain) finishLevels(object []int64) {
	c.counts = make([]int64, len(object))
	for a := range object {
		c.counts[a] = 1
		for i := len(c.levels) - 1; i >= 0; i-- {
			axis := &c.levels[i].axes[a]
			axis.div = c.counts[a]
			c.counts[a] *= axis.mod
		}
	}
}

// Chunk is the shape, in the array's axes, of the chunk that can be decoded apart: the innermost
// chunk of a shard, where the chain allows reading it alone, otherwise the whole object.
func (c *Chain) Chunk() []int64 { return c.shape }

// ChunkBytes is the size of a decoded chunk.
func (c *Chain) ChunkBytes() int64 { return c.chunk.size }

// PerObject is how many chunks one object holds: 1 where it is not sharded.
func (c *Chain) PerObject() int64 {
	n := int64(1)
	for _, k := range c.counts {
		n *= k
	}
	return n
}

// IsSharded reports whether an object is a shard, whose chunks are found through its index, even if
// there is only one.
func (c *Chain) IsSharded() bool { return len(c.levels) > 0 }

// IsPlain reports whether an encoded chunk is the decoded one, byte for byte.
func (c *Chain) IsPlain() bool { return c.chunk.isPlain() }

// Decode decodes the chunk of that number, counted in C order of the array's axes within the
// object, into dst: ChunkBytes bytes in C order and in the array's byte order. The rest of dst's
// capacity may be overwritten. ErrEmpty says that the shard has no such chunk; dst is then
// undefined.
func (c *Chain) Decode(dst []byte, src Source, inner int64) error {
	if err := c.checkCall(dst, inner); err != nil {
		return err
	}
	s, err := c.find(src, inner)
	if err != nil {
		return err
	}
	return c.chunk.decode(dst, s)
}

func (c *Chain) checkCall(dst []byte, inner int64) error {
	if int64(len(dst)) != c.chunk.size {
		return fmt.Errorf("codec: expected a buffer of %d bytes, found %d", c.chunk.size, len(dst))
	}
	return c.checkInner(inner)
}

func (c *Chain) checkInner(inner int64) error {
	if inner < 0 || inner >= c.PerObject() {
		return fmt.Errorf("codec: expected a chunk from 0 to %d, found %d", c.PerObject()-1, inner)
	}
	return nil
}

// find goes through the shard indexes to a chunk's encoded bytes.
func (c *Chain) find(src Source, inner int64) (span, error) {
	s := span{src, 0, src.Size()}
	for i := range c.levels {
		l := &c.levels[i]
		index, err := l.index.find(s)
		if err != nil {
			return s, err
		}
		if s, err = index.locate(c.number(l, inner), s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// number is a chunk's number within the index of one level.
func (c *Chain) number(l *level, inner int64) int64 {
	n := int64(0)
	for a := len(c.counts) - 1; a >= 0; a-- {
		k := inner % c.counts[a]
		inner /= c.counts[a]
		axis := l.axes[a]
		n += k / axis.div % axis.mod * axis.stride
	}
	return n
}
