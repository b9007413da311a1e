package layout

import (
	"strconv"
	"strings"
)

// KeyKind names how the grid coordinates of an object are spelled in its key.
type KeyKind uint8

// The spellings of the Zarr v3 core specification; v1 and v2 stores use KeyV2.
const (
	KeyDefault KeyKind = iota // "c/1/2"; rank 0: "c"
	KeyV2                     // "1.2"; rank 0: "0"
)

// A KeyEncoding turns the grid coordinates of an object into its key below the
// array's path, and back.
type KeyEncoding struct {
	Kind      KeyKind
	Separator byte   // '/' or '.'
	Suffix    string // ends every key; without '/'. "" in all encodings of the core specification
}

// Key returns the key of the object at coords, which are in objects: in shards
// where the array is sharded.
func (e KeyEncoding) Key(coords []int64) string {
	return string(e.Append(make([]byte, 0, 2+8*len(coords)), coords))
}

// Append appends the key of the object at coords to dst.
func (e KeyEncoding) Append(dst []byte, coords []int64) []byte {
	return append(e.appendCoords(dst, coords), e.Suffix...)
}

func (e KeyEncoding) appendCoords(dst []byte, coords []int64) []byte {
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

// Parse returns the coordinates of the object with the given key in a grid of so many axes, and
// whether the key is an object's: keys that are spelled in another way ("c/01", "c/+1") are not.
// The coordinates may lie outside the grid.
func (e KeyEncoding) Parse(key string, rank int) ([]int64, bool) {
	rest, ok := strings.CutSuffix(key, e.Suffix)
	if !ok {
		return nil, false
	}
	if e.Kind == KeyDefault {
		if rest, ok = strings.CutPrefix(rest, "c"); !ok {
			return nil, false
		}
		rest = strings.TrimPrefix(rest, string(e.Separator))
	}
	coords := make([]int64, 0, rank)
	for part := range strings.SplitSeq(rest, string(e.Separator)) {
		c, ok := parseCoord(part)
		if !ok || len(coords) == rank {
			break
		}
		coords = append(coords, c)
	}
	return coords, len(coords) == rank && e.Key(coords) == key
}

// Folder returns the name of the one directory, relative to the array, that holds all objects of a
// grid of so many axes. It is "" if there is none.
func (e KeyEncoding) Folder(rank int) string {
	if e.Kind == KeyDefault && e.Separator == '/' && rank > 0 {
		return "c"
	}
	return ""
}

// Leads reports whether a directory, named relative to the array, may hold
// objects of a grid of so many axes: its name is the beginning of a key.
func (e KeyEncoding) Leads(dir string, rank int) bool {
	if e.Separator != '/' {
		return false
	}
	if e.Kind == KeyDefault {
		rest, ok := strings.CutPrefix(dir, "c")
		if !ok || rest == "" {
			return ok && rank > 0
		}
		if dir, ok = strings.CutPrefix(rest, "/"); !ok {
			return false
		}
	}
	for part := range strings.SplitSeq(dir, "/") {
		if _, ok := parseCoord(part); !ok {
			return false
		}
		rank--
	}
	return rank > 0 // the last coordinate is in the object's name
}

// parseCoord parses one coordinate as it is spelled in keys.
func parseCoord(s string) (int64, bool) {
	c, err := strconv.ParseUint(s, 10, 63)
	return int64(c), err == nil
}
