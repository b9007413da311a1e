package codec

import "unsafe"

// A tile is as wide as one or two cache lines on either side, so that each line of source and destination is touched
// once, however badly the strides map onto the cache (power-of-two strides map worst).
const (
	tileBuffer = 4096 // bytes of the largest tile
	tileLine   = 128  // bytes of a tile's line; half of it for elements of 1 and 2 bytes
)

// unit is the memory that one element occupies; what it means is of no matter to a copy.
type unit interface {
	uint8 | uint16 | uint32 | uint64 | [2]uint64
}

// copyPlane copies a plane of fixed-size elements in tiles.
func copyPlane[T unit](dst, src []byte, col, row permuteAxis, elem int64) {
	if col.src != elem || col.n < 4 || row.n < 4 {
		gatherPlane[T](dst, src, col, row, elem)
		return
	}
	var buf [tileBuffer]byte
	tile := tileWidth(elem)
	for j := int64(0); j < row.n; j += tile {
		w := min(tile, row.n-j)
		for i := int64(0); i < col.n; i += tile {
			h := min(tile, col.n-i)
			copyTile[T](dst[i*col.dst+j*elem:], src[j*row.src+i*elem:], buf[:tile*tile*elem], tile, h, w, col.dst, row.src)
		}
	}
}

// tileWidth is how many elements a tile's line holds.
func tileWidth(elem int64) int64 {
	if elem <= 2 {
		return tileLine / 2 / elem
	}
	return tileLine / elem
}

// copyTile transposes one tile by way of a small buffer in the first-level cache: h elements of each of w source lines
// become w elements of each of h destination lines.
func copyTile[T unit](dst, src, buf []byte, tile, h, w, dstStep, srcStep int64) {
	elem := int64(unsafe.Sizeof(*new(T)))
	t := elements[T](buf)
	for j := range w {
		line := elements[T](src[j*srcStep : j*srcStep+h*elem])
		k := j
		for _, v := range line {
			t[k] = v
			k += tile
		}
	}
	for i := range h {
		copy(dst[i*dstStep:i*dstStep+w*elem], buf[i*tile*elem:i*tile*elem+w*elem])
	}
}

// gatherPlane copies line by line, for planes too thin for tiles and for sources with no contiguous axis.
func gatherPlane[T unit](dst, src []byte, col, row permuteAxis, elem int64) {
	step := row.src / elem
	for i := range col.n {
		d := elements[T](dst[i*col.dst : i*col.dst+row.n*elem])
		s := elements[T](src[i*col.src : i*col.src+(row.n-1)*row.src+elem])
		k := int64(0)
		for j := range d {
			d[j] = s[k]
			k += step
		}
	}
}

// elements views bytes as whole elements. The memory may be unaligned: every machine that has FUSE loads that.
func elements[T unit](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}
