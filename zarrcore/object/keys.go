package object

import (
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Keys number the objects of an array, by the grid into which they cut it, and spell
// their keys.
type Keys struct {
	*layout.Grid // of objects
	meta         *meta.Array
	prefix       string
	reversed     bool // in the store the axes have the other order
}

// NewKeys returns the keys of the array at path that m describes.
func NewKeys(m *meta.Array, path string) (*Keys, error) {
	grid, err := m.Grid()
	if err != nil {
		return nil, err
	}
	k := &Keys{Grid: grid, meta: m}
	if path != "" {
		k.prefix = path + "/"
	}
	return k, nil
}

// Prefix returns what the keys of all objects begin with: the array's path and a slash,
// or nothing at the root.
func (k *Keys) Prefix() string { return k.prefix }

// Key returns the key of an object.
func (k *Keys) Key(object int64) string {
	var some [8]int64
	return k.keyAt(k.Coords(object, some[:]))
}

// keyAt returns the key of the object at these coordinates, which it may overwrite.
func (k *Keys) keyAt(coords []int64) string {
	if k.reversed {
		slices.Reverse(coords)
	}
	var short [128]byte
	return string(k.meta.Keys.Append(append(short[:0], k.prefix...), coords))
}

// Parse returns the number of the object with that key, and whether the array has such
// an object at all. The key is relative to the array.
func (k *Keys) Parse(key string) (object int64, ok bool) {
	counts := k.Counts()
	coords, ok := k.meta.Keys.Parse(key, len(counts))
	if k.reversed {
		slices.Reverse(coords)
	}
	for i, c := range coords {
		ok = ok && c < counts[i]
	}
	if !ok {
		return 0, false
	}
	return k.Index(coords), true
}

// ShapeAt returns the shape of an object.
func (k *Keys) ShapeAt(object int64) []int64 { return k.ShapeOf(k.Coords(object, nil)) }

// Length returns the length of an object along axis 0.
func (k *Keys) Length(object int64) int64 {
	first, end, _ := k.Rows(object)
	return end - first
}

// IsBounded reports whether the array's objects end where it does, along axis 0.
func (k *Keys) IsBounded() bool { return len(k.meta.Bounded) > 0 && !k.reversed }

// Longest returns the length along axis 0 of an object that does not end with the array, where
// grid is bounded.
func (k *Keys) Longest() int64 { return k.meta.Bounded[0] }
