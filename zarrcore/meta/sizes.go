package meta

import (
	"fmt"
	"math"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// lengths reads the lengths of an array's axes or of a chunk's.
func lengths(member string, v pyjson.Value) ([]int64, error) {
	if v.Kind() != pyjson.Array {
		return nil, invalid(member, "an array of lengths", v)
	}
	all := []int64{}
	for e := range v.Elements() {
		at := fmt.Sprintf("%s[%d]", member, len(all))
		if len(all) == layout.MaxRank {
			return nil, invalid(at, fmt.Sprintf("at most %d axes", layout.MaxRank), e)
		}
		n, ok := e.Int64()
		if !ok || n < 0 {
			return nil, invalid(at, fmt.Sprintf("an integer from 0 to %d", int64(math.MaxInt64)), e)
		}
		all = append(all, n)
	}
	return all, nil
}

// grid reads the shape of the array and of its chunks, given with the names of their members, and
// holds them against each other.
func grid(
	shapeValue pyjson.Value, chunkMember string, chunkValue pyjson.Value,
) (shape, chunk []int64, err error) {
	if shape, err = lengths("shape", shapeValue); err != nil {
		return nil, nil, err
	}
	if chunk, err = chunkShape(shape, chunkMember, chunkValue); err != nil {
		return nil, nil, err
	}
	return shape, chunk, nil
}

// chunkShape reads the shape of the chunks of an array of the given shape.
func chunkShape(shape []int64, member string, v pyjson.Value) ([]int64, error) {
	chunk, err := lengths(member, v)
	if err != nil {
		return nil, err
	}
	if len(chunk) != len(shape) {
		return nil, invalid(member, fmt.Sprintf("%d lengths, one for each axis of shape",
			len(shape)), v)
	}
	for i, n := range chunk {
		if n == 0 && shape[i] != 0 {
			return nil, &Error{
				Member:   fmt.Sprintf("%s[%d]", member, i),
				Expected: fmt.Sprintf("1 or more for an axis of length %d", shape[i]),
				Found:    "0",
				Kind:     ErrInvalid,
			}
		}
	}
	return chunk, nil
}

// checkSizes refuses an array or a chunk whose bytes no 64-bit offset can count.
func (a *Array) checkSizes() error {
	if a.Shape == nil {
		return nil // refused already
	}
	if _, err := a.grid(a.Shape, max(a.Type.Size, 1)); err != nil {
		return because("shape", err)
	}
	return nil
}
