//go:build amd64 && !purego

package zstd

import "github.com/klauspost/cpuid/v2"

// useBMI2 says that the processor can run the assembly. Tests switch it off.
var useBMI2 = cpuid.CPU.Supports(cpuid.BMI2, cpuid.SSSE3)

// run executes sequences as long as nothing can go wrong, as runPortable does.
func (s *sequences) run() {
	if useBMI2 {
		runBMI2(s)
		return
	}
	s.runPortable()
}

// runBMI2 is runPortable in assembly. Where it finds an offset that is not allowed, it sets bitPos
// to -1 and leaves the offset in recent. Where the bits of the last sequence go beyond bitEnd, it
// stops too, and bitPos says so.
//
//go:noescape
func runBMI2(s *sequences)

// run decodes most literals of four streams, and leaves their last ones to finish.
func (s *streams) run() {
	for useBMI2 && s.limit() {
		huffmanBMI2(s)
		s.done += s.turns * perTurn
	}
}

// huffmanBMI2 does as many turns as limit has found.
//
//go:noescape
func huffmanBMI2(s *streams)

// run writes sequences as long as no bits of lengths follow their symbols.
func (w *sequenceWriter) run() {
	if useBMI2 {
		writeBMI2(w)
	}
}

// writeBMI2 does that. One sequence at least must be left.
//
//go:noescape
func writeBMI2(w *sequenceWriter)

// patterns[d] is how the d bytes of a period make 16 bytes. turns[d] is how these 16 make the next
// 16, and turns2[d] is how they make the 16 bytes after those.
var patterns, turns, turns2 [16][16]uint8

func init() {
	for d := 1; d < 16; d++ {
		for i := range 16 {
			patterns[d][i] = uint8(i % d)
			turns[d][i] = uint8((16 + i) % d)
			turns2[d][i] = uint8((32 + i) % d)
		}
	}
}
