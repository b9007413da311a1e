package codec

import (
	"encoding/binary"
	"math"
)

// sumKind says in which numbers a running sum is taken: the type that NumPy promotes a delta's two
// types to.
type sumKind struct {
	parity bool // booleans: exclusive or
	lanes  int  // 2 for complex numbers, whose parts are summed apart
	float  int  // bytes of the floats summed; 0: integers modulo 2^64
}

// promoteSum returns in which numbers differences of type from become sums of type to. ok is false
// where only one of the types is complex.
func promoteSum(to, from scalar) (k sumKind, ok bool) {
	switch {
	case to.class == boolean:
		return sumKind{parity: true, lanes: 1}, from.isIntegral()
	case to.class == complexed || from.class == complexed:
		return sumKind{lanes: 2, float: max(to.size, from.size) / 2}, to.class == from.class
	case to.isIntegral() && from.isIntegral():
		if mixes64(to, from) || mixes64(from, to) {
			return sumKind{lanes: 1, float: 8}, true
		}
		return sumKind{lanes: 1}, true
	}
	return sumKind{lanes: 1, float: max(to.floatSize(), from.floatSize())}, true
}

// mixes64 reports whether no integer type of NumPy's holds both: unsigned numbers of 64 bits and
// signed ones.
func mixes64(a, b scalar) bool {
	return a.class == unsigned && a.size == 8 && b.class == signed
}

// floatSize is the size of the smallest float that holds the type, according to NumPy.
func (s scalar) floatSize() int {
	switch {
	case s.class == floating:
		return s.size
	case s.class == boolean || s.size == 1:
		return 2
	case s.size == 2:
		return 4
	}
	return 8
}

// runningSum undoes delta: dst[i] is the sum of src[0..i]. dst and src may be the same memory where
// both types are of one size.
func runningSum(dst, src []byte, to, from scalar, k sumKind) {
	if k.lanes == 2 {
		to, from = to.part(), from.part()
	}
	var ints uint64
	negZero := math.Copysign(0, -1) // the sum of nothing: adding it changes no number, not even -0
	floats := [2]float64{negZero, negZero}
	round := rounder(k.float)
	for len(src) > 0 {
		n := min(len(src)/from.size, blockLen)
		if k.float == 0 && to == from && !k.parity {
			ints = sumSame(dst, src[:n*from.size], to, ints)
		} else if k.float == 0 {
			ints = sumInts(dst, src[:n*from.size], to, from, n, ints, k.parity)
		} else {
			floats = sumFloats(dst, src[:n*from.size], to, from, n, floats, k.lanes, round)
		}
		dst, src = dst[n*to.size:], src[n*from.size:]
	}
}

func sumInts(dst, src []byte, to, from scalar, n int, sum uint64, parity bool) uint64 {
	var block [blockLen]uint64
	loadInts(block[:n], src, from)
	for i, v := range block[:n] {
		if parity {
			sum ^= uint64(oneIf(v != 0))
		} else {
			sum += v
		}
		block[i] = sum
	}
	storeInts(dst, block[:n], to)
	return sum
}

// sumSame is sumInts where both types are the same, the usual case: nothing needs widening.
func sumSame(dst, src []byte, s scalar, sum uint64) uint64 {
	var tmp [8 * blockLen]byte
	src = s.little(&tmp, src)
	dst = dst[:len(src)]
	switch s.size {
	case 1:
		for i, v := range src {
			sum += uint64(v)
			dst[i] = byte(sum)
		}
	case 2:
		for i := 0; i+2 <= len(src); i += 2 {
			sum += uint64(binary.LittleEndian.Uint16(src[i:]))
			binary.LittleEndian.PutUint16(dst[i:], uint16(sum))
		}
	case 4:
		for i := 0; i+4 <= len(src); i += 4 {
			sum += uint64(binary.LittleEndian.Uint32(src[i:]))
			binary.LittleEndian.PutUint32(dst[i:], uint32(sum))
		}
	case 8:
		for i := 0; i+8 <= len(src); i += 8 {
			sum += binary.LittleEndian.Uint64(src[i:])
			binary.LittleEndian.PutUint64(dst[i:], sum)
		}
	}
	s.stored(dst)
	return sum
}

func sumFloats(
	dst, src []byte, to, from scalar, n int, sum [2]float64, lanes int, round func(float64) float64,
) [2]float64 {
	var block [blockLen]float64
	loadFloats(block[:n], src, from)
	for i, v := range block[:n] {
		lane := i & (lanes - 1)
		sum[lane] = round(sum[lane] + v)
		block[i] = sum[lane]
	}
	storeFloats(dst, block[:n], to)
	return sum
}
