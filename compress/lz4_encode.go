package compress

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"unsafe"
)

// The rules of an LZ4 block (lz4_Block_format.md): its last 5 bytes are literals, and no match
// begins in its last 12.
const (
	lz4Last     = 5
	lz4NoMatch  = 12
	lz4MinMatch = 4
	lz4Window   = 65535
	// contents below this size have positions of 16 bits in the table
	lz4Small = 65536 + lz4NoMatch - 1
	lz4Skip  = 6 // a search steps faster after 1<<6 misses
)

// lz4Table has, for a hash, the last position that had it. That of small contents has twice the
// slots in the same memory, which leaves room for the content in the innermost cache.
type lz4Table struct {
	small [1 << 13]uint16
	large [1 << 12]uint32
}

var lz4Tables = sync.Pool{New: func() any { return new(lz4Table) }}

// EncodeLZ4Block encodes src as one raw LZ4 block, byte for byte that of LZ4_compress_fast. It
// returns its length, or 0 if it would be longer than dst. src has at most maxLZ4 bytes. The higher
// the acceleration, the faster and the less dense.
func EncodeLZ4Block(dst, src []byte, acceleration int) int {
	if len(src) < lz4Small {
		return encodeSmallLZ4[[4]byte](dst, src, acceleration)
	}
	return encodeLargeLZ4(dst, src, acceleration)
}

// EncodeLZ4Stream is EncodeLZ4Block for one byte of each of many numbers; 0 says that the block may
// be longer than dst. It finds matches of 5 bytes in contents of less than 64 KiB, too, where
// LZ4_compress_fast finds those of 4: fewer and longer ones, which for such bytes makes blocks
// denser (docs/decisions/0002-libraries.md). Larger contents are encoded at twice the acceleration.
func EncodeLZ4Stream(dst, src []byte, acceleration int) int {
	if len(src) >= lz4Small {
		return encodeLargeLZ4(dst, src, 2*acceleration)
	}
	return encodeSmallLZ4[[5]byte](dst, src, acceleration)
}

// encodeLargeLZ4 encodes contents of which positions need 32 bits.
func encodeLargeLZ4(dst, src []byte, acceleration int) int {
	table := lz4Tables.Get().(*lz4Table)
	defer lz4Tables.Put(table)
	clear(table.large[:])
	return encodeLZ4[uint32, [5]byte](dst, src, uint32(max(acceleration, 1)), table.large[:])
}

// encodeSmallLZ4 encodes contents of which all positions fit into 16 bits.
func encodeSmallLZ4[H [4]byte | [5]byte](dst, src []byte, acceleration int) int {
	if len(src) <= lz4NoMatch {
		return lz4Literals(dst, src, 0)
	}
	table := lz4Tables.Get().(*lz4Table)
	defer lz4Tables.Put(table)
	clear(table.small[:])
	return encodeLZ4[uint16, H](dst, src, uint32(max(acceleration, 1)), table.small[:])
}

// encodeLZ4 does what LZ4_compress_generic does: it searches a match, writes the literals in front
// of it, and then matches for as long as one begins where the one before ended. The hot loops,
// lz4Search and lz4Chain, look at src, dst and the table without a check of bounds. All positions
// they read at are below those that the limits of the format keep free at the end of src: at most
// len(src)-8 for a load of 8 bytes.
//
// P is what the table holds positions in, and H is as many bytes as are hashed to find its slot:
// types, so that each combination is compiled for itself.
func encodeLZ4[P uint16 | uint32, H [4]byte | [5]byte](
	dst, src []byte, acceleration uint32, table []P,
) int {
	n, out, anchor := len(src), 0, 0
	p, slots, to := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(table)),
		unsafe.Pointer(unsafe.SliceData(dst))
	end, matchEnd := n-lz4NoMatch+1, n-lz4Last
	for at := 0; ; { // as the table is clear, it has position 0 for whatever begins there
		var match int
		if at, match = lz4Search[P, H](p, slots, at+1, end, acceleration); match < 0 {
			return lz4Literals(dst, src[anchor:], out)
		}
		back := lz4Back(p, at, match, at-anchor)
		at, match = at-back, match-back
		token, literals := out, at-anchor
		// mostly: two stores instead of a call
		if literals <= 14 && anchor+16 <= n && out+lz4ChainRoom <= len(dst) {
			*(*byte)(unsafe.Add(to, token)) = byte(literals << 4)
			*(*[16]byte)(unsafe.Add(to, out+1)) = *(*[16]byte)(unsafe.Add(p, anchor))
			out += 1 + literals
		} else {
			if out += 1; out+literals+literals/255+2+1+lz4Last > len(dst) {
				return 0
			}
			out = lz4Length(dst, out, token, literals, 4)
			out += copy(dst[out:], src[anchor:at])
		}
		for match >= 0 {
			at, match, token, out = lz4Chain[P, H](p, slots, to, at, match, token, out,
				n-lz4ChainRoom, len(dst)-lz4ChainRoom)
			if anchor = at; match < 0 {
				break
			}
			binary.LittleEndian.PutUint16(dst[out:], uint16(at-match))
			out += 2
			length := lz4Count(p, at+lz4MinMatch, match+lz4MinMatch, matchEnd)
			at += length + lz4MinMatch
			if out+1+lz4Last+(length+240)/255 > len(dst) {
				return 0
			}
			out = lz4Length(dst, out, token, length, 0)
			if anchor = at; at >= end {
				return lz4Literals(dst, src[anchor:], out)
			}
			if match = lz4Follow[P, H](p, slots, at); match >= 0 {
				token = out
				dst[token] = 0
				out++
			}
		}
	}
}

