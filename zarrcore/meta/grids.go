package meta

import (
	"fmt"
	"math"
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// maxCuts is how many changes of the chunk length along one axis a document may have. A grid of 180
// years in months has 1500.
const maxCuts = 1 << 16

// A gridParser reads a chunk grid's configuration, given with the name of the member, for an array
// of the given shape.
type gridParser func(shape []int64, member string, config pyjson.Value) (Chunks, error)

// chunkGrids are version 3's chunk grids by name.
var chunkGrids = map[string]gridParser{
	"regular":               regularOrListed,
	"rectilinear":           rectilinear,
	"rectangular":           rectangular,
	"zarrs.regular_bounded": regularBounded,
}

// gridV3 reads the shape and the chunk grid, an extension point.
func (a *Array) gridV3(shapeValue, gridValue pyjson.Value) error {
	name, config, err := extension("chunk_grid", gridValue)
	if err != nil {
		return err
	}
	if err := mustUnderstand("chunk_grid", gridValue); err != nil {
		return err
	}
	parse := chunkGrids[name]
	if parse == nil {
		return unsupported("chunk_grid.name", knownNames(chunkGrids), nameOf(gridValue))
	}
	shape, err := lengths("shape", shapeValue)
	if err != nil {
		return err
	}
	c, err := parse(shape, "chunk_grid.configuration", config)
	if err == nil {
		a.Shape, a.Chunks = shape, c
	}
	return err
}

// regularOrListed is the one grid of the core specification. zarr-python 3.2.0 and 3.2.1 gave its
// name to grids with lists of lengths, too, which later ones read as rectilinear.
func regularOrListed(shape []int64, member string, config pyjson.Value) (Chunks, error) {
	for e := range config.Get("chunk_shape").Elements() {
		if e.Kind() == pyjson.Array {
			return rectangular(shape, member, config)
		}
	}
	return regular(shape, member, config)
}

// regular is a grid of chunks of one shape.
func regular(shape []int64, member string, config pyjson.Value) (Chunks, error) {
	if err := onlyMembers(member, config, "chunk_shape"); err != nil {
		return Chunks{}, err
	}
	chunk, err := chunkShape(shape, member+".chunk_shape", config.Get("chunk_shape"))
	return Chunks{Chunk: chunk}, err
}

// regularBounded is zarrs' grid: regular, but chunks end where the array does.
func regularBounded(shape []int64, member string, config pyjson.Value) (Chunks, error) {
	c, err := regular(shape, member, config)
	if err != nil {
		return Chunks{}, err
	}
	c.Bounded = c.Chunk
	err = c.fit(shape, member)
	return c, err
}

// rectilinear is the grid of zarr-extensions whose document lists the lengths of the chunks along
// each axis.
func rectilinear(shape []int64, member string, config pyjson.Value) (Chunks, error) {
	if err := onlyMembers(member, config, "kind", "chunk_shapes"); err != nil {
		return Chunks{}, err
	}
	if kind := config.Get("kind"); kind.Text() != "inline" {
		return Chunks{}, unsupported(member+".kind", `"inline"`, kind)
	}
	return listed(shape, member+".chunk_shapes", config.Get("chunk_shapes"))
}

// rectangular is what the same grid was called in its draft, ZEP 3.
func rectangular(shape []int64, member string, config pyjson.Value) (Chunks, error) {
	if err := onlyMembers(member, config, "chunk_shape"); err != nil {
		return Chunks{}, err
	}
	return listed(shape, member+".chunk_shape", config.Get("chunk_shape"))
}

// listed reads the lengths of the chunks along each axis.
func listed(shape []int64, member string, v pyjson.Value) (Chunks, error) {
	if v.Kind() != pyjson.Array || v.Len() != len(shape) {
		return Chunks{}, invalid(member, fmt.Sprintf("an array of lengths, or of lists of them, "+
			"for each of %d axes", len(shape)), v)
	}
	cuts := make([][]layout.Cut, 0, len(shape))
	for e := range v.Elements() {
		i := len(cuts)
		axis, err := axisCuts(fmt.Sprintf("%s[%d]", member, i), e)
		if err != nil {
			return Chunks{}, err
		}
		cuts = append(cuts, axis)
	}
	c := Chunks{Cuts: cuts}
	err := c.fit(shape, member)
	return c, err
}

// axisCuts reads the lengths of the chunks along an axis: one for all, or a list of lengths and of
// pairs of a length and how many times it is repeated. They may go on behind the end of the axis.
func axisCuts(member string, v pyjson.Value) ([]layout.Cut, error) {
	if length, ok := v.Int64(); ok && length > 0 {
		return []layout.Cut{{Length: length, Count: math.MaxInt64}}, nil
	}
	if v.Kind() != pyjson.Array {
		return nil, invalid(member, "a length of 1 or more, or an array of them", v)
	}
	var cuts []layout.Cut
	index := 0
	for e := range v.Elements() {
		cut, ok := repeated(e)
		if !ok {
			return nil, invalid(fmt.Sprintf("%s[%d]", member, index),
				"a length of 1 or more, or a pair of it and of how many chunks have it", e)
		}
		if last := len(cuts) - 1; last >= 0 && cuts[last].Length == cut.Length &&
			cuts[last].Count <= math.MaxInt64-cut.Count {
			cuts[last].Count += cut.Count
		} else if cuts = append(cuts, cut); len(cuts) > maxCuts {
			return nil, unsupported(member, fmt.Sprintf("at most %d changes of the length",
				maxCuts), v)
		}
		index++
	}
	return cuts, nil
}

// repeated reads a length, or a pair of it and of how many times it is repeated.
func repeated(v pyjson.Value) (layout.Cut, bool) {
	c := layout.Cut{Count: 1}
	ok := true
	if v.Kind() == pyjson.Array {
		var pair []int64
		for e := range v.Elements() {
			n, isInt := e.Int64()
			pair = append(pair, n)
			if ok = isInt && len(pair) <= 2; !ok {
				break
			}
		}
		if !ok || len(pair) != 2 {
			return c, false
		}
		c.Length, c.Count = pair[0], pair[1]
	} else {
		c.Length, ok = v.Int64()
	}
	return c, ok && c.Length > 0 && c.Count > 0
}

// fit holds the chunks against the shape of an array, and finds the longest along each axis.
func (c *Chunks) fit(shape []int64, member string) error {
	g, err := c.grid(shape, 1)
	if err != nil {
		return because(member, err)
	}
	c.Chunk = g.ChunkShape()
	return nil
}

func (c *Chunks) grid(shape []int64, itemSize int64) (*layout.Grid, error) {
	switch {
	case c.Bounded != nil:
		return layout.NewBoundedGrid(shape, c.Bounded, itemSize)
	case c.Cuts != nil:
		return layout.NewCutGrid(shape, c.Cuts, itemSize)
	}
	return layout.NewGrid(shape, c.Chunk, itemSize)
}

// Grid returns the grid of the array's objects.
func (a *Array) Grid() (*layout.Grid, error) { return a.grid(a.Shape, a.Type.Size) }

// IsRegular reports that all objects of the array have one shape.
func (a *Array) IsRegular() bool { return a.Cuts == nil && a.Bounded == nil }

// WithShape returns the array with another shape, of as many axes, and the same chunk grid. Where
// the grid has no chunks for that shape the error wraps ErrInvalid.
func (a *Array) WithShape(shape []int64) (*Array, error) {
	b := *a
	b.Shape = shape
	if a.IsRegular() {
		return &b, nil
	}
	if err := b.fit(shape, "chunk_grid.configuration"); err != nil {
		return nil, err
	}
	return &b, nil
}

// SameGrid reports that both arrays are cut into the same chunks, as far as both have them.
func (a *Array) SameGrid(b *Array) bool {
	if a.IsRegular() && b.IsRegular() {
		return slices.Equal(a.Chunk, b.Chunk)
	}
	return slices.Equal(a.Bounded, b.Bounded) && slices.EqualFunc(a.Cuts, b.Cuts, slices.Equal)
}

// SameLayout reports whether two documents store the same bytes in the same places, except for the
// length of axis 0.
func (a *Array) SameLayout(b *Array) bool {
	return a.Format == b.Format && len(a.Shape) == len(b.Shape) &&
		(len(a.Shape) == 0 || slices.Equal(a.Shape[1:], b.Shape[1:])) &&
		a.SameGrid(b) && a.Type.Descr() == b.Type.Descr() && slices.Equal(a.Fill, b.Fill) &&
		a.Keys == b.Keys && a.Order == b.Order && a.SameCodecs(b)
}
