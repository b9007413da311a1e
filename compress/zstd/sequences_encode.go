package zstd

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

// sequencesEncoder encodes the sequences sections of the blocks of a frame.
type sequencesEncoder struct {
	codes  [maxBlock / minMatch]sequenceCodes
	tables [3]codeEncoder // in the order of their descriptions
}

// sequenceCodes are the symbols of a sequence.
type sequenceCodes struct{ literals, offset, match uint8 }

// codeEncoder encodes one of the three numbers of sequences.
type codeEncoder struct {
	counts [64]uint32
	kept   bool // table is what the decoder has
	table  fseEncoder
	fresh  fseEncoder
}

// definedEncoders are the predefined tables (RFC 8878 section 3.1.1.3.2.2), in the order of their
// descriptions.
var definedEncoders [3]fseEncoder

// lengthCodes are the symbols of literal lengths below 64, and of match lengths less 3 below 128.
// Of larger ones they follow from the number of bits.
var (
	literalCodes [64]uint8
	matchCodes   [128]uint8
)

func init() {
	for i, c := range []*code{&llCode, &ofCode, &mlCode} {
		t := &definedEncoders[i]
		t.log, t.symbols = c.defLog, len(c.normal)
		var low uint64
		for s, n := range c.normal {
			t.normal[s] = uint16(max(n, -n))
			if n < 0 {
				low |= 1 << s
			}
		}
		t.build(low)
	}
	symbolsOf(literalCodes[:], llCode.values, 0)
	symbolsOf(matchCodes[:], mlCode.values, 3)
}

// symbolsOf fills table with the symbols of the numbers from first on.
func symbolsOf(table []uint8, values []value, first uint32) {
	s := 0
	for i := range table {
		for s+1 < len(values) && values[s+1].base <= uint32(i)+first {
			s++
		}
		table[i] = uint8(s)
	}
}

func (e *sequencesEncoder) reset() {
	for i := range e.tables {
		e.tables[i].kept = false
	}
}

// appendSequences appends the sequences section of a block (RFC 8878 section 3.1.1.3.2).
func (e *sequencesEncoder) appendSequences(dst []byte, all []sequence) []byte {
	n := len(all)
	switch {
	case n < 128:
		dst = append(dst, byte(n))
	case n < 0x7F00:
		dst = append(dst, byte(n>>8+128), byte(n))
	default:
		dst = append(dst, 255, byte(n-0x7F00), byte((n-0x7F00)>>8))
	}
	if n == 0 {
		return dst
	}
	e.code(all)
	modesAt := len(dst)
	dst = append(dst, 0)
	for i := range e.tables {
		var mode byte
		mode, dst = e.tables[i].choose(dst, i, n)
		dst[modesAt] |= mode << (6 - 2*i)
	}
	return e.appendBits(dst, all)
}

// code finds the symbols of all sequences and counts them.
func (e *sequencesEncoder) code(all []sequence) {
	ll, of, ml := &e.tables[0].counts, &e.tables[1].counts, &e.tables[2].counts
	clear(ll[:])
	clear(of[:])
	clear(ml[:])
	codes := e.codes[:len(all)]
	for i, s := range all {
		var c sequenceCodes
		if s.literals < 64 {
			c.literals = literalCodes[s.literals]
		} else {
			c.literals = uint8(bits.Len32(s.literals) + 18)
		}
		if s.match < 128 {
			c.match = matchCodes[s.match]
		} else {
			c.match = uint8(bits.Len32(s.match) + 35)
		}
		c.offset = uint8(bits.Len32(s.offset) - 1)
		codes[i] = c
		ll[c.literals&63]++
		of[c.offset&63]++
		ml[c.match&63]++
	}
}

