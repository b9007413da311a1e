package shuffle

import "encoding/binary"

// The portable twin of the assembly. Its unit is the square of eight bytes by eight, held in eight
// words. It is transposed by swapping halves, quarters and eighths of pairs of words.

var le = binary.LittleEndian

// interleavePortable makes n elements of typeSize bytes of as many planes. For
// two and four bytes it writes whole words, which scatter cannot.
func interleavePortable(dst, src []byte, n, typeSize int) {
	from := 0
	switch typeSize {
	case 2:
		from = interleave2(dst, src, n)
	case 4:
		from = interleave4(dst, src, n)
	}
	scatter(dst, src, n, from, typeSize, typeSize)
}

func interleave2(dst, src []byte, n int) (done int) {
	p0, p1 := src[:n], src[n:][:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		a, b := transpose2(le.Uint64(p0[i:]), le.Uint64(p1[i:]))
		a, b = swap16(a, b)
		a, b = swap32(a, b)
		o := dst[2*i:][:16]
		le.PutUint64(o, a)
		le.PutUint64(o[8:], b)
	}
	return i
}

func interleave4(dst, src []byte, n int) (done int) {
	p0, p1, p2, p3 := src[:n], src[n:][:n], src[2*n:][:n], src[3*n:][:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		a, b, c, d := transpose4(le.Uint64(p0[i:]), le.Uint64(p1[i:]), le.Uint64(p2[i:]),
			le.Uint64(p3[i:]))
		a, b = swap32(a, b)
		c, d = swap32(c, d)
		o := dst[4*i:][:32]
		le.PutUint64(o, a)
		le.PutUint64(o[8:], c)
		le.PutUint64(o[16:], b)
		le.PutUint64(o[24:], d)
	}
	return i
}

// scatter writes elements from..n of the given number of planes, each of n
// bytes, into dst: byte j of element i goes to dst[i*stride+j].
func scatter(dst, src []byte, n, from, planes, stride int) {
	j := 0
	for ; j+8 <= planes; j += 8 {
		scatter8(dst[j:], src[j*n:], n, from, stride)
	}
	if planes&4 != 0 {
		scatter4(dst[j:], src[j*n:], n, from, stride)
		j += 4
	}
	if planes&2 != 0 {
		scatter2(dst[j:], src[j*n:], n, from, stride)
		j += 2
	}
	if planes&1 != 0 {
		scatter1(dst[j:], src[j*n:n+j*n], from, stride)
	}
}

func scatter8(dst, src []byte, n, from, stride int) {
	p0, p1, p2, p3 := src[:n], src[n:][:n], src[2*n:][:n], src[3*n:][:n]
	p4, p5, p6, p7 := src[4*n:][:n], src[5*n:][:n], src[6*n:][:n], src[7*n:][:n]
	i := from
	for ; i+8 <= n; i += 8 {
		a, b, c, d, e, f, g, h := transpose8(
			le.Uint64(p0[i:]), le.Uint64(p1[i:]), le.Uint64(p2[i:]), le.Uint64(p3[i:]),
			le.Uint64(p4[i:]), le.Uint64(p5[i:]), le.Uint64(p6[i:]), le.Uint64(p7[i:]))
		o := dst[i*stride:][:7*stride+8]
		le.PutUint64(o, a)
		le.PutUint64(o[stride:], b)
		le.PutUint64(o[2*stride:], c)
		le.PutUint64(o[3*stride:], d)
		le.PutUint64(o[4*stride:], e)
		le.PutUint64(o[5*stride:], f)
		le.PutUint64(o[6*stride:], g)
		le.PutUint64(o[7*stride:], h)
	}
	for ; i < n; i++ {
		o := dst[i*stride:][:8]
		o[0], o[1], o[2], o[3] = p0[i], p1[i], p2[i], p3[i]
		o[4], o[5], o[6], o[7] = p4[i], p5[i], p6[i], p7[i]
	}
}

