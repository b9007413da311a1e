package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// class is how the bits of a number are to be understood in arithmetic.
type class uint8

const (
	boolean class = iota
	signed
	unsigned
	floating
	complexed // two floating numbers of half the size
)

// scalar is a type of numbers that filters compute on.
type scalar struct {
	class class
	size  int // bytes: 1, 2, 4, 8; complexed 8, 16
	big   bool
}

// part is the type of the two numbers in a complexed one.
func (s scalar) part() scalar { return scalar{floating, s.size / 2, s.big} }

// isIntegral reports whether the numbers are whole: arithmetic is modulo 2^64.
func (s scalar) isIntegral() bool { return s.class <= unsigned }

// String is the type's name in NumPy's spelling.
func (s scalar) String() string {
	order := "<"
	switch {
	case s.size == 1:
		order = "|"
	case s.big:
		order = ">"
	}
	return fmt.Sprintf("%s%c%d", order, "biufc"[s.class], s.size)
}

// blockLen is how many numbers a filter holds widened at a time: few enough for the first-level
// cache. The functions below take at most one block, so that their other memory fits the stack.
const blockLen = 256

// loadInts widens whole numbers to 64 bits, signed ones with their sign. src holds exactly len(out)
// numbers.
func loadInts(out []uint64, src []byte, s scalar) {
	var tmp [8 * blockLen]byte
	src = s.little(&tmp, src)
	switch s.size {
	case 1:
		for i := range out {
			out[i] = uint64(src[i])
		}
	case 2:
		for i := range out {
			out[i] = uint64(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case 4:
		for i := range out {
			out[i] = uint64(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case 8:
		for i := range out {
			out[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
	}
	if s.class == signed {
		shift := 64 - 8*s.size
		for i, v := range out {
			out[i] = uint64(int64(v<<shift) >> shift)
		}
	}
}

// storeInts narrows numbers modulo the type's range; a boolean is true unless the number is zero.
func storeInts(dst []byte, in []uint64, s scalar) {
	switch {
	case s.class == boolean:
		for i, v := range in {
			dst[i] = oneIf(v != 0)
		}
	case s.size == 1:
		for i, v := range in {
			dst[i] = byte(v)
		}
	case s.size == 2:
		for i, v := range in {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case s.size == 4:
		for i, v := range in {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
		}
	case s.size == 8:
		for i, v := range in {
			binary.LittleEndian.PutUint64(dst[8*i:], v)
		}
	}
	s.stored(dst[:len(in)*s.size])
}

// loadFloats reads any real numbers as float64; whole ones are rounded where they do not fit.
func loadFloats(out []float64, src []byte, s scalar) {
	if s.isIntegral() {
		var whole [blockLen]uint64
		loadInts(whole[:len(out)], src, s)
		for i := range out {
			out[i] = intToFloat(whole[i], s, 8)
		}
		return
	}
	var tmp [8 * blockLen]byte
	src = s.little(&tmp, src)
	switch s.size {
	case 2:
		for i := range out {
			out[i] = float64(halfToFloat(binary.LittleEndian.Uint16(src[2*i:])))
		}
	case 4:
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case 8:
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		}
	}
}

// storeFloats rounds numbers to the type; to whole types it cuts the fraction off.
func storeFloats(dst []byte, in []float64, s scalar) {
	if s.isIntegral() {
		var whole [blockLen]uint64
		for i, v := range in {
			whole[i] = s.truncate(v)
		}
		storeInts(dst, whole[:len(in)], s)
		return
	}
	switch s.size {
	case 2:
		for i, v := range in {
			binary.LittleEndian.PutUint16(dst[2*i:], floatToHalf(v))
		}
	case 4:
		for i, v := range in {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		}
	case 8:
		for i, v := range in {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(v))
		}
	}
	s.stored(dst[:len(in)*s.size])
}

// little gives a block in little-endian order: as it is, or swapped in tmp.
func (s scalar) little(tmp *[8 * blockLen]byte, src []byte) []byte {
	if !s.big || s.size == 1 {
		return src
	}
	n := copy(tmp[:], src)
	swapBytes(tmp[:n], s.size)
	return tmp[:n]
}

// stored brings a block that was written in little-endian order into the type's own.
func (s scalar) stored(b []byte) {
	if s.big {
		swapBytes(b, s.size)
	}
}

// swapBytes reverses the bytes of each number in place.
func swapBytes(b []byte, size int) {
	switch size {
	case 2:
		for i, v := range elements[uint16](b) {
			elements[uint16](b)[i] = bits.ReverseBytes16(v)
		}
	case 4:
		for i, v := range elements[uint32](b) {
			elements[uint32](b)[i] = bits.ReverseBytes32(v)
		}
	case 8:
		for i, v := range elements[uint64](b) {
			elements[uint64](b)[i] = bits.ReverseBytes64(v)
		}
	}
}

// intToFloat converts a widened whole number, rounding once to a float of that many bytes.
func intToFloat(v uint64, from scalar, size int) float64 {
	switch {
	case size == 8 && from.class == signed:
		return float64(int64(v))
	case size == 8:
		return float64(v)
	case from.class == signed:
		return float64(float32(int64(v)))
	}
	return float64(float32(v))
}

// truncate cuts off the fraction. What lies outside the type's range is undefined in NumPy; this
// gives what NumPy gives on x86-64, on every machine: the lowest integer of the width that the
// conversion runs in (32 bits for small types).
func (s scalar) truncate(v float64) uint64 {
	if s.class == boolean {
		return uint64(oneIf(v != 0))
	}
	if s.size < 4 || s.size == 4 && s.class == signed {
		if v > -(1<<31)-1 && v < 1<<31 {
			return uint64(int64(v))
		}
		return 1 << 31 // as int32, its lowest; smaller types take its low bits
	}
	switch {
	case v >= -(1<<63) && v < 1<<63:
		return uint64(int64(v))
	case s.size == 8 && s.class == unsigned && v >= 1<<63 && v < 1<<64:
		return uint64(v-(1<<63)) | 1<<63
	case s.size == 8 && s.class == unsigned && v >= 1<<64:
		return 0
	}
	return 1 << 63
}

// rounder is the rounding that follows each operation of arithmetic in floats of that many bytes.
// Computing in float64 and rounding once more gives exactly the result of narrower arithmetic,
// because float64 has more than twice its digits.
func rounder(size int) func(float64) float64 {
	switch size {
	case 2:
		return func(v float64) float64 { return float64(halfToFloat(floatToHalf(v))) }
	case 4:
		return func(v float64) float64 { return float64(float32(v)) }
	}
	return func(v float64) float64 { return v }
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}
