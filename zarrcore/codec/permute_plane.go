package codec

import (
	"encoding/binary"
	"unsafe"
)

// A tile is several cache lines wide on either side. So each stretch of source and destination is
// long enough to be prefetched, and is touched once. That holds however badly the strides map onto
// the cache (power-of-two strides map worst). Tiles are turned in a buffer whose lines are padded,
// so that those do not collide in the cache either.
const (
	tileLine = 512 // bytes of a tile's line, at most maxTile elements
	maxTile  = 128
	tilePad  = 64 // bytes between the lines of the buffer
)

// unit is the memory that one element occupies; its meaning does not matter to a copy.
type unit interface {
	uint8 | uint16 | uint32 | uint64 | [2]uint64
}

// copyPlane copies a plane of fixed-size elements in tiles.
func copyPlane[T unit](dst, src []byte, col, row permuteAxis, elem int64) {
	if col.src != elem || col.n < 4 || row.n < 4 {
		gatherPlane[T](dst, src, col, row, elem)
		return
	}
	side := min(tileLine/elem, maxTile)
	mem := getBuffer(side * (side*elem + tilePad))
	defer mem.release()
	t := tile[T]{buf: elements[T](mem.b), step: side + tilePad/elem, dst: col.dst, src: row.src}
	for j := int64(0); j < row.n; j += side {
		t.w = min(side, row.n-j)
		for i := int64(0); i < col.n; i += side {
			t.h = min(side, col.n-i)
			t.copy(dst[i*col.dst+j*elem:], src[j*row.src+i*elem:])
		}
	}
}

// tile is one tile of a plane: h elements of each of w source lines become w elements of each of h
// destination lines.
type tile[T unit] struct {
	buf      []T
	step     int64 // elements from line to line of buf
	h, w     int64
	dst, src int64 // bytes from line to line
}

func (t *tile[T]) copy(dst, src []byte) {
	elem := int64(unsafe.Sizeof(*new(T)))
	j := int64(0)
	if buf, ok := any(t.buf).([]uint8); ok {
		j = turnBytes(buf, t.step, src, t.src, t.h, t.w)
	}
	for ; j < t.w; j++ {
		k := j
		for _, v := range elements[T](src[j*t.src : j*t.src+t.h*elem]) {
			t.buf[k] = v
			k += t.step
		}
	}
	for i := range t.h {
		copy(elements[T](dst[i*t.dst:i*t.dst+t.w*elem]), t.buf[i*t.step:])
	}
}

// turnBytes turns eight source lines at a time, eight bytes of each as one word, and returns how
// many lines it turned. The words are variables rather than an array, as the compiler keeps only
// those in registers.
func turnBytes(buf []byte, step int64, src []byte, srcStep, h, w int64) int64 {
	le := binary.LittleEndian
	if h%8 != 0 {
		return 0
	}
	for j := int64(0); j+8 <= w; j += 8 {
		for i := int64(0); i < h; i += 8 {
			s := src[j*srcStep+i:]
			a, b, c, d := le.Uint64(s), le.Uint64(s[srcStep:]), le.Uint64(s[2*srcStep:]),
				le.Uint64(s[3*srcStep:])
			s = s[4*srcStep:]
			e, f, g, h := le.Uint64(s), le.Uint64(s[srcStep:]), le.Uint64(s[2*srcStep:]),
				le.Uint64(s[3*srcStep:])
			a, e = swapHalves(a, e)
			b, f = swapHalves(b, f)
			c, g = swapHalves(c, g)
			d, h = swapHalves(d, h)
			a, c = swapPairs(a, c)
			b, d = swapPairs(b, d)
			e, g = swapPairs(e, g)
			f, h = swapPairs(f, h)
			a, b = swapSingles(a, b)
			c, d = swapSingles(c, d)
			e, f = swapSingles(e, f)
			g, h = swapSingles(g, h)
			t := buf[i*step+j:]
			le.PutUint64(t, a)
			le.PutUint64(t[step:], b)
			le.PutUint64(t[2*step:], c)
			le.PutUint64(t[3*step:], d)
			t = t[4*step:]
			le.PutUint64(t, e)
			le.PutUint64(t[step:], f)
			le.PutUint64(t[2*step:], g)
			le.PutUint64(t[3*step:], h)
		}
	}
	return w &^ 7
}

// The swaps exchange the high bytes of the first word's parts with the low bytes of the second's.
// The parts are of eight, four and two bytes.

func swapHalves(a, b uint64) (uint64, uint64) {
	t := (a>>32 ^ b) & 0x00000000FFFFFFFF
	return a ^ t<<32, b ^ t
}

func swapPairs(a, b uint64) (uint64, uint64) {
	t := (a>>16 ^ b) & 0x0000FFFF0000FFFF
	return a ^ t<<16, b ^ t
}

func swapSingles(a, b uint64) (uint64, uint64) {
	t := (a>>8 ^ b) & 0x00FF00FF00FF00FF
	return a ^ t<<8, b ^ t
}

// gatherPlane copies line by line, for planes too thin for tiles and for sources with no contiguous
// axis.
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

// elements views bytes as whole elements. The memory may be unaligned: every machine with FUSE can
// load such elements.
func elements[T unit](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))),
		len(b)/int(unsafe.Sizeof(*new(T))))
}
