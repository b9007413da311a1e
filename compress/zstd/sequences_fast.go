package zstd

// runPortable executes sequences as long as nothing can go wrong: it leaves some to sequence, which
// takes or refuses them: the last one, and the first one that runs into an end or needs more bits
// than a word has.
func (s *sequences) runPortable() {
	for s.left > 1 {
		ll, of, ml := s.llTable[s.llState&511], s.ofTable[s.ofState&255], s.mlTable[s.mlState&511]
		w, n := s.window(), 56+s.bitPos&7
		sum := ll.extra() + of.extra() + ml.extra() + ll.stateBits() + ml.stateBits() +
			of.stateBits()
		if sum > n || sum > s.bitPos-s.bitEnd {
			return
		}
		offset := bitsAt(w, &n, of.extra()) + of.base()
		match := bitsAt(w, &n, ml.extra()) + ml.base()
		length := bitsAt(w, &n, ll.extra()) + ll.base()
		if length > len(s.lit)-s.litPos || s.out+length+match > s.wordEnd {
			return
		}
		recent := s.recent
		offset = s.offset(offset, length)
		if uint(offset-1) >= uint(s.out+length-s.start) {
			s.recent = recent
			return
		}
		s.llState = bitsAt(w, &n, ll.stateBits()) + ll.next()
		s.mlState = bitsAt(w, &n, ml.stateBits()) + ml.next()
		s.ofState = bitsAt(w, &n, of.stateBits()) + of.next()
		s.bitPos -= sum
		s.left--
		s.copyLiterals(length)
		s.copyMatch(offset, match)
	}
}

// bitsAt returns the next width bits of w, of which n are left.
func bitsAt(w uint64, n *int, width int) int {
	*n -= width
	return int(w >> (*n & 63) & (1<<(width&63) - 1))
}

// copyLiterals copies the next literals. It may write up to slack bytes too many.
func (s *sequences) copyLiterals(length int) {
	from, to := s.lit[s.litPos:cap(s.lit)], s.dst[s.out:cap(s.dst)]
	s.litPos += length
	s.out += length
	if length > 64 {
		copy(to, from[:length])
		return
	}
	for n := 0; n < length; n += 16 {
		*(*[16]byte)(to[n:]) = *(*[16]byte)(from[n:])
	}
}

// copyMatch copies a match. It may write up to slack bytes too many.
func (s *sequences) copyMatch(offset, length int) {
	if offset < 16 || length > 64 {
		s.repeat(offset, length)
		return
	}
	from, to := s.dst[s.out-offset:cap(s.dst)], s.dst[s.out:cap(s.dst)]
	s.out += length
	for n := 0; n < length; n += 16 {
		*(*[16]byte)(to[n:]) = *(*[16]byte)(from[n:])
	}
}
