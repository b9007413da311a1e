package zstd

import (
	"encoding/binary"
	"math/bits"
)

// entry is what a state of an FSE table stands for: a value to read, and the next state. The
// assembly loads its four parts by themselves.
type entry uint64

// newEntry returns the entry of a value whose next state is next and so many more bits.
func newEntry(v value, next, stateBits int) entry {
	return entry(next) | entry(v.extra)<<16 | entry(stateBits)<<24 | entry(v.base)<<32
}

func (e entry) next() int      { return int(uint16(e)) }
func (e entry) extra() int     { return int(uint8(e >> 16)) }
func (e entry) stateBits() int { return int(uint8(e >> 24)) }
func (e entry) base() int      { return int(e >> 32) }

// value is a number from base on, of which so many extra bits follow.
type value struct {
	base  uint32
	extra uint8
}

// code is how one of the three numbers of a sequence is coded.
type code struct {
	name    string
	maxLog  int     // largest accuracy log
	values  []value // by symbol
	normal  []int16 // predefined distribution, of accuracy log defLog
	defLog  int
	defined []entry // its table
}

// The codes of literal lengths, offsets and match lengths (RFC 8878 section 3.1.1.3.2.1.1) with
// their default distributions (section 3.1.1.3.2.2).
var (
	llCode = code{
		name: "literal lengths", maxLog: 9, defLog: 6,
		values: codeFrom(0, []uint8{
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9,
			10, 11, 12, 13, 14, 15, 16,
		}),
		normal: []int16{
			4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1,
			1, 1, 1, -1, -1, -1, -1,
		},
	}
	ofCode = code{
		name: "offsets", maxLog: 8, defLog: 5,
		values: codeFrom(1, []uint8{
			0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
			24, 25, 26, 27, 28, 29, 30, 31,
		}),
		normal: []int16{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1,
			-1, -1, -1, -1},
	}
	mlCode = code{
		name: "match lengths", maxLog: 9, defLog: 6,
		values: codeFrom(3, []uint8{
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0,
			1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		}),
		normal: []int16{
			1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
			1, 1, 1,
			1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
		},
	}
)

func init() {
	for _, c := range []*code{&llCode, &ofCode, &mlCode} {
		var n distribution
		n.log = c.defLog
		n.symbols = copy(n.count[:], c.normal)
		c.defined = make([]entry, 1<<c.defLog)
		n.build(c.defined, c.values)
	}
}

// codeFrom returns the values of a code whose symbols cover all numbers from first on, with so many
// extra bits each.
func codeFrom(first uint32, extra []uint8) []value {
	values := make([]value, len(extra))
	for i, n := range extra {
		values[i] = value{first, n}
		first += 1 << n
	}
	return values
}

// distribution says how often each symbol stands in an FSE table of 1<<log states; -1 is a single
// state at its end.
type distribution struct {
	log     int
	symbols int
	count   [256]int16
}

// bitReader reads bits lowest first.
type bitReader struct {
	src []byte
	pos int // in bits; may go beyond src, where zeros are read
}

// peek returns the next n bits, at most 16.
func (r *bitReader) peek(n int) int {
	b := r.src[min(r.pos>>3, len(r.src)):]
	var v uint64
	if len(b) >= 4 {
		v = uint64(binary.LittleEndian.Uint32(b))
	} else {
		v = little(b)
	}
	return int(v >> (r.pos & 7) & (1<<n - 1))
}

// read decodes a table description (RFC 8878 section 4.1.1) at the start of src and returns its
// length, or 0 if it is invalid.
func (n *distribution) read(src []byte, maxLog, maxSymbols int) int {
	r := bitReader{src: src}
	n.log = r.peek(4) + 5
	r.pos = 4
	if n.log > maxLog {
		return 0
	}
	n.symbols = 0
	for left := 1 << n.log; left > 0; {
		if n.symbols >= maxSymbols || r.pos > 8*len(src) {
			return 0
		}
		count := r.count(left) - 1
		n.count[n.symbols] = int16(count)
		n.symbols++
		left -= max(count, -count)
		for repeat := 3; count == 0 && repeat == 3; {
			repeat = r.peek(2)
			r.pos += 2
			if n.symbols+repeat > maxSymbols || r.pos > 8*len(src) {
				return 0
			}
			clear(n.count[n.symbols : n.symbols+repeat])
			n.symbols += repeat
		}
	}
	if r.pos > 8*len(src) {
		return 0
	}
	return (r.pos + 7) >> 3
}

// count reads a number from 0 to left+1. Where these are not a power of two, the low ones take a
// bit less.
func (r *bitReader) count(left int) int {
	width := bits.Len(uint(left + 1))
	short := 1<<width - 2 - left // so many numbers take a bit less
	v := r.peek(width)
	if low := v & (1<<(width-1) - 1); low < short {
		r.pos += width - 1
		return low
	}
	r.pos += width
	if v >= 1<<(width-1) {
		v -= short
	}
	return v
}

// build makes the table of a distribution (RFC 8878 section 4.1.1), of 1<<log entries, whose
// symbols have the given values.
func (n *distribution) build(table []entry, values []value) {
	size := len(table)
	var next [256]uint16 // of each symbol: its number of states, then its next one's
	var symbol [1 << 9]uint8
	high := size - 1
	for s, c := range n.count[:n.symbols] {
		next[s] = uint16(max(c, -c))
		if c < 0 {
			symbol[high] = uint8(s)
			high--
		}
	}
	pos, step := 0, size>>1+size>>3+3
	for s, c := range n.count[:n.symbols] {
		for range c {
			symbol[pos] = uint8(s)
			for pos = (pos + step) & (size - 1); pos > high; {
				pos = (pos + step) & (size - 1)
			}
		}
	}
	for i := range table {
		s := symbol[i]
		x := next[s]
		next[s]++
		width := n.log + 1 - bits.Len16(x)
		table[i] = newEntry(values[s], int(x)<<width-size, width)
	}
}
