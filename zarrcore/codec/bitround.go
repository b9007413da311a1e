package codec

import (
	"math/bits"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// bitround zeroes the low bits of numbers, so that they compress better. Of a float, keepbits bits
// of its mantissa are kept. Of a whole number, as many bits are kept from its highest set bit on;
// in a negative number that is the sign. It rounds to the nearest, ties to even. There is nothing
// to undo: the numbers are stored as they are. (zarr-extensions, codecs/bitround; numcodecs has it
// for floats, zarrs for all.)
func init() {
	register("bitround", bindBitRound)
	register("numcodecs.bitround", bindBitRound)
}

// mantissas are the stored bits of mantissas by the size of a float.
var mantissas = map[int]int64{2: 10, 4: 23, 8: 52}

func bindBitRound(in state, cfg config) (step, state, error) {
	num, mantissa, ok := roundable(in.typ)
	if !ok || !in.array {
		return step{why: notEncoded("type " + in.typ.NumPy() +
			" has no bits that could be rounded")}, in, nil
	}
	least, most := int64(0), mantissa
	if mantissa == 0 {
		least, most = 1, 64
	}
	keep, err := cfg.integer("keepbits", least, most)
	switch {
	case err != nil:
		return step{why: err}, in, nil
	case keep == most:
		return step{}, in, nil
	case mantissa == 0:
		return step{enc: wholeRounder{num, int(keep)}}, in, nil
	}
	return step{enc: bitRounder{num, mantissa, int(keep)}}, in, nil
}

// roundable returns the numbers that elements of a type are made of, and the stored bits of their
// mantissas; 0 for whole ones.
func roundable(t dtype.Type) (num scalar, mantissa int64, ok bool) {
	half := scalar{floating, 2, t.Order == dtype.Big}
	switch {
	case t.Name == "bfloat16", t.Name == "complex_bfloat16":
		return half, 7, true
	case t.Name == "complex_float16":
		return half, mantissas[2], true
	case t.Kind == dtype.Datetime, t.Kind == dtype.Timedelta:
		return scalar{signed, 8, t.Order == dtype.Big}, 0, true
	}
	num, err := scalarOf(t)
	if num.class == complexed {
		num = num.part()
	}
	if num.class == floating {
		return num, mantissas[num.size], err == nil
	}
	return num, 0, err == nil && num.class != boolean
}

// bitRounder rounds to keep bits of mantissas.
type bitRounder struct {
	num      scalar
	mantissa int64
	keep     int
}

func (r bitRounder) encode(dst, src []byte) ([]byte, error) {
	drop := int(r.mantissa) - r.keep
	half := uint64(1)<<(drop-1) - 1
	signBit := uint64(1) << (8*r.num.size - 1)
	infinite := (signBit - 1) >> r.mantissa << r.mantissa
	return eachBits(dst, src, r.num, func(block []uint64) {
		for i, v := range block {
			// an infinity has nothing to round, and a NaN could become another
			if v&^signBit < infinite {
				block[i] = (v + half + v>>drop&1) >> drop << drop
			}
		}
	}), nil
}

// wholeRounder rounds whole numbers to keep bits. A number is rounded down where rounding up would
// change its sign or leave the range of the type.
type wholeRounder struct {
	num  scalar
	keep int
}

func (r wholeRounder) encode(dst, src []byte) ([]byte, error) {
	all := ^uint64(0) >> (64 - 8*r.num.size)
	positive := all
	if r.num.class == signed {
		positive >>= 1
	}
	return eachBits(dst, src, r.num, func(block []uint64) {
		for i, v := range block {
			drop, most := bits.Len64(v)-r.keep, all
			if drop <= 0 {
				continue
			}
			if v <= positive {
				most = positive
			}
			up := v + 1<<(drop-1) - 1 + v>>drop&1
			if up < v || up > most {
				up = v
			}
			block[i] = up >> drop << drop
		}
	}), nil
}

// eachBits appends to dst what f makes of the bits of numbers, a block at a time.
func eachBits(dst, src []byte, num scalar, f func(block []uint64)) []byte {
	num.class = unsigned
	out := slices.Grow(dst, len(src))
	var block [blockLen]uint64
	for len(src) > 0 {
		n := min(len(src)/num.size, blockLen)
		loadInts(block[:n], src[:n*num.size], num)
		f(block[:n])
		size := n * num.size
		out = out[:len(out)+size]
		storeInts(out[len(out)-size:], block[:n], num)
		src = src[size:]
	}
	return out
}
