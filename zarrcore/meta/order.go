package meta

import (
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// This file says in which order the .npy file of an array shows its elements. Everything asks here:
// a header that is shown, and what is written behind a header. So does a new array, whose codecs
// are chosen so that it has the order of its source.

const (
	transpose = "transpose"
	sharding  = "sharding_indexed"
)

// IsInFortranOrder reports whether the .npy file of the array shows it in Fortran order. It does so
// where the first codec of a chunk, within shards if there are shards, reverses the axes: then the
// elements of a chunk follow each other in the file as they are stored. All other arrays are shown
// in C order.
func (a *Array) IsInFortranOrder() bool { return a.fortran }

// HasOrder reports whether the array is shown in Fortran order if fortran is set, otherwise in C
// order. With fewer than two axes the two orders are the same.
func (a *Array) HasOrder(fortran bool) bool {
	return len(a.Shape) < 2 || a.fortran == fortran
}

// setOrder finds out the order once the shape, the grid and the codecs are known. Where objects end
// where the array does, they get other lengths along the last of the reversed axes. A reader of the
// reversed array does not know these: such an array has C order.
func (a *Array) setOrder() {
	chain := withinShards(a.Codecs)
	a.fortran = a.Bounded == nil && len(chain) > 0 && chain[0].reverses(len(a.Shape))
}

// Reversed returns the array with its axes reversed: the same chunks, whose elements in C order are
// those of this array in Fortran order. Of an array that is shown in Fortran order its codecs move
// no elements.
func (a *Array) Reversed() *Array {
	r := *a
	r.Shape, r.Chunk, r.Cuts = backwards(a.Shape), backwards(a.Chunk), backwards(a.Cuts)
	r.DimensionNames = backwards(a.DimensionNames)
	r.Order, r.fortran = 'C', false
	if len(a.Codecs) > 0 && a.Codecs[0].reverses(len(a.Shape)) {
		r.Codecs = a.Codecs[1:]
	} else {
		r.Codecs = slices.Concat([]Codec{{transpose, reversal(len(a.Shape))}}, a.Codecs)
	}
	return &r
}

func backwards[T any](s []T) []T {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// withinShards returns the codecs of the smallest chunk of a chain that begins with sharding
// codecs.
func withinShards(chain []Codec) []Codec {
	for len(chain) > 0 && chain[0].Name == sharding {
		inner, err := ParseCodecs(chain[0].Config.Get("codecs"))
		if err != nil {
			return nil // binding the codecs reports it
		}
		chain = inner
	}
	return chain
}

// Shard is what one sharding codec says: the shape of its chunks, in the array's axes, and their
// codecs.
type Shard struct {
	Chunk  []int64
	Codecs []Codec
}

// Shards returns the sharding codecs of the array, outermost first. A document names the axes of
// their chunks in the order that the transposes before them make.
func (a *Array) Shards() (shards []Shard, err error) {
	axes := identity(len(a.Shape))
	for codecs := a.Codecs; ; {
		at := slices.IndexFunc(codecs, func(c Codec) bool { return c.Name == sharding })
		if at < 0 {
			return shards, nil
		}
		for _, c := range codecs[:at] {
			axes = c.moved(axes)
		}
		config := codecs[at].Config
		if codecs, err = ParseCodecs(config.Get("codecs")); err != nil {
			return nil, err
		}
		shards = append(shards, Shard{alongAxes(config.Get("chunk_shape"), axes), codecs})
	}
}

// moved returns axes as a codec orders them.
func (c Codec) moved(axes []int64) []int64 {
	order, ok := c.permutation(len(axes))
	if !ok {
		return axes
	}
	for i, from := range order {
		order[i] = axes[from]
	}
	return order
}

// alongAxes returns lengths, of which the first is that of axes[0], in the order of the axes. Where
// there are more or fewer, because a codec has cut or joined axes, they stay as they are.
func alongAxes(list pyjson.Value, axes []int64) (lengths []int64) {
	for v := range list.Elements() {
		n, _ := v.Int64()
		lengths = append(lengths, n)
	}
	if len(lengths) != len(axes) {
		return lengths
	}
	sorted := make([]int64, len(axes))
	for i, axis := range axes {
		sorted[axis] = lengths[i]
	}
	return sorted
}

// permutation returns the axes that a transpose of an array of that rank puts in the place of each
// axis.
func (c Codec) permutation(rank int) (axes []int64, ok bool) {
	if c.Name != transpose {
		return nil, false
	}
	for v := range c.Config.Get("order").Elements() {
		axis, ok := v.Int64()
		if !ok || axis < 0 || axis >= int64(rank) || slices.Contains(axes, axis) {
			return nil, false
		}
		axes = append(axes, axis)
	}
	return axes, len(axes) == rank
}

// reverses reports that the codec reverses the axes of an array of that rank, and that there are
// axes to reverse.
func (c Codec) reverses(rank int) bool {
	axes, ok := c.permutation(rank)
	for i, axis := range axes {
		ok = ok && axis == int64(rank-1-i)
	}
	return ok && rank > 1
}

// inOrder returns the chain of one chunk such that the array is shown in the given order, 'C' or
// 'F'. The elements of a chunk are stored as chain says. A transpose at its beginning that reverses
// the axes is that of Fortran order. For C order another one is put before it, which moves nothing.
func inOrder(chain []Codec, rank int, order byte) []Codec {
	if rank < 2 || len(chain) == 0 {
		return chain
	}
	first := chain[0]
	switch {
	case first.reverses(rank) == (order == 'F'):
		return chain
	case order == 'C':
		return slices.Insert(chain, 0, Codec{transpose, orderOf(identity(rank))})
	}
	if axes, ok := first.permutation(rank); ok { // of the axes as they are reversed
		for i := range axes {
			axes[i] = int64(rank-1) - axes[i]
		}
		chain[0].Config = orderOf(axes)
	}
	return slices.Insert(chain, 0, Codec{transpose, reversal(rank)})
}

func identity(rank int) []int64 {
	axes := make([]int64, rank)
	for i := range axes {
		axes[i] = int64(i)
	}
	return axes
}

// reversal is the configuration of the transpose that turns all axes around.
func reversal(rank int) pyjson.Value { return orderOf(backwards(identity(rank))) }

// orderOf is the configuration of a transpose.
func orderOf(axes []int64) pyjson.Value { return pyjson.Empty.With("order", pyjson.IntsOf(axes)) }

// TurnOrder returns an array's .zarray (format 2) or zarr.json (format 3) such that the array is
// shown in the other order. Its chunks are stored with the same codecs except the transpose of that
// order. Other bytes of the document stay.
func TurnOrder(a *Array, doc []byte) ([]byte, error) {
	if err := checkEditable(a.Format); err != nil {
		return nil, err
	}
	if a.Format == 2 {
		order := "F"
		if a.IsInFortranOrder() {
			order = "C"
		}
		return edited(pyjson.Set(doc, pyjson.StringOf(order), "order"))
	}
	root, err := pyjson.Parse(doc)
	if err != nil {
		return nil, because("", err)
	}
	return edited(pyjson.Set(doc, turned(root.Get("codecs"), len(a.Shape)), "codecs"))
}

// turned returns a list of codecs without the transpose that reverses the axes at the beginning, or
// with one.
func turned(codecs pyjson.Value, rank int) pyjson.Value {
	list := slices.Collect(codecs.Elements())
	name, config, err := "", pyjson.Value{}, error(nil)
	if len(list) > 0 {
		name, config, err = extension("codecs[0]", list[0])
	}
	switch {
	case err != nil:
		return codecs
	case name == sharding:
		config = config.With("codecs", turned(config.Get("codecs"), rank))
		list[0] = list[0].With("configuration", config)
	case Codec{name, config}.reverses(rank):
		list = list[1:]
	default:
		list = slices.Insert(list, 0, extensionOf(transpose, reversal(rank)))
	}
	return pyjson.ArrayOf(list...)
}