// lz4Search returns the first position from at on that has a match, and the match; -1 if there is
// none up to end. The longer it has searched, and the higher the acceleration, the more positions
// it leaves out.
func lz4Search[P uint16 | uint32, H [4]byte | [5]byte](
	p, slots unsafe.Pointer, at, end int, acceleration uint32,
) (_, match int) {
	var position P
	var hashed H
	small, hashes := unsafe.Sizeof(position) == 2, unsafe.Sizeof(hashed)
	slot := func(hash uint32) *P {
		return (*P)(unsafe.Add(slots, uintptr(hash)*unsafe.Sizeof(position)))
	}
	next, step, misses := at, 1, acceleration<<lz4Skip
	hash := lz4Hash(loadWord(p, at), hashes, small)
	for {
		at = next
		next += step
		step = int(misses >> lz4Skip)
		misses++
		if next > end {
			return at, -1
		}
		place := slot(hash)
		match = int(*place)
		*place = P(at)
		hash = lz4Hash(loadWord(p, next), hashes, small)
		if lz4Within(at, match, small) && loadHalf(p, match) == loadHalf(p, at) {
			return at, match
		}
	}
}

// lz4ChainRoom is what lz4Chain leaves free at the end of source and destination: more than it
// reads ahead and writes for a match.
const lz4ChainRoom = 32

// lz4Chain writes a match, and those that begin where the one before ends, while they are short and
// far from both ends. d is the destination, which has a token already. It returns the place behind,
// and a match that is left to the caller, with its token; -1 if there is none.
//
// Most matches of shuffled numbers have the fewest bytes that the hash finds. A branch lets the
// processor go on from there before it knows. Computed, each match would wait for the loads of the
// one before, which takes half as long again.
func lz4Chain[P uint16 | uint32, H [4]byte | [5]byte](
	p, slots, d unsafe.Pointer, at, match, token, out, stop, room int,
) (_, _, _, _ int) {
	var position P
	var hashed H
	small, hashes := unsafe.Sizeof(position) == 2, unsafe.Sizeof(hashed)
	slot := func(hash uint32) *P {
		return (*P)(unsafe.Add(slots, uintptr(hash)*unsafe.Sizeof(position)))
	}
	same := loadWord(p, at) ^ loadWord(p, match)
	for same != 0 && at < stop && out < room {
		binary.LittleEndian.PutUint16((*[2]byte)(unsafe.Add(d, out))[:], uint16(at-match))
		out += 2
		if hashes == 4 && same>>32&0xff != 0 {
			at += 4
		} else if hashes == 5 && same>>32&0xff == 0 && same>>40&0xff != 0 {
			*(*byte)(unsafe.Add(d, token)) |= 5 - lz4MinMatch
			at += 5
		} else {
			length := bits.TrailingZeros64(same) >> 3
			*(*byte)(unsafe.Add(d, token)) |= byte(length - lz4MinMatch)
			at += length
		}
		// lz4Follow in place: the compiler would call it
		*slot(lz4Hash(loadWord(p, at-2), hashes, small)) = P(at - 2)
		place := slot(lz4Hash(loadWord(p, at), hashes, small))
		match = int(*place)
		*place = P(at)
		same = loadWord(p, at) ^ loadWord(p, match)
		if !lz4Within(at, match, small) || uint32(same) != 0 {
			return at, -1, token, out
		}
		token = out
		*(*byte)(unsafe.Add(d, token)) = 0
		out++
	}
	return at, match, token, out
}

