//go:build amd64 && !purego

package shuffle

import "github.com/klauspost/cpuid/v2"

// Which assembly the processor can run. Tests switch them off.
var (
	useAVX2 = cpuid.CPU.Supports(cpuid.AVX2)
	useGFNI = cpuid.CPU.Supports(cpuid.AVX2, cpuid.GFNI)
)

// The unshuffle functions make n elements of planes that are pitch bytes
// apart. n must be a positive multiple of the number of elements that the
// function does at once: 32, or 16 where an element has 16 bytes.

//go:noescape
func unshuffle2AVX2(dst, src *byte, pitch, n int)

//go:noescape
func unshuffle4AVX2(dst, src *byte, pitch, n int)

//go:noescape
func unshuffle8AVX2(dst, src *byte, pitch, n int)

//go:noescape
func unshuffle16AVX2(dst, src *byte, pitch, n int)

// The bitsToPlane functions make a plane of 8*n bytes of eight rows of n bytes
// that are pitch bytes apart. n must be a positive multiple of 32.

//go:noescape
func bitsToPlaneAVX2(plane, rows *byte, pitch, n int)

//go:noescape
func bitsToPlaneGFNI(plane, rows *byte, pitch, n int)

// interleave makes n elements of typeSize bytes of as many planes.
func interleave(dst, src []byte, n, typeSize int) {
	done := 0
	if useAVX2 && n >= 32 {
		done = interleaveAVX2(dst[:n*typeSize], src[:n*typeSize], n, typeSize)
	}
	switch {
	case done == 0:
		interleavePortable(dst, src, n, typeSize)
	case done < n:
		scatter(dst, src, n, done, typeSize, typeSize)
	}
}

// interleaveAVX2 does as many elements as assembly can and returns their number.
func interleaveAVX2(dst, src []byte, n, typeSize int) int {
	m := n &^ 31
	switch typeSize {
	case 2:
		unshuffle2AVX2(&dst[0], &src[0], n, m)
	case 4:
		unshuffle4AVX2(&dst[0], &src[0], n, m)
	case 8:
		unshuffle8AVX2(&dst[0], &src[0], n, m)
	case 16:
		unshuffle16AVX2(&dst[0], &src[0], n, m)
	default:
		return 0
	}
	return m
}

// bitsToPlane makes a plane of bytes of eight rows of bits.
func bitsToPlane(plane, rows []byte, pitch int) {
	n := len(plane) / 8 &^ 31
	if n > 0 && useAVX2 {
		_, _ = plane[8*n-1], rows[7*pitch+n-1]
		if useGFNI {
			bitsToPlaneGFNI(&plane[0], &rows[0], pitch, n)
		} else {
			bitsToPlaneAVX2(&plane[0], &rows[0], pitch, n)
		}
		plane, rows = plane[8*n:], rows[n:]
	}
	bitsToPlanePortable(plane, rows, pitch)
}
