package codec

// differences writes the first number of src, then the difference of each one to the one before.
// Differences are computed in type from and cast to type to. Booleans differ by exclusive or. dst
// and src may not overlap.
func differences(dst, src []byte, to, from scalar) {
	lanes := 1
	if from.class == complexed {
		to, from, lanes = to.part(), from.part(), 2
	}
	var whole uint64
	var floats [2]float64 // the number before; 0 before the first one
	first := true
	for len(src) > 0 {
		n := min(len(src)/from.size, blockLen)
		if from.isIntegral() {
			whole = wholeDifferences(dst, src[:n*from.size], to, from, n, whole)
		} else {
			floats = floatDifferences(dst, src[:n*from.size], to, from, n, floats, lanes, first)
		}
		first = false
		dst, src = dst[n*to.size:], src[n*from.size:]
	}
}

func wholeDifferences(dst, src []byte, to, from scalar, n int, last uint64) uint64 {
	var block [blockLen]uint64
	loadInts(block[:n], src, from)
	shift := 64 - 8*from.size
	for i, v := range block[:n] {
		d := v - last
		switch from.class {
		case boolean:
			v = uint64(oneIf(v != 0))
			d = v ^ last
		case signed:
			d = uint64(int64(d<<shift) >> shift)
		default:
			d = d << shift >> shift
		}
		block[i], last = d, v
	}
	if to.isIntegral() {
		storeInts(dst, block[:n], to)
		return last
	}
	var floats [blockLen]float64
	for i, v := range block[:n] {
		floats[i] = intToFloat(v, from, 8)
	}
	storeFloats(dst, floats[:n], to)
	return last
}

func floatDifferences(
	dst, src []byte, to, from scalar, n int, last [2]float64, lanes int, first bool,
) [2]float64 {
	var block [blockLen]float64
	loadFloats(block[:n], src, from)
	round := rounder(from.size)
	for i, v := range block[:n] {
		lane := i & (lanes - 1)
		if !first || i >= lanes { // the first number stays as it is, even if it is -0
			block[i] = round(v - last[lane])
		}
		last[lane] = v
	}
	storeFloats(dst, block[:n], to)
	return last
}
