//go:build amd64 && !purego

package shuffle

// The shuffle functions make planes, which are pitch bytes apart, of n
// elements. n must be a positive multiple of the number of elements that the
// function does at once: 32, or 16 where an element has 16 bytes.

//go:noescape
func shuffle2AVX2(dst, src *byte, pitch, n int)

//go:noescape
func shuffle4AVX2(dst, src *byte, pitch, n int)

//go:noescape
func shuffle8AVX2(dst, src *byte, pitch, n int)

//go:noescape
func shuffle16AVX2(dst, src *byte, pitch, n int)

// The planeToBits functions make eight rows of n bytes, which are pitch bytes
// apart, of a plane of 8*n bytes. n must be a positive multiple of 4 for AVX2,
// of 32 for GFNI.

//go:noescape
func planeToBitsAVX2(rows, plane *byte, pitch, n int)

//go:noescape
func planeToBitsGFNI(rows, plane *byte, pitch, n int)

// gather collects byte j of each of n elements, which are stride apart, into
// the j-th plane; planes are pitch bytes apart.
func gather(dst, src []byte, n, planes, stride, pitch int) {
	done := 0
	if useAVX2 && n >= 32 && planes == stride {
		done = gatherAVX2(dst[:(planes-1)*pitch+n], src[:n*stride], n, stride, pitch)
	}
	if done < n {
		gatherPortable(dst[done:], src[done*stride:], n-done, planes, stride, pitch)
	}
}

// gatherAVX2 does as many elements as assembly can and returns their number.
func gatherAVX2(dst, src []byte, n, stride, pitch int) int {
	m := n &^ 31
	switch stride {
	case 2:
		shuffle2AVX2(&dst[0], &src[0], pitch, m)
	case 4:
		shuffle4AVX2(&dst[0], &src[0], pitch, m)
	case 8:
		shuffle8AVX2(&dst[0], &src[0], pitch, m)
	case 16:
		shuffle16AVX2(&dst[0], &src[0], pitch, m)
	default:
		return 0
	}
	return m
}

// planeToBits makes eight rows of bits of a plane of bytes.
func planeToBits(rows, plane []byte, pitch int) {
	n := len(plane) / 8
	done := 0
	switch {
	case !useAVX2:
	case useGFNI:
		done = n &^ 31
	default:
		done = n &^ 3
	}
	if done > 0 {
		_, _ = plane[8*done-1], rows[7*pitch+done-1]
		if useGFNI {
			planeToBitsGFNI(&rows[0], &plane[0], pitch, done)
		} else {
			planeToBitsAVX2(&rows[0], &plane[0], pitch, done)
		}
		rows, plane = rows[done:], plane[8*done:]
	}
	planeToBitsPortable(rows, plane, pitch)
}
