package compress

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"unsafe"
)

// The rules of an LZ4 block (lz4_Block_format.md): its last 5 bytes are literals, and no match begins in its last 12.
const (
	lz4Last     = 5
	lz4NoMatch  = 12
	lz4MinMatch = 4
	lz4Window   = 65535
	lz4Small    = 65536 + lz4NoMatch - 1 // below this size LZ4 hashes 4 bytes to 13 bits, else 5 bytes to 12
	lz4Skip     = 6                      // a search steps faster after 1<<6 misses
)

// lz4Table has, for a hash, the last position that had it. That of small contents has twice the slots in the same memory, which
// leaves room for the content in the innermost cache.
type lz4Table struct {
	small [1 << 13]uint16
	large [1 << 12]uint32
}

var lz4Tables = sync.Pool{New: func() any { return new(lz4Table) }}

// EncodeLZ4Block encodes src as one raw LZ4 block, byte for byte that of LZ4_compress_fast, and returns its length; 0 says that it
// would be longer than dst. src has at most maxLZ4 bytes. The higher the acceleration, the faster and the less dense.
func EncodeLZ4Block(dst, src []byte, acceleration int) int {
	if len(src) <= lz4NoMatch {
		return lz4Literals(dst, src, 0)
	}
	table := lz4Tables.Get().(*lz4Table)
	defer lz4Tables.Put(table)
	if len(src) < lz4Small {
		clear(table.small[:])
		return encodeLZ4(dst, src, uint32(max(acceleration, 1)), table.small[:])
	}
	clear(table.large[:])
	return encodeLZ4(dst, src, uint32(max(acceleration, 1)), table.large[:])
}

// encodeLZ4 is the hot loop, as LZ4_compress_generic has it, so it is long, and looks at src and the table without a check of
// bounds. All positions it reads at are below those that the limits of the format keep free at the end of src: at most len(src)-8
// for a load of 8 bytes. A hash has as many bits as the table has slots.
func encodeLZ4[P uint16 | uint32](dst, src []byte, acceleration uint32, table []P) int {
	var position P
	small := unsafe.Sizeof(position) == 2
	n, out, anchor := len(src), 0, 0
	p, slots := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(table))
	slot := func(hash uint32) *P { return (*P)(unsafe.Add(slots, uintptr(hash)*unsafe.Sizeof(position))) }
	end, matchEnd := n-lz4NoMatch+1, n-lz4Last
	*slot(lz4Hash(loadWord(p, 0), small)) = 0
	at := 1
	hash := lz4Hash(loadWord(p, at), small)
	for {
		var match int
		next, step, misses := at, 1, acceleration<<lz4Skip
		for {
			at = next
			next += step
			step = int(misses >> lz4Skip)
			misses++
			if next > end {
				return lz4Literals(dst, src[anchor:], out)
			}
			place := slot(hash)
			match = int(*place)
			*place = P(at)
			hash = lz4Hash(loadWord(p, next), small)
			if (small || match+lz4Window >= at) && loadHalf(p, match) == loadHalf(p, at) {
				break
			}
		}
		for at > anchor && match > 0 && loadByte(p, at-1) == loadByte(p, match-1) {
			at, match = at-1, match-1
		}
		token, literals := out, at-anchor
		if out += 1; out+literals+literals/255+2+1+lz4Last > len(dst) {
			return 0
		}
		if literals <= 14 && anchor+16 <= n && out+16 <= len(dst) { // mostly: two stores instead of a call
			dst[token] = byte(literals << 4)
			to := (*[16]byte)(dst[out:])
			binary.LittleEndian.PutUint64(to[:8], loadWord(p, anchor))
			binary.LittleEndian.PutUint64(to[8:], loadWord(p, anchor+8))
			out += literals
		} else {
			out = lz4Length(dst, out, token, literals, 4)
			out += copy(dst[out:], src[anchor:at])
		}
		for {
			binary.LittleEndian.PutUint16(dst[out:], uint16(at-match))
			out += 2
			length := 0
			if x := loadWord(p, at+lz4MinMatch) ^ loadWord(p, match+lz4MinMatch); x != 0 {
				length = bits.TrailingZeros64(x) >> 3
			} else {
				length = 8 + lz4Count(p, at+lz4MinMatch+8, match+lz4MinMatch+8, matchEnd)
			}
			length = min(length, matchEnd-at-lz4MinMatch)
			at += length + lz4MinMatch
			if out+1+lz4Last+(length+240)/255 > len(dst) {
				return 0
			}
			if length < 15 {
				dst[token] |= byte(length)
			} else {
				out = lz4Length(dst, out, token, length, 0)
			}
			anchor = at
			if at >= end {
				return lz4Literals(dst, src[anchor:], out)
			}
			*slot(lz4Hash(loadWord(p, at-2), small)) = P(at - 2)
			hash = lz4Hash(loadWord(p, at), small)
			place := slot(hash)
			match = int(*place)
			*place = P(at)
			if !small && match+lz4Window < at || loadHalf(p, match) != loadHalf(p, at) {
				break
			}
			token = out
			dst[token] = 0
			out++
		}
		at++
		hash = lz4Hash(loadWord(p, at), small)
	}
}

// lz4Hash is LZ4_hash4 for small contents and LZ4_hash5 for others, of the bytes of a little-endian word.
func lz4Hash(word uint64, small bool) uint32 {
	if small {
		return uint32(word) * 2654435761 >> (32 - 13)
	}
	return uint32(word << 24 * 889523592379 >> (64 - 12))
}

// lz4Length writes a length into half of the token, and what it does not hold behind. The rest of the token stays.
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
	for ; at <= end-8; at, match = at+8, match+8 {
		if x := loadWord(p, at) ^ loadWord(p, match); x != 0 {
			return at - start + bits.TrailingZeros64(x)>>3
		}
	}
	for ; at < end && loadByte(p, at) == loadByte(p, match); at, match = at+1, match+1 {
	}
	return at - start
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
