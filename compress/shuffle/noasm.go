//go:build !amd64 || purego

package shuffle

func interleave(dst, src []byte, n, typeSize int) { interleavePortable(dst, src, n, typeSize) }

func bitsToPlane(plane, rows []byte, pitch int) { bitsToPlanePortable(plane, rows, pitch) }

func gather(dst, src []byte, n, planes, stride, pitch int) {
	gatherPortable(dst, src, n, planes, stride, pitch)
}

func planeToBits(rows, plane []byte, pitch int) { planeToBitsPortable(rows, plane, pitch) }
