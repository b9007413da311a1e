package compress

import "encoding/binary"

// fletcher32 sums big-endian words of 16 bits as HDF5 does; an odd last byte is the high one of its
// word. The sums are folded every 360 words, before they can overflow, and at the end. Where a fold
// happens changes the result's representation of zero, so it must be there.
func fletcher32(b []byte) uint32 {
	var sum1, sum2 uint32
	fold := func() {
		sum1 = sum1&0xffff + sum1>>16
		sum2 = sum2&0xffff + sum2>>16
	}
	for len(b) > 1 {
		n := min(len(b)/2, 360)
		for i := range n {
			sum1 += uint32(binary.BigEndian.Uint16(b[2*i:]))
			sum2 += sum1
		}
		b = b[2*n:]
		fold()
	}
	if len(b) == 1 {
		sum1 += uint32(b[0]) << 8
		sum2 += sum1
		fold()
	}
	fold()
	return sum2<<16 | sum1
}
