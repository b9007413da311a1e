package zstd

import "encoding/binary"

// sequences is what the sequences of a block are decoded with. The assembly knows its layout.
type sequences struct {
	dst, src, lit []byte
	out           int // bytes of dst written
	litPos        int // bytes of lit used
	bitPos        int // of src, in bits: those before it are still to be read, last ones first
	bitEnd        int // where the bits of the sequences begin: what bitPos comes down to
	start         int // where the frame begins in dst: matches go no further back
	end           int // of dst: what the block must not exceed
	wordEnd       int // at most end, and so that slack bytes of dst follow
	left          int // sequences still to be done

	llState, ofState, mlState int
	recent                    [3]int // the last offsets, latest first

	llTable, mlTable [1 << 9]entry
	ofTable          [1 << 8]entry

	dist distribution
	logs [3]int // of each table, in the order of their descriptions, its accuracy log, or noTable
}

// noTable says that no table came yet in a frame.
const noTable = -1

// slack is how many bytes beyond the end of a literal run or a match may be written by the loop
// that copies words.
const slack = 32

// reset prepares for the first block of a frame (RFC 8878 section 3.1.1.5).
func (s *sequences) reset() {
	s.recent = [3]int{1, 4, 8}
	s.logs = [3]int{noTable, noTable, noTable}
}

// Modes of a code's table (RFC 8878 section 3.1.1.3.2.1.1).
const (
	predefinedMode = iota
	rleMode
	fseMode
	repeatMode
)

// readSequences reads the sequences section of a block, up to end, and executes its sequences.
func (d *decoder) readSequences(end int) error {
	if err := d.sequenceCount(end); err != nil {
		return err
	}
	if d.left == 0 {
		if d.pos != end {
			return d.corrupt("a block with %d bytes after its literals, which end it", end-d.pos)
		}
		return nil
	}
	if d.pos >= end {
		return d.truncatedSequences()
	}
	modes := d.src[d.pos]
	d.pos++
	if modes&3 != 0 {
		return d.corrupt("a block whose table modes are %#02x, the lowest bits are reserved", modes)
	}
	llLog, err := d.table(0, &llCode, d.llTable[:], modes>>6, end)
	if err != nil {
		return err
	}
	ofLog, err := d.table(1, &ofCode, d.ofTable[:], modes>>4&3, end)
	if err != nil {
		return err
	}
	mlLog, err := d.table(2, &mlCode, d.mlTable[:], modes>>2&3, end)
	if err != nil {
		return err
	}
	return d.execute(end, llLog, ofLog, mlLog)
}

// sequenceCount reads the number of sequences (RFC 8878 section 3.1.1.3.2.1).
func (d *decoder) sequenceCount(end int) error {
	b := d.src[d.pos:end]
	n := 1
	if len(b) > 0 && b[0] >= 128 {
		n = 2 + int(b[0])/255
	}
	if len(b) < n {
		return d.truncatedSequences()
	}
	d.pos += n
	switch n {
	case 1:
		d.left = int(b[0])
	case 2:
		d.left = int(b[0]-128)<<8 + int(b[1])
	case 3:
		d.left = int(b[1]) + int(b[2])<<8 + 0x7F00
	}
	return nil
}

// table reads the table of code number i in the given mode and returns its accuracy log.
func (d *decoder) table(i int, c *code, table []entry, mode byte, end int) (log int, err error) {
	if mode == repeatMode {
		if d.logs[i] == noTable {
			return 0, d.corrupt("no table of %s to repeat", c.name)
		}
		return d.logs[i], nil
	}
	switch mode {
	case predefinedMode:
		copy(table, c.defined)
		log = c.defLog
	case rleMode:
		if d.pos >= end {
			return 0, d.truncatedSequences()
		}
		symbol := int(d.src[d.pos])
		if symbol >= len(c.values) {
			return 0, d.corrupt("the symbol %d for all %s, the largest is %d", symbol, c.name,
				len(c.values)-1)
		}
		table[0] = newEntry(c.values[symbol], 0, 0)
		d.pos++
	case fseMode:
		n := d.dist.read(d.src[d.pos:end], c.maxLog, len(c.values))
		if n == 0 {
			return 0, d.corrupt("a malformed table of %s", c.name)
		}
		log = d.dist.log
		d.dist.build(table[:1<<log], c.values)
		d.pos += n
	}
	d.logs[i] = log
	return log, nil
}

