package layout

import "strconv"

// KeyKind names a chunk key encoding.
type KeyKind uint8

// The chunk key encodings of the Zarr v3 core specification; v1 and v2 stores
// use KeyV2.
const (
	KeyDefault KeyKind = iota // "c/1/2"; rank 0: "c"
	KeyV2                     // "1.2"; rank 0: "0"
)

// A KeyEncoding turns the grid coordinates of an object into its key below the
// array's path.
type KeyEncoding struct {
	Kind      KeyKind
	Separator byte // '/' or '.'
}

// Key returns the key of the object at coords, which are in objects: in shards
// where the array is sharded.
func (e KeyEncoding) Key(coords []int64) string {
	return string(e.Append(make([]byte, 0, 2+8*len(coords)), coords))
}

// Append appends the key of the object at coords to dst.
func (e KeyEncoding) Append(dst []byte, coords []int64) []byte {
	if e.Kind == KeyDefault {
		dst = append(dst, 'c')
	} else if len(coords) == 0 {
		return append(dst, '0')
	}
	for i, c := range coords {
		if i > 0 || e.Kind == KeyDefault {
			dst = append(dst, e.Separator)
		}
		dst = strconv.AppendInt(dst, c, 10)
	}
	return dst
}
