package zstd

import (
	"encoding/binary"
	"math/bits"
)

// maxHuffman is the longest code of literals, in bits (RFC 8878 section 4.2.1).
const maxHuffman = 11

// huffman is a table of codes of literals: by the next 11 bits, in two bytes, the length of the
// code that they begin with, and its literal.
type huffman struct {
	table [2 << maxHuffman]byte

	// What reading it needs. Of weights, only the first so many were read.
	weights [256]uint8
	states  [1 << maxWeightLog]entry
}

// maxWeightLog is the largest accuracy log of weights (RFC 8878 section 4.2.1.2).
const maxWeightLog = 6

// weightValues are the values of the symbols of an FSE table of weights: these themselves.
var weightValues = codeFrom(0, make([]uint8, 256))

// read reads the description of a tree (RFC 8878 section 4.2.1) that src[start:end] begins with,
// and returns its length, or 0 if it is invalid.
func (h *huffman) read(src []byte, start, end int, dist *distribution) int {
	if start == end {
		return 0
	}
	head := int(src[start])
	n, size := head-127, 1+head
	if head >= 128 {
		size = 1 + (n+1)/2
	}
	if end-start < size {
		return 0
	}
	start, end = start+1, start+size
	if head < 128 {
		n = h.compressedWeights(src, start, end, dist)
	} else {
		for i := range n {
			h.weights[i] = src[start+i/2] >> (4 * (^i & 1)) & 15
		}
	}
	if n == 0 || !h.build(n) {
		return 0
	}
	return size
}

// compressedWeights reads weights that an FSE table and two states in turn code, and returns their
// number, or 0 if they are malformed.
func (h *huffman) compressedWeights(src []byte, start, end int, dist *distribution) int {
	used := dist.read(src[start:end], maxWeightLog, len(weightValues))
	if used == 0 {
		return 0
	}
	start += used
	pos, ok := streamEnd(src, start, end)
	if !ok {
		return 0
	}
	table := h.states[:1<<dist.log]
	dist.build(table, weightValues)
	r := backReader{src: src, pos: pos, start: 8 * start}
	one := r.take(dist.log)
	two := r.take(dist.log)
	for n := 0; r.pos >= r.start && n < 254; n++ {
		e := table[one]
		h.weights[n] = uint8(e.base())
		one, two = two, e.next()+r.take(e.stateBits())
		if r.pos < r.start { // these bits are not there, so this state is no more
			h.weights[n+1] = uint8(table[one].base())
			return n + 2
		}
	}
	return 0
}

// backReader reads bits of src, those before bit pos, last ones first. It reads zeros for the few
// before start that it may be asked for.
type backReader struct {
	src        []byte
	pos, start int
}

// take reads the next n bits, at most 16.
func (r *backReader) take(n int) int {
	v := int(binary.LittleEndian.Uint64(r.src[r.pos>>3-7:])>>(56+r.pos&7-n)) & (1<<n - 1)
	r.pos -= n
	if r.pos < r.start {
		v &^= 1<<(r.start-r.pos) - 1
	}
	return v
}

// build makes the table of the n weights that were read and of the last weight, computed from
// these. It reports whether the weights are a complete code.
func (h *huffman) build(n int) bool {
	var count [maxHuffman + 1]int // of each weight
	for _, w := range h.weights[:n] {
		if w > maxHuffman {
			return false
		}
		count[w]++
	}
	total := 0
	for w := 1; w <= maxHuffman; w++ {
		total += count[w] << (w - 1)
	}
	longest := bits.Len(uint(total))
	rest := 1<<longest - total
	if total == 0 || longest > maxHuffman || rest&(rest-1) != 0 {
		return false
	}
	last := bits.Len(uint(rest))
	h.weights[n] = uint8(last)
	count[last]++
	if count[1] < 2 {
		return false
	}
	h.fill(n+1, longest, &count)
	return true
}

// fill fills the table: the longest codes first, those of one length by their literals.
func (h *huffman) fill(n, longest int, count *[maxHuffman + 1]int) {
	var at [maxHuffman + 1]int // of each weight: where its next literal goes
	scale := maxHuffman - longest
	for w, next := 1, 0; w <= maxHuffman; w++ {
		at[w] = next
		next += count[w] << (w - 1 + scale)
	}
	for literal, w := range h.weights[:n] {
		if w == 0 {
			continue
		}
		size := 1 << (int(w) - 1 + scale)
		put(h.table[2*at[w]:][:2*size], uint64(literal<<8|longest+1-int(w)))
		at[w] += size
	}
}

