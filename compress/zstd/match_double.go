package zstd

import (
	"math/bits"
	"unsafe"
)

// findDouble looks for a match as zstd's double-fast strategy does: of 8 bytes in the one table,
// otherwise a shorter one in the other, and one of the last offset. It returns where the literals
// after the last match begin. See findFast for its pointers.
func (f *finder) findDouble(src []byte, start, end int) (anchor int) {
	p, long, short := unsafe.Pointer(unsafe.SliceData(src)),
		unsafe.Pointer(unsafe.SliceData(f.table)), unsafe.Pointer(unsafe.SliceData(f.short))
	const longPrime = 0xCF1BBCDCB7A56463
	prime, shift, longShift := primes[f.hashBytes], 64-f.shortLog&63, 64-f.tableLog&63
	limit := end - searchRoom
	recent, older := f.recent[0], f.recent[1]
	anchor = start
	at := max(start, 1)
	step, grow := 1, at+2*growAfter
	for at < limit {
		word := load64(p, at)
		entry := place(long, word*longPrime>>(longShift&63))
		match := int(*entry)
		*entry = uint32(at)
		entry = place(short, word*prime>>(shift&63))
		near := int(*entry)
		*entry = uint32(at)
		seen := at + 2
		if uint32(word>>8) == load32(p, at+1-recent) {
			at++
			f.add(p, anchor, at-anchor, 1)
		} else {
			next := load64(p, at+1)
			if load64(p, match) == word {
				*place(long, next*longPrime>>(longShift&63)) = uint32(at + 1)
			} else {
				if load32(p, near) != uint32(word) {
					at += step
					if at >= grow {
						step++
						grow += 2 * growAfter
					}
					continue
				}
				// a match that begins at the next place may be longer
				entry = place(long, next*longPrime>>(longShift&63))
				match = int(*entry)
				*entry = uint32(at + 1)
				if load64(p, match) == next {
					at++
				} else {
					match = near
				}
			}
			older, recent = recent, at-match
			if match >= 8 && at >= 8 {
				back := bits.LeadingZeros64(load64(p, at-8)^load64(p, match-8)) >> 3
				if back > at-anchor {
					back = at - anchor
				}
				at -= back
				match -= back
			}
			f.add(p, anchor, at-anchor, recent+3)
		}
		anchor = at
		at += 4
		if x := load64(p, at) ^ load64(p, at-recent); x != 0 {
			at += bits.TrailingZeros64(x) >> 3
		} else {
			at += matchLength(p, at, at-recent, end)
		}
		f.sequences[f.found-1].match = uint32(at - anchor - 3)
		anchor = at
		if at > limit {
			break
		}
		word = load64(p, seen)
		*place(long, word*longPrime>>(longShift&63)) = uint32(seen)
		*place(short, word*prime>>(shift&63)) = uint32(seen)
		*place(long, load64(p, at-2)*longPrime>>(longShift&63)) = uint32(at - 2)
		*place(short, load64(p, at-1)*prime>>(shift&63)) = uint32(at - 1)
		for at <= limit && load32(p, at) == load32(p, at-older) {
			recent, older = older, recent
			word := load64(p, at)
			*place(long, word*longPrime>>(longShift&63)) = uint32(at)
			*place(short, word*prime>>(shift&63)) = uint32(at)
			f.add(p, at, 0, 1)
			at += 4 + matchLength(p, at+4, at+4-recent, end)
			f.sequences[f.found-1].match = uint32(at - anchor - 3)
			anchor = at
		}
		step, grow = 1, at+2*growAfter
	}
	f.recent = [2]int{recent, older}
	return anchor
}
