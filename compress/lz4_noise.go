package compress

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

const (
	lz4NoiseMatch = 5       // the shortest match taken from noise: as many bytes as are hashed
	lz4Section    = 4 << 10 // after so many bytes it is decided anew how to go on
)

// lz4Noisy tells that n bytes of content that became m look like numbers with noise: they get shorter, but not by half.
func lz4Noisy(n, m int) bool { return m > n/2 && m < n-n/16 }

// encodeNoise encodes src from behind at on by looking at each step-th position only, until a section of it does not look like noise.
// It returns the last position looked at, the end of the last match, and the length of dst; -1 where it may not fit.
func encodeNoise(dst, src []byte, slots unsafe.Pointer, at, out, step int) (_, anchor, _ int) {
	anchor = at
	for {
		from, written, stop := anchor, out, min(at+lz4Section, len(src)-lz4ChainRoom)
		at, anchor, out = encodeSection(dst, src, slots, at+1, anchor, out, stop, step)
		if at >= len(src)-lz4ChainRoom || out < 0 || !lz4Noisy(anchor-from, out-written) {
			return at, anchor, out
		}
	}
}

// encodeSection does what encodeNoise does for positions from at on, below stop.
func encodeSection(dst, src []byte, slots unsafe.Pointer, at, anchor, out, stop, step int) (_, _, _ int) {
	p, to := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(dst))
	for out+max(stop-anchor, 0)+lz4ChainRoom <= len(dst) { // all that lz4Grid writes is shorter than its content
		var match int
		if at, anchor, out, match = lz4Grid(p, slots, to, at, anchor, out, stop, step); match < 0 {
			return max(at, anchor), anchor, out
		}
		back := lz4Back(p, at, match, at-anchor) // less than 0 if the match before ends behind at
		length, literals := lz4Count(p, at, match, len(src)-lz4Last)+back, at-back-anchor
		if length < lz4NoiseMatch {
			at += step
			continue
		}
		token := out
		if out+literals+(literals+length)/255+8 > len(dst) {
			break
		}
		out = lz4Length(dst, out+1, token, literals, 4)
		out += copy(dst[out:], src[anchor:anchor+literals])
		binary.LittleEndian.PutUint16(dst[out:], uint16(at-match))
		out = lz4Length(dst, out+2, token, length-lz4MinMatch, 0)
		anchor += literals + length
		at = max(at+1, anchor)
	}
	return at, anchor, -1
}

// lz4Grid looks for a match at each step-th position from at on, below stop, and writes what it finds to d; anchor is the end of the
// match before. It returns the position it got to, anchor, and the length of d. A match of 8 bytes or more, or behind more than 14
// literals, it leaves to the caller, with its position; else match is -1.
//
// Numbers with noise have short matches everywhere, and lz4Search and lz4Chain spend most of their time on branches that the processor
// cannot guess. Here there are none: at each position a sequence is written, and kept if its match is long enough. The next position
// does not depend on that, so the processor works at several at a time. Matches that begin between the positions are lost, but there are
// others: at each fifth position, the noisy plane of W1 (docs/PERFORMANCE.md) becomes 0.77 of its length, by a search at acceleration 5
// it becomes 0.67 in twice the time. In content that gets shorter by half, matches are long and rarer, and a search makes much less.
func lz4Grid(p, slots, d unsafe.Pointer, at, anchor, out, stop, step int) (_, _, _, match int) {
	for at < stop {
		word := loadWord(p, at)
		place := (*uint16)(unsafe.Add(slots, uintptr(lz4Hash(word, 5, true))*2))
		match = int(*place)
		*place = uint16(at)
		differ := loadWord(p, match) ^ word
		if differ == 0 {
			return at, anchor, out, match
		}
		length, literals := bits.TrailingZeros64(differ|1<<63)>>3, at-anchor
		covered := literals >> 63 & literals // by the match before: 0 or less
		length, literals = length+covered, literals-covered
		keep := (lz4NoiseMatch - 1 - length) >> 63 // all bits, or none
		if (14-literals)&keep < 0 {
			return at, anchor, out, match
		}
		*(*byte)(unsafe.Add(d, out)) = byte(literals<<4 + length - lz4MinMatch)
		*(*[16]byte)(unsafe.Add(d, out+1)) = *(*[16]byte)(unsafe.Add(p, anchor))
		binary.LittleEndian.PutUint16((*[2]byte)(unsafe.Add(d, out+1+literals&15))[:], uint16(at-match))
		out += (3 + literals) & keep
		anchor += (literals + length) & keep
		at += step
	}
	return at, anchor, out, -1
}
