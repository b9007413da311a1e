package zstd

import "unsafe"

// findFast looks at every other place only, for a match that one table knows, and for one of the last offset. It looks at fewer places the
// longer it finds none, as zstd's fast strategy does. It returns where the literals after the last match begin.
//
// It works through unsafe pointers because most of the time goes here. All accesses are within bounds: no place is beyond
// end-searchRoom, hashes have tableLog bits, and what an entry leads to is at or behind low, whatever it holds.
func (f *finder) findFast(src []byte, start, end int) (anchor int) {
	p, table := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(f.table))
	prime, shift := primes[f.hashBytes], 64-f.tableLog&63
	origin := uint32(f.origin)
	low := max(0, end-1<<f.windowLog)
	limit := end - searchRoom
	recent, older := f.recent[0], f.recent[1]
	anchor = start
	at := max(start, 1)

search:
	for {
		step := f.step
		grow := at + growAfter
		next, third := at+1, at+step
		if third >= limit {
			break
		}
		hash := load64(p, at) * prime >> (shift & 63)
		nextHash := load64(p, next) * prime >> (shift & 63)
		entry := *place(table, hash)
		var match, length, code int
		for {
			word := load64(p, third)
			*place(table, hash) = uint32(at) + origin
			if uint32(word) == load32(p, third-recent) {
				*place(table, nextHash) = uint32(next) + origin
				hash = uint64(at + 2)
				at, match, length, code = third, third-recent, 4, 1
				if *(*byte)(unsafe.Add(p, at-1)) == *(*byte)(unsafe.Add(p, match-1)) {
					at, match, length = at-1, match-1, 5
				}
				break
			}
			if d := uint32(at) + origin - entry; d-1 < uint32(at-low) && load32(p, at-int(d)) == load32(p, at) {
				*place(table, nextHash) = uint32(next) + origin
				match = at - int(d)
				hash = uint64(at + 2)
				break
			}
			entry = *place(table, nextHash)
			hash, nextHash = nextHash, word*prime>>(shift&63)
			at, next, third = next, third, third+1
			*place(table, hash) = uint32(at) + origin
			if d := uint32(at) + origin - entry; d-1 < uint32(at-low) && load32(p, at-int(d)) == load32(p, at) {
				if step <= 4 {
					*place(table, nextHash) = uint32(next) + origin
				}
				match = at - int(d)
				hash = uint64(at + 2)
				break
			}
			entry = *place(table, nextHash)
			hash, nextHash = nextHash, load64(p, third)*prime>>(shift&63)
			at, next, third = next, third, next+step
			if third >= grow {
				step++
				grow += growAfter
			}
			if third >= limit {
				break search
			}
		}
		if code == 0 {
			older, recent = recent, at-match
			code, length = recent+3, 4
			for at > anchor && match > low && *(*byte)(unsafe.Add(p, at-1)) == *(*byte)(unsafe.Add(p, match-1)) {
				at, match, length = at-1, match-1, length+1
			}
		}
		length += matchLength(p, at+length, match+length, end)
		f.add(p, anchor, at-anchor, length, code)
		at += length
		anchor = at
		if at > limit {
			break
		}
		seen := int(hash)
		*place(table, load64(p, seen)*prime>>(shift&63)) = uint32(seen) + origin
		*place(table, load64(p, at-2)*prime>>(shift&63)) = uint32(at-2) + origin
		for at <= limit && load32(p, at) == load32(p, at-older) {
			length = 4 + matchLength(p, at+4, at+4-older, end)
			recent, older = older, recent
			*place(table, load64(p, at)*prime>>(shift&63)) = uint32(at) + origin
			f.add(p, anchor, 0, length, 1)
			at += length
			anchor = at
		}
	}
	f.recent = [2]int{recent, older}
	return anchor
}
