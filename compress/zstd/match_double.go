package zstd

import "unsafe"

// findDouble looks for a match of 8 bytes that the one table knows, else for a shorter one that the other knows, and for one of the last
// offset, as zstd's double-fast strategy does. It returns where the literals after the last match begin. See findFast for its pointers.
func (f *finder) findDouble(src []byte, start, end int) (anchor int) {
	p, long, short := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(f.table)), unsafe.Pointer(unsafe.SliceData(f.short))
	longPrime, longShift := primes[8], 64-f.tableLog&63
	prime, shift := primes[f.hashBytes], 64-f.shortLog&63
	origin := uint32(f.origin)
	low := max(0, end-1<<f.windowLog)
	limit := end - searchRoom
	recent, older := f.recent[0], f.recent[1]
	anchor = start
	at := max(start, 1)

search:
	for {
		step := 1
		grow := at + 2*growAfter
		next := at + 1
		if next > limit {
			break
		}
		word := load64(p, at)
		hash := word * longPrime >> (longShift & 63)
		entry := *place(long, hash)
		var seen, match, length, code int
		for {
			shortHash := word * prime >> (shift & 63)
			shortEntry := *place(short, shortHash)
			*place(long, hash) = uint32(at) + origin
			*place(short, shortHash) = uint32(at) + origin
			seen = at + 2
			if load32(p, at+1) == load32(p, at+1-recent) {
				at++
				match, length, code = at-recent, 4, 1
				break
			}
			nextWord := load64(p, next)
			hash = nextWord * longPrime >> (longShift & 63)
			nextEntry := *place(long, hash)
			if d := uint32(at) + origin - entry; d-1 < uint32(at-low) && load64(p, at-int(d)) == word {
				match, length = at-int(d), 8
				if step < 4 {
					*place(long, hash) = uint32(next) + origin
				}
				break
			}
			if d := uint32(at) + origin - shortEntry; d-1 < uint32(at-low) && load32(p, at-int(d)) == uint32(word) {
				match, length = at-int(d), 4
				if step < 4 {
					*place(long, hash) = uint32(next) + origin
				}
				if d := uint32(next) + origin - nextEntry; d-1 < uint32(next-low) && load64(p, next-int(d)) == nextWord {
					at, match, length = next, next-int(d), 8
				}
				break
			}
			if next >= grow {
				step++
				grow += 2 * growAfter
			}
			at, next, word, entry = next, next+step, nextWord, nextEntry
			if next > limit {
				break search
			}
		}
		length += matchLength(p, at+length, match+length, end)
		if code == 0 {
			older, recent = recent, at-match
			code = recent + 3
			for at > anchor && match > low && *(*byte)(unsafe.Add(p, at-1)) == *(*byte)(unsafe.Add(p, match-1)) {
				at, match, length = at-1, match-1, length+1
			}
		}
		f.add(p, anchor, at-anchor, length, code)
		at += length
		anchor = at
		if at > limit {
			break
		}
		*place(long, load64(p, seen)*longPrime>>(longShift&63)) = uint32(seen) + origin
		*place(long, load64(p, at-2)*longPrime>>(longShift&63)) = uint32(at-2) + origin
		*place(short, load64(p, seen)*prime>>(shift&63)) = uint32(seen) + origin
		*place(short, load64(p, at-1)*prime>>(shift&63)) = uint32(at-1) + origin
		for at <= limit && load32(p, at) == load32(p, at-older) {
			length = 4 + matchLength(p, at+4, at+4-older, end)
			recent, older = older, recent
			word := load64(p, at)
			*place(long, word*longPrime>>(longShift&63)) = uint32(at) + origin
			*place(short, word*prime>>(shift&63)) = uint32(at) + origin
			f.add(p, anchor, 0, length, 1)
			at += length
			anchor = at
		}
	}
	f.recent = [2]int{recent, older}
	return anchor
}
