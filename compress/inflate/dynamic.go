package inflate

import "fmt"

// precodeOrder is the order of the code lengths of the precode in a block. The precode encodes the
// other code lengths (RFC 1951 section 3.2.7).
var precodeOrder = [maxPre]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readTables reads the head of a block of type 2 and builds its tables (RFC 1951 section 3.2.7).
func (s *stream) readTables(t *tables) error {
	s.refill()
	if s.nbits < 14 {
		return s.truncated()
	}
	lits, dists, pres := int(s.take(5))+257, int(s.take(5))+1, int(s.take(4))+4
	if lits > 286 || dists > 30 {
		return s.corrupt(fmt.Sprintf("%d literal/length and %d distance codes, expected at most "+
			"286 and 30", lits, dists))
	}
	if err := s.readPrecode(t, pres); err != nil {
		return err
	}
	if err := s.readLengths(t, lits+dists); err != nil {
		return err
	}
	if t.lens[endSymbol] == 0 {
		return s.corrupt("no code for the end of the block")
	}
	if !t.buildLit(lits) {
		return s.corrupt("an over-subscribed or incomplete set of literal/length codes")
	}
	if !t.buildDist(lits, dists) {
		return s.corrupt("an over-subscribed or incomplete set of distance codes")
	}
	return nil
}

// readPrecode reads n lengths of precodes, three bits each, and builds their table.
func (s *stream) readPrecode(t *tables, n int) error {
	var lens [maxPre]uint8
	for _, symbol := range precodeOrder[:n] {
		s.refill()
		if s.nbits < 3 {
			return s.truncated()
		}
		lens[symbol] = uint8(s.take(3))
	}
	if !t.buildPre(lens[:]) {
		return s.corrupt("an over-subscribed or incomplete set of codes for code lengths")
	}
	return nil
}

// readLengths reads n code lengths into t.lens.
func (s *stream) readLengths(t *tables, n int) error {
	for i := 0; i < n; {
		if s.nbits < 14 {
			s.refill()
		}
		e := t.pre[s.bits&(1<<preBits-1)]
		if uint64(e&totalBits) > s.nbits {
			return s.truncated()
		}
		if e&special != 0 {
			return s.corrupt("a code length's code that stands for nothing")
		}
		s.take(uint64(e & totalBits))
		symbol := uint8(e >> baseShift)
		if symbol < 16 {
			t.lens[i] = symbol
			i++
			continue
		}
		repeat, value, err := s.readRepeat(symbol, t.lens[:i])
		if err != nil {
			return err
		}
		if repeat > n-i {
			return s.corrupt(fmt.Sprintf("a code length repeated %d times where %d are missing",
				repeat, n-i))
		}
		for end := i + repeat; i < end; i++ {
			t.lens[i] = value
		}
	}
	return nil
}

// readRepeat reads how often the length before (symbol 16) or zero (17, 18) is repeated.
func (s *stream) readRepeat(symbol uint8, before []uint8) (repeat int, value uint8, err error) {
	extra, least := uint64(2), 3
	switch symbol {
	case 16:
		if len(before) == 0 {
			return 0, 0, s.corrupt("a repeated code length before any")
		}
		value = before[len(before)-1]
	case 17:
		extra = 3
	case 18:
		extra, least = 7, 11
	}
	if s.nbits < extra {
		return 0, 0, s.truncated()
	}
	return least + int(s.take(extra)), value, nil
}

// buildPre builds the table for code lengths; zlib accepts no incomplete code here.
func (t *tables) buildPre(lens []uint8) bool {
	clear(t.book.lits[:])
	if !t.book.assign(lens) {
		return false
	}
	t.book.fill(t.pre[:], preBits, preTemplates[:])
	return true
}

// buildLit builds the literal/length table from the first n lengths.
func (t *tables) buildLit(n int) bool {
	clear(t.book.lits[:])
	for _, bits := range t.lens[:endSymbol] {
		t.book.lits[bits&maxCode]++
	}
	t.book.lits[0] = 0
	if !t.book.assign(t.lens[:n]) {
		return false
	}
	t.book.fill(t.lit[:], litBits, litTemplates[:])
	return true
}

// buildDist builds the distance table from the n lengths at from.
func (t *tables) buildDist(from, n int) bool {
	clear(t.book.lits[:])
	if !t.book.assign(t.lens[from : from+n]) {
		return false
	}
	t.book.fill(t.dist[:], distBits, distTemplates[:])
	return true
}