// execute executes the sequences whose bits lie from pos to end.
func (d *decoder) execute(end, llLog, ofLog, mlLog int) error {
	var ok bool
	if d.bitPos, ok = streamEnd(d.src, d.pos, end); !ok {
		return d.corrupt("sequences without the bit that ends them")
	}
	d.bitEnd = 8 * d.pos
	d.wordEnd = min(d.end, cap(d.dst)-slack)
	d.llState, ok = d.take(llLog, true)
	d.ofState, ok = d.take(ofLog, ok)
	d.mlState, ok = d.take(mlLog, ok)
	if !ok {
		return d.truncatedSequences()
	}
	for d.left > 0 {
		if d.left > 1 && d.out <= d.wordEnd {
			d.run()
		}
		if d.bitPos < 0 {
			return d.badOffset(d.recent[0])
		}
		if err := d.sequence(); err != nil {
			return err
		}
	}
	if d.bitPos != d.bitEnd {
		return d.corrupt("%d bits after the last sequence of a block", d.bitPos-d.bitEnd)
	}
	return nil
}

// take reads the next n bits, at most 32. It reads none where ok is false or there are not enough.
func (s *sequences) take(n int, ok bool) (int, bool) {
	if !ok || n > s.bitPos-s.bitEnd {
		return 0, false
	}
	v := s.window() >> (56 + s.bitPos&7 - n) & (1<<n - 1)
	s.bitPos -= n
	return int(v), true
}

// window returns a word whose low 56 to 63 bits, 56 + bitPos mod 8, are the next ones. There are
// always so many bytes before them: the headers of frame, block, literals and sequences take 12 at
// least.
func (s *sequences) window() uint64 {
	return binary.LittleEndian.Uint64(s.src[s.bitPos>>3-7:])
}

// sequence decodes and executes the next sequence with every check.
func (d *decoder) sequence() error {
	ll, of, ml := d.llTable[d.llState], d.ofTable[d.ofState], d.mlTable[d.mlState]
	offset, ok := d.take(of.extra(), true)
	match, ok := d.take(ml.extra(), ok)
	length, ok := d.take(ll.extra(), ok)
	offset += of.base()
	match += ml.base()
	length += ll.base()
	d.left--
	if d.left > 0 {
		ok = d.step(ll, of, ml, ok)
	}
	if !ok {
		return d.truncatedSequences()
	}
	if length > len(d.lit)-d.litPos {
		return d.corrupt("a sequence with %d literals where %d are left", length,
			len(d.lit)-d.litPos)
	}
	if err := d.room(length + match); err != nil {
		return err
	}
	d.out += copy(d.dst[d.out:], d.lit[d.litPos:d.litPos+length])
	d.litPos += length
	offset = d.offset(offset, length)
	if uint(offset-1) >= uint(d.out-d.start) {
		return d.badOffset(offset)
	}
	d.repeat(offset, match)
	return nil
}

// step reads the next states.
func (s *sequences) step(ll, of, ml entry, ok bool) bool {
	s.llState, ok = s.take(ll.stateBits(), ok)
	s.mlState, ok = s.take(ml.stateBits(), ok)
	s.ofState, ok = s.take(of.stateBits(), ok)
	s.llState += ll.next()
	s.mlState += ml.next()
	s.ofState += of.next()
	return ok
}

// offset returns the offset that the value v stands for after so many literals, and keeps it (RFC
// 8878 section 3.1.1.5): 1 to 3 are the recent offsets, or, without literals, the second, the
// third, and the first less one.
func (s *sequences) offset(v, literals int) int {
	r := &s.recent
	// not v > 3: where an int has 32 bits the largest values are negative, and refused as offsets
	if uint(v) > 3 {
		*r = [3]int{v - 3, r[0], r[1]}
		return v - 3
	}
	if literals == 0 {
		v++
	}
	switch v {
	case 2:
		*r = [3]int{r[1], r[0], r[2]}
	case 3:
		*r = [3]int{r[2], r[0], r[1]}
	case 4:
		*r = [3]int{r[0] - 1, r[0], r[1]}
	}
	return r[0]
}

// repeat copies the match of the given length and offset, both checked.
func (s *sequences) repeat(offset, length int) {
	from := s.dst[s.out-offset : s.out+length]
	s.out += length
	for done := offset; done < len(from); done *= 2 {
		copy(from[done:], from[:done])
	}
}

func (d *decoder) badOffset(offset int) error {
	return d.corrupt("a match %d bytes back where %d were decoded", offset, d.out-d.start)
}

func (d *decoder) truncatedSequences() error {
	return d.corrupt("a block that ends within its sequences")
}
