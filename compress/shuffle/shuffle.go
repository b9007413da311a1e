// Package shuffle rearranges the bytes or the bits of an array and puts them back. Equal places of
// its elements then lie together, as blosc has them before it compresses.
//
// All four functions view the data as n = len/typeSize elements and treat what
// does not fit exactly as c-blosc 1.x does:
//
//   - The bytes behind the last whole element are copied unchanged.
//   - BitShuffle and BitUnshuffle work on groups of eight elements. Where n is
//     not a multiple of eight, the whole of the data is copied unchanged.
//   - Byte shuffling of elements of one byte is a copy; bit shuffling is not.
//
// dst and src must have the same length and must not overlap. If their lengths
// differ, only the shorter one's length is worked on: that is a bug of the
// caller, but one that never reads or writes outside the slices. A typeSize
// below one counts as one.
//
// On amd64 elements of 1, 2, 4, 8 and 16 bytes are done in AVX2 or GFNI assembly
// where the processor has them. The build tag purego leaves the assembly out.
package shuffle

// Shuffle gathers byte j of all elements into the j-th of typeSize planes of n
// bytes: dst[j*n+i] = src[i*typeSize+j].
func Shuffle(dst, src []byte, typeSize int) {
	dst, src = sameLength(dst, src)
	n := copyLeftover(dst, src, typeSize)
	if n == 0 {
		return
	}
	gather(dst, src, n, typeSize, typeSize, n)
}

// Unshuffle undoes Shuffle: dst[i*typeSize+j] = src[j*n+i].
func Unshuffle(dst, src []byte, typeSize int) {
	dst, src = sameLength(dst, src)
	n := copyLeftover(dst, src, typeSize)
	if n == 0 {
		return
	}
	interleave(dst, src, n, typeSize)
}

// BitShuffle gathers bit b of byte j of all elements into row 8*j+b of n/8 bytes. Bit 0 is the
// least significant one. Element k is bit k%8 of byte k/8 of its row.
func BitShuffle(dst, src []byte, typeSize int) {
	dst, src = sameLength(dst, src)
	if rows, ok := bitRows(dst, src, typeSize); ok {
		bitShuffle(dst, src, rows, max(typeSize, 1))
	}
}

// BitUnshuffle undoes BitShuffle.
func BitUnshuffle(dst, src []byte, typeSize int) {
	dst, src = sameLength(dst, src)
	if rows, ok := bitRows(dst, src, typeSize); ok {
		bitUnshuffle(dst, src, rows, max(typeSize, 1))
	}
}

func sameLength(dst, src []byte) ([]byte, []byte) {
	n := min(len(dst), len(src))
	return dst[:n], src[:n]
}

// copyLeftover copies the bytes that byte shuffling leaves in place. It returns the number of
// elements in front of them, or 0 if it has copied everything.
func copyLeftover(dst, src []byte, typeSize int) int {
	n := 0
	if typeSize > 1 {
		n = len(src) / typeSize
	}
	if n <= 1 { // one element's planes are its bytes
		n = 0
	}
	copy(dst[n*typeSize:], src[n*typeSize:])
	return n
}

// bitRows copies the bytes that bit shuffling leaves in place and returns the length of a row of
// bits. If it has copied everything, ok is false.
func bitRows(dst, src []byte, typeSize int) (rows int, ok bool) {
	typeSize = max(typeSize, 1)
	n := len(src) / typeSize
	if n == 0 || n%8 != 0 {
		copy(dst, src)
		return 0, false
	}
	copy(dst[n*typeSize:], src[n*typeSize:])
	return n / 8, true
}

// tileBytes bounds the planes that bit shuffling holds between its two steps,
// so that they stay in the first-level cache together with the bits.
const tileBytes = 8 << 10

// maxPlanes is how many planes of one tile are handled at a time. With it a plane of a tile is at
// least 512 elements: its rows of bits are then a cache line long. That matters because rows tend
// to be a power of two apart and evict one another.
const maxPlanes = 16

// bitUnshuffle turns bits into planes of bytes, and planes into elements.
func bitUnshuffle(dst, src []byte, rows, typeSize int) {
	if typeSize == 1 {
		bitsToPlane(dst[:8*rows], src, rows)
		return
	}
	var buf [tileBytes]byte
	tile := tileRows(typeSize)
	for g := 0; g < rows; g += tile {
		m := min(tile, rows-g) // bytes of each row in this tile
		for j := 0; j < typeSize; j += maxPlanes {
			planes := min(maxPlanes, typeSize-j)
			for p := range planes {
				bitsToPlane(buf[8*m*p:8*m*(p+1)], src[8*rows*(j+p)+g:], rows)
			}
			out := dst[8*g*typeSize : 8*(g+m)*typeSize]
			if planes == typeSize {
				interleave(out, buf[:], 8*m, typeSize)
			} else {
				scatter(out[j:], buf[:], 8*m, 0, planes, typeSize)
			}
		}
	}
}

// bitShuffle turns elements into planes of bytes, and planes into bits.
func bitShuffle(dst, src []byte, rows, typeSize int) {
	if typeSize == 1 {
		planeToBits(dst, src[:8*rows], rows)
		return
	}
	var buf [tileBytes]byte
	tile := tileRows(typeSize)
	for g := 0; g < rows; g += tile {
		m := min(tile, rows-g)
		in := src[8*g*typeSize : 8*(g+m)*typeSize]
		for j := 0; j < typeSize; j += maxPlanes {
			planes := min(maxPlanes, typeSize-j)
			gather(buf[:], in[j:], 8*m, planes, typeSize, 8*m)
			for p := range planes {
				planeToBits(dst[8*rows*(j+p)+g:], buf[8*m*p:8*m*(p+1)], rows)
			}
		}
	}
}

// tileRows is the number of bytes of each row of bits that one tile takes.
func tileRows(typeSize int) int {
	return min(tileBytes/8/min(typeSize, maxPlanes), 128)
}
