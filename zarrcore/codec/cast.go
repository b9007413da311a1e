package codec

// cast converts numbers from one type to another as NumPy's astype does. dst and src hold the same
// count of numbers and may be the same memory where both types are of one size.
func cast(dst, src []byte, to, from scalar) {
	if to.class == complexed {
		to, from = to.part(), from.part()
	}
	if to.class == from.class && to.size == from.size {
		// only the order differs: every bit is kept, also those of a NaN
		to.class, from.class = unsigned, unsigned
	}
	for len(src) > 0 {
		n := min(len(src)/from.size, blockLen)
		castBlock(dst, src[:n*from.size], to, from, n)
		dst, src = dst[n*to.size:], src[n*from.size:]
	}
}

func castBlock(dst, src []byte, to, from scalar, n int) {
	var floats [blockLen]float64
	var whole [blockLen]uint64
	switch {
	case !from.isIntegral():
		loadFloats(floats[:n], src, from)
		storeFloats(dst, floats[:n], to)
	case to.isIntegral():
		loadInts(whole[:n], src, from)
		storeInts(dst, whole[:n], to)
	default:
		loadInts(whole[:n], src, from)
		for i, v := range whole[:n] {
			floats[i] = intToFloat(v, from, to.size)
		}
		storeFloats(dst, floats[:n], to)
	}
}