// choose chooses the table of code number i for n sequences and appends its description.
func (c *codeEncoder) choose(dst []byte, i, n int) (mode byte, out []byte) {
	counts := c.counts[:]
	for counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	most := uint32(0)
	for _, v := range counts {
		most = max(most, v)
	}
	best := definedEncoders[i].cost(counts)
	mode = predefinedMode
	if c.kept {
		if cost := c.table.cost(counts); cost <= best {
			best, mode = cost, repeatMode
		}
	}
	if int(most) == n {
		if best > 8 {
			c.kept = true
			c.table.single(len(counts) - 1)
			return rleMode, append(dst, byte(len(counts)-1))
		}
	} else if best > 8*2 {
		c.fresh.normalise(counts, n, []*code{&llCode, &ofCode, &mlCode}[i].maxLog)
		described := c.fresh.appendDescription(dst)
		if cost := c.fresh.cost(counts); cost != math.MaxInt &&
			cost+8*(len(described)-len(dst)) < best {
			c.fresh.build(0)
			c.table, c.kept = c.fresh, true
			return fseMode, described
		}
	}
	if mode == predefinedMode {
		c.table, c.kept = definedEncoders[i], true
	}
	return mode, dst
}

// appendBits appends the bits of all sequences, the last one first (RFC 8878 section
// 3.1.1.3.2.1.2). There is room for all of them.
func (e *sequencesEncoder) appendBits(dst []byte, all []sequence) []byte {
	ll, of, ml := &e.tables[0].table, &e.tables[1].table, &e.tables[2].table
	last := len(all) - 1
	c, s := e.codes[last], &all[last]
	w := sequenceWriter{
		to: unsafe.Pointer(unsafe.SliceData(dst[:cap(dst)])), at: len(dst), ll: ll, of: of, ml: ml,
		llState: ll.first(c.literals), ofState: of.first(c.offset), mlState: ml.first(c.match),
	}
	w.extra(c, s)
	for w.left = last; w.left > 0; {
		w.next, w.nextCodes = &all[w.left-1], &e.codes[w.left-1]
		if w.run(); w.left > 0 {
			w.left--
			w.sequence(e.codes[w.left], &all[w.left])
		}
	}
	w.add(uint64(w.mlState), ml.log)
	w.add(uint64(w.ofState), of.log)
	w.add(uint64(w.llState), ll.log)
	return dst[:w.end()]
}

// sequenceWriter writes bits lowest first by words, up to 8 bytes beyond them. The assembly knows
// its layout.
type sequenceWriter struct {
	to  unsafe.Pointer
	at  int    // bytes of to written
	acc uint64 // the bits still to be written
	n   uint64 // so many

	ll, of, ml                *fseEncoder
	llState, ofState, mlState uint32

	left      int       // sequences still to be written
	next      *sequence // the last of them, which is the next one
	nextCodes *sequenceCodes
}

// add adds the low width bits of v, at most 32.
func (w *sequenceWriter) add(v uint64, width int) {
	w.acc |= v & (1<<width - 1) << w.n
	w.n += uint64(width)
}

// flush writes all whole bytes. It must be called before there are more than 64 bits.
func (w *sequenceWriter) flush() {
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(w.to, w.at))[:], w.acc)
	w.at += int(w.n >> 3)
	w.acc >>= w.n &^ 7
	w.n &= 7
}

// sequence adds the bits of a sequence: of the states, 26 at most, and those that follow the
// symbols.
func (w *sequenceWriter) sequence(c sequenceCodes, s *sequence) {
	width, next := w.of.at(c.offset, w.ofState)
	w.add(uint64(w.ofState), width)
	w.ofState = next
	width, next = w.ml.at(c.match, w.mlState)
	w.add(uint64(w.mlState), width)
	w.mlState = next
	width, next = w.ll.at(c.literals, w.llState)
	w.add(uint64(w.llState), width)
	w.llState = next
	w.extra(c, s)
}

// extra adds the bits that follow the symbols of a sequence.
func (w *sequenceWriter) extra(c sequenceCodes, s *sequence) {
	if s.literals >= shortLiterals || s.match >= shortMatch {
		w.flush()
		w.add(uint64(s.literals), int(llCode.values[c.literals].extra))
		w.add(uint64(s.match), int(mlCode.values[c.match].extra))
		w.flush()
	}
	w.add(uint64(s.offset), int(c.offset))
	w.flush()
}

// No bits follow the symbols of fewer literals, and of shorter matches less 3.
const (
	shortLiterals = 16
	shortMatch    = 32
)

// end writes the bit that ends a stream and returns the end of the stream.
func (w *sequenceWriter) end() int {
	w.add(1, 1)
	w.flush()
	if w.n > 0 {
		w.at++
	}
	return w.at
}
