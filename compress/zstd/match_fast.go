package zstd

import (
	"math/bits"
	"unsafe"
)

// findFast looks at pairs of places for a match that one table knows, and behind each pair for one
// of the last offset. It looks at fewer places the longer it finds none, as zstd's fast strategy
// does. It returns where the literals after the last match begin.
//
// It works through unsafe pointers because most of the time goes here. All accesses are within
// bounds: no place is beyond end-searchRoom, hashes have tableLog bits, and entries are 0 or places
// before.
func (f *finder) findFast(src []byte, start, end int) (anchor int) {
	p, table := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(f.table))
	prime, shift := primes[f.hashBytes], 64-f.tableLog&63
	limit := end - searchRoom
	recent, older := f.recent[0], f.recent[1]
	anchor = start
	at := max(start, 1)
	step, grow := f.step, at+growAfter
	for at < limit {
		w0, w1 := load64(p, at), load64(p, at+1)
		entry := place(table, w0*prime>>(shift&63))
		match := int(*entry)
		*entry = uint32(at)
		entry = place(table, w1*prime>>(shift&63))
		match1 := int(*entry)
		*entry = uint32(at + 1)
		seen := at + 2
		if uint32(w0>>16) == load32(p, at+2-recent) {
			at += 2
			match = at - recent
			if *(*byte)(unsafe.Add(p, at-1)) == *(*byte)(unsafe.Add(p, match-1)) {
				at--
			}
			f.add(p, anchor, at-anchor, 1)
		} else {
			if load32(p, match) != uint32(w0) {
				if load32(p, match1) != uint32(w1) {
					at += step
					if at >= grow {
						step++
						grow += growAfter
					}
					continue
				}
				match = match1
				at++
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
		*place(table, load64(p, seen)*prime>>(shift&63)) = uint32(seen)
		*place(table, load64(p, at-2)*prime>>(shift&63)) = uint32(at - 2)
		for at <= limit && load32(p, at) == load32(p, at-older) {
			recent, older = older, recent
			*place(table, load64(p, at)*prime>>(shift&63)) = uint32(at)
			f.add(p, at, 0, 1)
			at += 4 + matchLength(p, at+4, at+4-recent, end)
			f.sequences[f.found-1].match = uint32(at - anchor - 3)
			anchor = at
		}
		step, grow = f.step, at+growAfter
	}
	f.recent = [2]int{recent, older}
	return anchor
}
