package compress

import "golang.org/x/sys/cpu"

var hasAdlerBlocks = cpu.X86.HasAVX2

// adlerBlocks sums n > 0 blocks of 32 bytes at p, with AVX2. sum is the sum of all bytes. before
// adds up, for each block, the sum of the bytes of all blocks before it. weighted adds up the bytes
// of each block, the first one 32 times, the last one once.
//
//go:noescape
func adlerBlocks(p *byte, n int) (sum, before, weighted uint64)