// put fills the entries in b, a power of two of them, with e.
func put(b []byte, e uint64) {
	switch len(b) {
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(e))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(e<<16|e))
	default:
		e *= 1<<48 | 1<<32 | 1<<16 | 1
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, e)
		}
	}
}

// entry returns the entry of the highest bits of w.
func (h *huffman) entry(w uint64) uint16 {
	return binary.LittleEndian.Uint16(h.table[w>>(64-maxHuffman)*2:])
}

// decode fills dst with literals of the stream src[start:end], and says whether that is just what
// it holds.
func (h *huffman) decode(dst, src []byte, start, end int) bool {
	pos, ok := streamEnd(src, start, end)
	return ok && h.finish(dst, src, start, pos)
}

// decode4 fills dst with the literals of four streams after their jump table (RFC 8878 section
// 3.1.1.3.1.6).
func (h *huffman) decode4(dst, src []byte, start, end int) bool {
	if end-start < 10 || len(dst) < 6 {
		return false
	}
	var s streams
	s.src, s.dst, s.table = src, dst, &h.table
	s.stride = (len(dst) + 3) / 4
	jumps := src[start:]
	s.starts[0] = start + 6
	for i := range 3 {
		s.starts[i+1] = s.starts[i] + int(binary.LittleEndian.Uint16(jumps[2*i:]))
	}
	s.starts[4] = end
	for i := range 4 {
		var ok bool
		if s.pos[i], ok = streamEnd(src, s.starts[i], s.starts[i+1]); !ok || s.starts[i+1] > end {
			return false
		}
	}
	s.run()
	for i := range 4 {
		if !h.finish(dst[min(i*s.stride, len(dst))+s.done:min((i+1)*s.stride, len(dst))], src,
			s.starts[i], s.pos[i]) {
			return false
		}
	}
	return true
}

// streams are four streams at work.
type streams struct {
	dst, src []byte
	table    *[2 << maxHuffman]byte
	stride   int    // each stream but the last has so many literals
	done     int    // literals done of each
	turns    int    // what the assembly shall do
	starts   [5]int // where the streams begin, and where the last ends
	pos      [4]int // of src, in bits: those before it are still to be read, last ones first
}

// literals per turn and stream: their codes and 7 bits fit in a word.
const perTurn = 5

// limit sets turns to how many can be done without coming to the end of a stream or its part of
// dst.
func (s *streams) limit() bool {
	s.turns = (len(s.dst) - 3*s.stride - s.done) / perTurn
	for i, p := range s.pos {
		s.turns = min(s.turns, (p-8*s.starts[i])/(perTurn*maxHuffman))
	}
	return s.turns > 0
}

// streamEnd returns where the bits of the stream src[start:end] end, which is before its highest
// bit set.
func streamEnd(src []byte, start, end int) (pos int, ok bool) {
	if start >= end || end > len(src) || src[end-1] == 0 {
		return 0, false
	}
	return 8*end - 9 + bits.Len8(src[end-1]), true
}

// finish fills dst with the literals of a stream from pos down to its start. There are always 8
// bytes before a stream: the headers of frame, block and literals.
func (h *huffman) finish(dst, src []byte, start, pos int) bool {
	start *= 8
	for len(dst) >= 4 && pos-start >= 4*maxHuffman {
		w := binary.LittleEndian.Uint64(src[pos>>3-7:]) << (8 - pos&7)
		for i := range dst[:4] {
			e := h.entry(w)
			dst[i] = byte(e >> 8)
			w <<= e & 63
			pos -= int(uint8(e))
		}
		dst = dst[4:]
	}
	for i := range dst {
		w := binary.LittleEndian.Uint64(src[pos>>3-7:]) << (8 - pos&7)
		e := h.entry(w)
		dst[i] = byte(e >> 8)
		pos -= int(uint8(e))
		if pos < start {
			return false
		}
	}
	return pos == start
}