func scatter4(dst, src []byte, n, from, stride int) {
	p0, p1, p2, p3 := src[:n], src[n:][:n], src[2*n:][:n], src[3*n:][:n]
	i := from
	for ; i+8 <= n; i += 8 {
		a, b, c, d := transpose4(le.Uint64(p0[i:]), le.Uint64(p1[i:]), le.Uint64(p2[i:]),
			le.Uint64(p3[i:]))
		o := dst[i*stride:][:7*stride+4]
		le.PutUint32(o, uint32(a))
		le.PutUint32(o[stride:], uint32(b))
		le.PutUint32(o[2*stride:], uint32(c))
		le.PutUint32(o[3*stride:], uint32(d))
		le.PutUint32(o[4*stride:], uint32(a>>32))
		le.PutUint32(o[5*stride:], uint32(b>>32))
		le.PutUint32(o[6*stride:], uint32(c>>32))
		le.PutUint32(o[7*stride:], uint32(d>>32))
	}
	for ; i < n; i++ {
		o := dst[i*stride:][:4]
		o[0], o[1], o[2], o[3] = p0[i], p1[i], p2[i], p3[i]
	}
}

func scatter2(dst, src []byte, n, from, stride int) {
	p0, p1 := src[:n], src[n:][:n]
	i := from
	for ; i+8 <= n; i += 8 {
		a, b := transpose2(le.Uint64(p0[i:]), le.Uint64(p1[i:]))
		o := dst[i*stride:][:7*stride+2]
		le.PutUint16(o, uint16(a))
		le.PutUint16(o[stride:], uint16(b))
		le.PutUint16(o[2*stride:], uint16(a>>16))
		le.PutUint16(o[3*stride:], uint16(b>>16))
		le.PutUint16(o[4*stride:], uint16(a>>32))
		le.PutUint16(o[5*stride:], uint16(b>>32))
		le.PutUint16(o[6*stride:], uint16(a>>48))
		le.PutUint16(o[7*stride:], uint16(b>>48))
	}
	for ; i < n; i++ {
		o := dst[i*stride:][:2]
		o[0], o[1] = p0[i], p1[i]
	}
}

func scatter1(dst, plane []byte, from, stride int) {
	for i := from; i < len(plane); i++ {
		dst[i*stride] = plane[i]
	}
}

// gatherPortable is the inverse of scatter: it collects byte j of each of n elements,
// which are stride apart, into the j-th plane; planes are pitch bytes apart.
func gatherPortable(dst, src []byte, n, planes, stride, pitch int) {
	j := 0
	for ; j+8 <= planes; j += 8 {
		gather8(dst[j*pitch:], src[j:], n, stride, pitch)
	}
	if planes&4 != 0 {
		gather4(dst[j*pitch:], src[j:], n, stride, pitch)
		j += 4
	}
	if planes&2 != 0 {
		gather2(dst[j*pitch:], src[j:], n, stride, pitch)
		j += 2
	}
	if planes&1 != 0 {
		gather1(dst[j*pitch:][:n], src[j:], 0, stride)
	}
}

func gather8(dst, src []byte, n, stride, pitch int) {
	i := 0
	for ; i+8 <= n; i += 8 {
		s := src[i*stride:][:7*stride+8]
		a, b, c, d, e, f, g, h := transpose8(
			le.Uint64(s), le.Uint64(s[stride:]), le.Uint64(s[2*stride:]), le.Uint64(s[3*stride:]),
			le.Uint64(s[4*stride:]), le.Uint64(s[5*stride:]), le.Uint64(s[6*stride:]),
			le.Uint64(s[7*stride:]))
		put8(dst[i:], pitch, a, b, c, d, e, f, g, h)
	}
	for j := range 8 {
		gather1(dst[j*pitch:][:n], src[j:], i, stride)
	}
}

func gather4(dst, src []byte, n, stride, pitch int) {
	i := 0
	for ; i+8 <= n; i += 8 {
		s := src[i*stride:][:7*stride+4]
		a, b, c, d := transpose4(
			uint64(le.Uint32(s))|uint64(le.Uint32(s[4*stride:]))<<32,
			uint64(le.Uint32(s[stride:]))|uint64(le.Uint32(s[5*stride:]))<<32,
			uint64(le.Uint32(s[2*stride:]))|uint64(le.Uint32(s[6*stride:]))<<32,
			uint64(le.Uint32(s[3*stride:]))|uint64(le.Uint32(s[7*stride:]))<<32)
		o := dst[i:][:3*pitch+8]
		le.PutUint64(o, a)
		le.PutUint64(o[pitch:], b)
		le.PutUint64(o[2*pitch:], c)
		le.PutUint64(o[3*pitch:], d)
	}
	for j := range 4 {
		gather1(dst[j*pitch:][:n], src[j:], i, stride)
	}
}

