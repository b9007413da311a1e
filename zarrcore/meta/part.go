package meta

import (
	"bytes"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// Part returns what a part of the array is shown as: with this shape, these names of its axes (nil:
// none), and this type. Its chunks are not those of an array. Attributes that say how values are
// unpacked are left out if they are unpacked.
func (a *Array) Part(shape []int64, names []string, t dtype.Type, fortran, unpacked bool) *Array {
	p := *a
	p.Shape, p.Chunks = shape, Chunks{Chunk: shape}
	p.DimensionNames, p.Type, p.fortran = names, t, fortran
	if unpacked {
		p.Fill, p.FillDefined = make([]byte, t.Size), false
		for _, name := range []string{"scale_factor", "add_offset", "_FillValue", "missing_value"} {
			p.Attributes = p.Attributes.Without(name)
		}
	}
	return &p
}

// Described returns a with the attributes and names of dimensions of another document of the array.
// Its Document is still that of a.
func (a *Array) Described(by *Array) *Array {
	b := *a
	b.Attributes, b.DimensionNames = by.Attributes, by.DimensionNames
	return &b
}

// IsDescribedBy reports whether another document has the same attributes and names of dimensions.
func (a *Array) IsDescribedBy(b *Array) bool {
	return bytes.Equal(a.Attributes.Raw(), b.Attributes.Raw()) &&
		slices.Equal(a.DimensionNames, b.DimensionNames)
}
