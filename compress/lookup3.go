package compress

import "math/bits"

// lookup3 is Bob Jenkins' hashlittle (lookup3.c, 2006) over prefix and data.
func lookup3(initval uint32, prefix, data []byte) uint32 {
	total := len(prefix) + len(data)
	start := 0xdeadbeef + uint32(total) + initval
	state := [3]uint32{start, start, start}
	var block [12]byte
	filled := 0
	for _, part := range [2][]byte{prefix, data} {
		for len(part) > 0 {
			if filled == len(block) { // the last block, full or not, is for the end
				addBlock(&state, &block)
				mix(&state)
				filled = 0
			}
			n := copy(block[filled:], part)
			part = part[n:]
			filled += n
		}
	}
	if filled == 0 {
		return state[2]
	}
	clear(block[filled:])
	addBlock(&state, &block)
	final(&state)
	return state[2]
}

// addBlock adds twelve bytes as three little-endian words.
func addBlock(s *[3]uint32, b *[12]byte) {
	for i := range s {
		s[i] += uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24
	}
}

// mix is lookup3's reversible mixing of three words.
func mix(s *[3]uint32) {
	for i, shift := range [6]int{4, 6, 8, 16, 19, 4} {
		a, b, c := &s[i%3], &s[(i+1)%3], &s[(i+2)%3]
		*a -= *c
		*a ^= bits.RotateLeft32(*c, shift)
		*c += *b
	}
}

// final is lookup3's last mixing, after which c is the hash.
func final(s *[3]uint32) {
	for i, shift := range [7]int{14, 11, 25, 16, 4, 14, 24} {
		to, from := &s[(i+2)%3], &s[(i+1)%3]
		*to ^= *from
		*to -= bits.RotateLeft32(*from, shift)
	}
}
