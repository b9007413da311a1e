//go:build amd64 || arm64 || ppc64le

package inflate

import "unsafe"

// Room that one turn of the fast loop may use. Of the source: two refills, which move at most 7
// bytes each and load 8. Of the destination: three pairs of literals, then a literal and a match of
// 258 bytes, which is copied by words of 16 bytes.
const (
	srcRoom = 24
	dstRoom = 3*2 + 1 + 258 + 16
)

// fast decodes symbols while src and dst have more room than one turn can use. It reports whether
// it has come to the end of the block. It stops before any symbol that it can't take. Then careful
// decodes or refuses that symbol.
//
// The loop needs unaligned little-endian loads, so it is only built where these are cheap.
//
// The loop is long and works through unsafe pointers because nearly all of the time goes there. All
// accesses are within bounds: pos <= len(src)-srcRoom and out <= len(dst)-dstRoom hold at the top
// of each turn. A match's distance is checked against out. The tables are indexed by masked values,
// or by links that fill made. (Assembly with BMI2 was tried and was no faster: what remains is
// latency of the tables and branches that can't be foreseen.)
func (s *stream) fast(lit *litTable, dist *distTable) (done bool) {
	srcEnd, dstEnd := len(s.src)-srcRoom, len(s.dst)-dstRoom
	if s.pos > srcEnd || s.out > dstEnd {
		return false
	}
	src, dst := unsafe.Pointer(unsafe.SliceData(s.src)), unsafe.Pointer(unsafe.SliceData(s.dst))
	pos, out, bits, nbits := s.pos, s.out, s.bits, s.nbits

	// Refill: or-ing in bits that already stand above nbits changes nothing, so whole words are
	// loaded and only the whole bytes of them are counted. Of nbits only the low six bits are kept
	// true: whole entries are subtracted from it.
	bits |= *(*uint64)(unsafe.Add(src, pos)) << (nbits & 63)
	pos += int(^nbits >> 3 & 7)
	nbits |= 56
	e := lit[bits&(1<<litBits-1)]
	for pos <= srcEnd && out <= dstEnd {
		if e < notLiteral {
			bits >>= e & 63
			nbits -= uint64(e)
			*(*uint16)(unsafe.Add(dst, out)) = uint16(e >> baseShift)
			out += int(e >> countShift)
			e = lit[bits&(1<<litBits-1)]
			if e < notLiteral {
				bits >>= e & 63
				nbits -= uint64(e)
				*(*uint16)(unsafe.Add(dst, out)) = uint16(e >> baseShift)
				out += int(e >> countShift)
				e = lit[bits&(1<<litBits-1)]
				if e < notLiteral {
					bits >>= e & 63
					nbits -= uint64(e)
					*(*uint16)(unsafe.Add(dst, out)) = uint16(e >> baseShift)
					out += int(e >> countShift)
					// at least 56-33 bits are left, so this is the next turn's entry
					e = lit[bits&(1<<litBits-1)]
					bits |= *(*uint64)(unsafe.Add(src, pos)) << (nbits & 63)
					pos += int(^nbits >> 3 & 7)
					nbits |= 56
					continue
				}
			}
			bits |= *(*uint64)(unsafe.Add(src, pos)) << (nbits & 63)
			pos += int(^nbits >> 3 & 7)
			nbits |= 56
		}
		if e&special != 0 {
			if e&link != 0 {
				e = lit.follow(e, bits)
				if e < notLiteral {
					bits >>= e & 63
					nbits -= uint64(e)
					*(*uint8)(unsafe.Add(dst, out)) = uint8(e >> baseShift)
					out++
					e = lit[bits&(1<<litBits-1)]
					bits |= *(*uint64)(unsafe.Add(src, pos)) << (nbits & 63)
					pos += int(^nbits >> 3 & 7)
					nbits |= 56
					continue
				}
			}
			if e&special != 0 {
				if e&endOfBlock == 0 {
					break
				}
				bits >>= e & 63
				nbits -= uint64(e)
				done = true
				break
			}
		}
		d := dist[bits>>(e&63)&(1<<distBits-1)]
		if d&special != 0 {
			d = dist.lookup(bits >> (e & 63))
			if d&special != 0 {
				break
			}
		}
		length := int(e>>lengthShift&lengthMask) + int(bits&(1<<(e&63)-1)>>(e>>codeShift&codeMask))
		after := bits >> (e & 63)
		distance := int(d>>baseShift&distanceMask) +
			int(after&(1<<(d&63)-1)>>(d>>codeShift&codeMask))
		before := out + int(e>>firstShift&1)
		if distance > before {
			break
		}
		*(*uint8)(unsafe.Add(dst, out)) = uint8(e >> baseShift)
		out = before
		bits = after >> (d & 63)
		nbits -= uint64(e)
		nbits -= uint64(d)
		bits |= *(*uint64)(unsafe.Add(src, pos)) << (nbits & 63)
		pos += int(^nbits >> 3 & 7)
		nbits |= 56
		e = lit[bits&(1<<litBits-1)]

		to, from := unsafe.Add(dst, out), unsafe.Add(dst, out-distance)
		out += length
		if distance >= 16 {
			*(*[16]byte)(to) = *(*[16]byte)(from)
			for length > 16 {
				to, from = unsafe.Add(to, 16), unsafe.Add(from, 16)
				*(*[16]byte)(to) = *(*[16]byte)(from)
				length -= 16
			}
			continue
		}
		repeat(to, from, distance, length)
	}
	s.pos, s.out, s.bits, s.nbits = pos, out, bits, nbits&63
	return done
}

// A word times spread[d] repeats its low d bytes through the whole word. step[d] is the largest
// multiple of d up to 8: what a word of that pattern may be moved on by without losing its phase.
var (
	spread = [8]uint64{1: 0x0101010101010101, 2: 0x0001000100010001, 3: 0x0001000001000001,
		4: 0x0000000100000001,
		5: 0x0000010000000001, 6: 0x0001000000000001, 7: 0x0100000000000001}
	step = [8]int{1: 8, 2: 8, 3: 6, 4: 8, 5: 5, 6: 6, 7: 7}
)

// repeat copies a match that overlaps itself within 16 bytes. It may write up to 8 bytes too many.
func repeat(to, from unsafe.Pointer, distance, length int) {
	if distance >= 8 {
		for ; length > 0; length -= 8 {
			*(*uint64)(to) = *(*uint64)(from)
			to, from = unsafe.Add(to, 8), unsafe.Add(from, 8)
		}
		return
	}
	word := *(*uint64)(from) & (1<<(8*distance&63) - 1) * spread[distance&7]
	for n := step[distance&7]; length > 0; length -= n {
		*(*uint64)(to) = word
		to = unsafe.Add(to, n)
	}
}
