package codec

import "slices"

// bitround zeroes the low bits of mantissas, so that the numbers compress better: keepbits of them are kept, rounded to
// the nearest, ties to even. There is nothing to undo: the numbers are stored as they are.
func init() {
	register("bitround", arrayToArray, bindBitRound)
	register("numcodecs.bitround", arrayToArray, bindBitRound)
}

// mantissas are the stored bits of mantissas by the size of a float.
var mantissas = map[int]int64{2: 10, 4: 23, 8: 52}

func bindBitRound(in state, cfg config) (step, state, error) {
	num, err := scalarOf(in.typ)
	if num.class == complexed {
		num = num.part()
	}
	if err != nil || num.class != floating || !in.array {
		return step{why: notEncoded("type " + in.typ.NumPy() + " has no mantissa that could be rounded")}, in, nil
	}
	keep, err := cfg.integer("keepbits", -1, 0, mantissas[num.size])
	if err == nil && keep < 0 {
		err = cfg.expected("keepbits", "an integer")
	}
	switch {
	case err != nil:
		return step{why: err}, in, nil
	case keep == mantissas[num.size]:
		return step{}, in, nil
	}
	return step{enc: bitRounder{num, int(keep)}}, in, nil
}

// bitRounder rounds to keep bits of mantissas.
type bitRounder struct {
	num  scalar
	keep int
}

func (r bitRounder) encode(dst, src []byte) ([]byte, error) {
	num := scalar{unsigned, r.num.size, r.num.big} // the numbers as their bits
	drop := int(mantissas[num.size]) - r.keep
	half := uint64(1)<<(drop-1) - 1
	signBit := uint64(1) << (8*num.size - 1)
	infinite := (signBit - 1) >> mantissas[num.size] << mantissas[num.size]
	out := slices.Grow(dst, len(src))
	var block [blockLen]uint64
	for len(src) > 0 {
		n := min(len(src)/num.size, blockLen)
		loadInts(block[:n], src[:n*num.size], num)
		for i, v := range block[:n] {
			if v&^signBit < infinite { // an infinity has nothing to round, and a NaN could become another
				block[i] = (v + half + v>>drop&1) >> drop << drop
			}
		}
		size := n * num.size
		out = out[:len(out)+size]
		storeInts(out[len(out)-size:], block[:n], num)
		src = src[size:]
	}
	return out, nil
}
