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

// lz4Table has, for a hash, the last position that had it.
type lz4Table [1 << 13]uint32

var lz4Tables = sync.Pool{New: func() any { return new(lz4Table) }}

// EncodeLZ4Block encodes src as one raw LZ4 block, byte for byte that of LZ4_compress_fast, and returns its length; 0 says that it
// would be longer than dst. src has at most maxLZ4 bytes. The higher the acceleration, the faster and the less dense.
func EncodeLZ4Block(dst, src []byte, acceleration int) int {
	table := lz4Tables.Get().(*lz4Table)
	defer lz4Tables.Put(table)
	clear(table[:])
	return encodeLZ4(dst, src, uint32(max(acceleration, 1)), table)
}

// encodeLZ4 is the hot loop, as LZ4_compress_generic has it, so it is long. All positions it reads at are below those that the
// limits of the format keep free at the end of src: at most len(src)-4 for a load of 4 bytes and len(src)-8 for one of 8.
func encodeLZ4(dst, src []byte, acceleration uint32, table *lz4Table) int {
	n, out, anchor := len(src), 0, 0
	if n <= lz4NoMatch {
		return lz4Literals(dst, src, out)
	}
	p := unsafe.Pointer(unsafe.SliceData(src))
	small := n < lz4Small
	end, matchEnd := n-lz4NoMatch+1, n-lz4Last
	table[lz4Hash(loadWord(p, 0), small)] = 0
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
			match = int(table[hash])
			table[hash] = uint32(at)
			hash = lz4Hash(loadWord(p, next), small)
			if match+lz4Window >= at && loadHalf(p, match) == loadHalf(p, at) {
				break
			}
		}
		for at > anchor && match > 0 && src[at-1] == src[match-1] {
			at, match = at-1, match-1
		}
		token := out
		if out += 1; out+(at-anchor)+(at-anchor)/255+2+1+lz4Last > len(dst) {
			return 0
		}
		out = lz4Length(dst, out, token, at-anchor, 4)
		out += copy(dst[out:], src[anchor:at])
		for {
			binary.LittleEndian.PutUint16(dst[out:], uint16(at-match))
			out += 2
			length := lz4Count(p, at+lz4MinMatch, match+lz4MinMatch, matchEnd)
			at += length + lz4MinMatch
			if out+1+lz4Last+(length+240)/255 > len(dst) {
				return 0
			}
			out = lz4Length(dst, out, token, length, 0)
			anchor = at
			if at >= end {
				return lz4Literals(dst, src[anchor:], out)
			}
			table[lz4Hash(loadWord(p, at-2), small)] = uint32(at - 2)
			hash = lz4Hash(loadWord(p, at), small)
			match = int(table[hash])
			table[hash] = uint32(at)
			if match+lz4Window < at || loadHalf(p, match) != loadHalf(p, at) {
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
	for ; at < end && *(*byte)(unsafe.Add(p, at)) == *(*byte)(unsafe.Add(p, match)); at, match = at+1, match+1 {
	}
	return at - start
}

// loadWord and loadHalf load 8 and 4 bytes, little-endian, without a check of bounds.
func loadWord(p unsafe.Pointer, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, at))[:])
}

func loadHalf(p unsafe.Pointer, at int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, at))[:])
}
