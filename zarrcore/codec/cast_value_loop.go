package codec

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
)

// decode casts the numbers in src, block by block.
func (v *valueCast) decode(dst, src []byte) (int, error) {
	total, err := v.count(dst, src)
	if err != nil {
		return 0, err
	}
	var b numberBlock
	for len(src) > 0 {
		n := min(len(src)/v.from.size, blockLen)
		if err := b.cast(v, dst[:n*v.to.size], src[:n*v.from.size], n); err != nil {
			return 0, err
		}
		dst, src = dst[n*v.to.size:], src[n*v.from.size:]
	}
	return total * v.to.size, nil
}

// numberBlock is one block of numbers being cast.
type numberBlock struct {
	whole  [blockLen]uint64
	floats [blockLen]float64
	named  [blockLen]int32 // the numbers that the map names: where in it, otherwise -1
}

func (b *numberBlock) cast(v *valueCast, dst, src []byte, n int) error {
	if v.from.isIntegral() {
		loadInts(b.whole[:n], src, v.from)
	} else {
		loadFloats(b.floats[:n], src, v.from)
	}
	named := len(v.keys) > 0 && b.find(v, n)
	if err := b.convert(v, dst, src, n); err != nil {
		return err
	}
	if named {
		for i, at := range b.named[:n] {
			if at >= 0 {
				copy(dst[i*v.to.size:], v.values[at])
			}
		}
	}
	return nil
}

// find notes which numbers the map names, and puts zeros, which every type has, in their place.
func (b *numberBlock) find(v *valueCast, n int) bool {
	any := false
	for i := range n {
		key := b.whole[i]
		if !v.from.isIntegral() {
			key = keyOf(b.floats[i])
		}
		at, found := slices.BinarySearch(v.keys, key)
		b.named[i] = -1
		if found {
			b.named[i], b.whole[i], b.floats[i] = int32(at), 0, 0
			any = true
		}
	}
	return any
}

// convert casts a block by rounding and range.
func (b *numberBlock) convert(v *valueCast, dst, src []byte, n int) error {
	whole, floats := b.whole[:n], b.floats[:n]
	var err error
	switch {
	case v.to == v.from:
		copy(dst, src) // every bit, also those of a NaN
		return nil
	case v.to.isIntegral() && v.from.isIntegral():
		if !v.plain {
			err = v.confine(whole)
		}
		storeInts(dst, whole, v.to)
		return err
	case v.to.isIntegral():
		err = v.toWhole(whole, floats)
		storeInts(dst, whole, v.to)
		return err
	case v.from.isIntegral():
		v.toFloat(floats, whole)
	}
	if !v.plain {
		err = v.narrow(floats)
	}
	storeFloats(dst, floats, v.to)
	return err
}

// misfit is the error for a number that cannot be cast.
func (v *valueCast) misfit(number any) error {
	return fmt.Errorf("%w: expected a number that casts to %s, found %v of type %s",
		compress.ErrCorrupt, v.to, number, v.from)
}

// confine brings whole numbers into the range of the other type, whose sign they may lack.
func (v *valueCast) confine(whole []uint64) error {
	lo, hi := v.to.bounds()
	for i, n := range whole {
		negative := v.from.class == signed && int64(n) < 0
		switch {
		case negative && int64(n) >= lo, !negative && n <= hi:
		case v.outside == refuseOutside:
			return v.misfit(v.from.exact(n))
		case negative:
			whole[i] = uint64(lo)
		default:
			whole[i] = hi
		}
	}
	return nil
}

// bounds are the lowest and the highest number of a whole type.
func (s scalar) bounds() (lo int64, hi uint64) {
	if s.class == unsigned {
		return 0, math.MaxUint64 >> (64 - 8*s.size)
	}
	return math.MinInt64 >> (64 - 8*s.size), math.MaxInt64 >> (64 - 8*s.size)
}

// toWhole rounds floats to whole numbers of the type. NaN and the infinities have no such number.
func (v *valueCast) toWhole(whole []uint64, floats []float64) error {
	lo, hi := v.to.bounds()
	low, above := float64(lo), math.Ldexp(1, bits.Len64(hi))
	for i, f := range floats {
		f = v.rounding.whole(f)
		switch {
		case f >= low && f < above:
			whole[i] = wholeOf(f)
		case f != f || math.IsInf(f, 0) || v.outside == refuseOutside:
			return v.misfit(floats[i])
		case v.outside == wrapOutside:
			whole[i] = wholeOf(f)
		case f < low:
			whole[i] = uint64(lo)
		default:
			whole[i] = hi
		}
	}
	return nil
}

// wholeOf is a finite float without a fraction as an integer modulo 2^64.
func wholeOf(f float64) uint64 {
	if f >= -(1<<63) && f < 1<<63 {
		return uint64(int64(f))
	}
	rest := math.Mod(math.Abs(f), 1<<64) // exact
	n := uint64(rest/2) << 1
	if rest < 1<<63 {
		n = uint64(rest)
	}
	if f < 0 {
		return -n
	}
	return n
}

// toFloat widens whole numbers. Those that float64 does not hold are rounded to it. Where narrow
// follows, they are rounded to the odd one of the two neighbours. Then narrow rounds as it would
// round the number itself.
func (v *valueCast) toFloat(floats []float64, whole []uint64) {
	mode := v.rounding
	if v.to.size < 8 {
		mode = toOdd
	}
	for i, n := range whole {
		negative := v.from.class == signed && int64(n) < 0
		if negative {
			n = -n
		}
		floats[i] = mode.float(n, negative)
	}
}

// narrow rounds floats to the precision of the type. Beyond its range clamping gives an infinity.
func (v *valueCast) narrow(floats []float64) error {
	format := floatFormats[v.to.size]
	for i, f := range floats {
		r := f
		switch {
		case v.to.size == 8 || f != f || math.IsInf(f, 0):
			continue
		case v.rounding != nearestEven:
			r = v.rounding.to(f, format)
		case v.to.size == 4:
			r = float64(float32(f))
		default:
			r = float64(halfToFloat(floatToHalf(f)))
		}
		if math.Abs(r) > format.highest {
			if v.outside != clampOutside {
				return v.misfit(f)
			}
			r = math.Copysign(math.Inf(1), r)
		}
		floats[i] = r
	}
	return nil
}