// lz4Follow keeps two positions at the end of a match in the table, and returns the match that
// begins there; -1 if there is none.
func lz4Follow[P uint16 | uint32, H [4]byte | [5]byte](p, slots unsafe.Pointer, at int) int {
	var position P
	var hashed H
	small, hashes := unsafe.Sizeof(position) == 2, unsafe.Sizeof(hashed)
	slot := func(hash uint32) *P {
		return (*P)(unsafe.Add(slots, uintptr(hash)*unsafe.Sizeof(position)))
	}
	*slot(lz4Hash(loadWord(p, at-2), hashes, small)) = P(at - 2)
	place := slot(lz4Hash(loadWord(p, at), hashes, small))
	match := int(*place)
	*place = P(at)
	if !lz4Within(at, match, small) || loadHalf(p, at) != loadHalf(p, match) {
		return -1
	}
	return match
}

// lz4Back returns how many of at most limit bytes in front of at are those in front of match.
func lz4Back(p unsafe.Pointer, at, match, limit int) int {
	back := 0
	if match >= 8 { // mostly: one comparison instead of a loop
		if x := loadWord(p, at-8) ^ loadWord(p, match-8); x != 0 {
			return min(bits.LeadingZeros64(x)>>3, limit)
		}
		back = 8
	}
	for back < limit && back < match && loadByte(p, at-back-1) == loadByte(p, match-back-1) {
		back++
	}
	return min(back, limit)
}

// lz4Within reports whether a position is in the window of another. Small contents have one window.
func lz4Within(at, match int, small bool) bool {
	return small || match+lz4Window >= at
}

// lz4Hash is LZ4_hash4 or LZ4_hash5 of a little-endian word, with as many bits as the table has
// slots.
func lz4Hash(word uint64, hashes uintptr, small bool) uint32 {
	switch {
	case hashes == 4:
		return uint32(word) * 2654435761 >> (32 - 13)
	case small:
		return uint32(word << 24 * 889523592379 >> (64 - 13))
	}
	return uint32(word << 24 * 889523592379 >> (64 - 12))
}

// lz4Length writes a length into half of the token, and what it does not hold behind. The rest of
// the token stays.
func lz4Length(dst []byte, out, token, length int, shift uint) int {
	if shift == 4 {
		dst[token] = 0
	}
	if length < 15 {
		dst[token] |= byte(length << shift)
		return out
	}
	dst[token] |= 15 << shift
	for length -= 15; length >= 255; length -= 255 {
		dst[out] = 255
		out++
	}
	dst[out] = byte(length)
	return out + 1
}

// lz4Literals ends a block with literals, and returns its length; 0 where they do not fit.
func lz4Literals(dst, literals []byte, out int) int {
	n := len(literals)
	if out+n+1+(n+255-15)/255 > len(dst) {
		return 0
	}
	out = lz4Length(dst, out+1, out, n, 4)
	return out + copy(dst[out:], literals)
}

// lz4Count returns how many bytes from at on, below end, are those from match on.
func lz4Count(p unsafe.Pointer, at, match, end int) int {
	start := at
	for at <= end-32 && differ32(p, at, match) == 0 { // four at a time, for planes of zeros
		at, match = at+32, match+32
	}
	for ; at <= end-8; at, match = at+8, match+8 {
		if x := loadWord(p, at) ^ loadWord(p, match); x != 0 {
			return at - start + bits.TrailingZeros64(x)>>3
		}
	}
	for ; at < end && loadByte(p, at) == loadByte(p, match); at, match = at+1, match+1 {
	}
	return at - start
}

// differ32 is 0 if 32 bytes are those of another position.
func differ32(p unsafe.Pointer, at, match int) uint64 {
	a, b := (*[4]uint64)(unsafe.Add(p, at)), (*[4]uint64)(unsafe.Add(p, match))
	return a[0] ^ b[0] | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])
}

// loadWord, loadHalf and loadByte load 8, 4 and 1 bytes, little-endian, without a check of bounds.
func loadWord(p unsafe.Pointer, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, at))[:])
}

func loadHalf(p unsafe.Pointer, at int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, at))[:])
}

func loadByte(p unsafe.Pointer, at int) byte {
	return *(*byte)(unsafe.Add(p, at))
}
