//go:build !amd64 || purego

package shuffle

func interleave(dst, src []byte, n, typeSize int) { interleavePortable(dst, src, n, typeSize) }

func bitsToPlane(plane, rows []byte, pitch int) { bitsToPlanePortable(plane, rows, pitch) }