func gather2(dst, src []byte, n, stride, pitch int) {
	i := 0
	for ; i+8 <= n; i += 8 {
		s := src[i*stride:][:7*stride+2]
		a, b := transpose2(
			uint64(le.Uint16(s))|uint64(le.Uint16(s[2*stride:]))<<16|
				uint64(le.Uint16(s[4*stride:]))<<32|uint64(le.Uint16(s[6*stride:]))<<48,
			uint64(le.Uint16(s[stride:]))|uint64(le.Uint16(s[3*stride:]))<<16|
				uint64(le.Uint16(s[5*stride:]))<<32|uint64(le.Uint16(s[7*stride:]))<<48)
		o := dst[i:][:pitch+8]
		le.PutUint64(o, a)
		le.PutUint64(o[pitch:], b)
	}
	for j := range 2 {
		gather1(dst[j*pitch:][:n], src[j:], i, stride)
	}
}

func gather1(plane, src []byte, from, stride int) {
	for i := from; i < len(plane); i++ {
		plane[i] = src[i*stride]
	}
}

// bitsToPlanePortable makes a plane of len(plane) bytes, one of each element,
// from eight rows of bits, which are pitch bytes apart.
func bitsToPlanePortable(plane, rows []byte, pitch int) {
	m := len(plane) / 8
	k := 0
	for ; k+8 <= m; k += 8 {
		s := rows[k:][:7*pitch+8]
		a, b, c, d, e, f, g, h := transposeBits(
			le.Uint64(s), le.Uint64(s[pitch:]), le.Uint64(s[2*pitch:]), le.Uint64(s[3*pitch:]),
			le.Uint64(s[4*pitch:]), le.Uint64(s[5*pitch:]), le.Uint64(s[6*pitch:]),
			le.Uint64(s[7*pitch:]))
		a, b, c, d, e, f, g, h = transpose8(a, b, c, d, e, f, g, h)
		put8(plane[8*k:8*k+64], 8, a, b, c, d, e, f, g, h)
	}
	for ; k < m; k++ {
		var w uint64
		for j := range 8 {
			w |= uint64(rows[j*pitch+k]) << (8 * j)
		}
		le.PutUint64(plane[8*k:], transposeWordBits(w))
	}
}

// planeToBitsPortable is the inverse of bitsToPlanePortable.
func planeToBitsPortable(rows, plane []byte, pitch int) {
	m := len(plane) / 8
	k := 0
	for ; k+8 <= m; k += 8 {
		s := plane[8*k:][:64]
		a, b, c, d, e, f, g, h := transpose8(
			le.Uint64(s), le.Uint64(s[8:]), le.Uint64(s[16:]), le.Uint64(s[24:]),
			le.Uint64(s[32:]), le.Uint64(s[40:]), le.Uint64(s[48:]), le.Uint64(s[56:]))
		a, b, c, d, e, f, g, h = transposeBits(a, b, c, d, e, f, g, h)
		put8(rows[k:], pitch, a, b, c, d, e, f, g, h)
	}
	for ; k < m; k++ {
		w := transposeWordBits(le.Uint64(plane[8*k:]))
		for j := range 8 {
			rows[j*pitch+k] = byte(w >> (8 * j))
		}
	}
}

func put8(dst []byte, pitch int, a, b, c, d, e, f, g, h uint64) {
	dst = dst[:7*pitch+8]
	le.PutUint64(dst, a)
	le.PutUint64(dst[pitch:], b)
	le.PutUint64(dst[2*pitch:], c)
	le.PutUint64(dst[3*pitch:], d)
	le.PutUint64(dst[4*pitch:], e)
	le.PutUint64(dst[5*pitch:], f)
	le.PutUint64(dst[6*pitch:], g)
	le.PutUint64(dst[7*pitch:], h)
}
