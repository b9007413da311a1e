package compress

import stdadler "hash/adler32"

// adlerModulus is the largest prime below 65536.
const adlerModulus = 65521

// adler32 returns the Adler-32 of b (RFC 1950 section 8). It uses vector instructions where there
// are some, as the plain loop takes a fifth of the time of decoding a zlib stream.
func adler32(b []byte) uint32 {
	if !hasAdlerBlocks {
		return stdadler.Checksum(b)
	}
	return adlerVector(b)
}

// adlerVector sums whole blocks of 32 bytes by adlerBlocks and the rest one by one.
func adlerVector(b []byte) uint32 {
	low, high := uint64(1), uint64(0)
	for len(b) >= 32 {
		blocks := min(len(b)/32, maxAdlerBlocks)
		sum, before, weighted := adlerBlocks(&b[0], blocks)
		high = (high + low*uint64(blocks)*32 + before*32 + weighted) % adlerModulus
		low = (low + sum) % adlerModulus
		b = b[blocks*32:]
	}
	for _, c := range b {
		low += uint64(c)
		high += low
	}
	return uint32(high%adlerModulus)<<16 | uint32(low%adlerModulus)
}

// maxAdlerBlocks keeps the 32-bit lanes of the weighted sums from overflowing: each block adds less
// than 1<<15 to a lane.
const maxAdlerBlocks = 1 << 14
