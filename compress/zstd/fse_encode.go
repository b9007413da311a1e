package zstd

import (
	"math"
	"math/bits"
)

// fseEncoder is an FSE table to encode with. The assembly knows its layout.
type fseEncoder struct {
	log     int
	symbols int
	normal  [64]uint16     // of each symbol: its number of states
	table   [1 << 9]uint16 // states by the order of their symbols
	steps   [64]fseStep
}

// fseStep says how a symbol is encoded from a state: that gives its low (state+width)>>16 bits, and
// the next one is in the table at what is left of it plus find. The assembly knows its layout.
type fseStep struct {
	width uint32
	find  int32
}

// logs2 are the binary logarithms of the numbers of states, in 256ths.
var logs2 [1<<9 + 1]uint16

func init() {
	for i := 1; i < len(logs2); i++ {
		logs2[i] = uint16(math.Round(256 * math.Log2(float64(i))))
	}
}

// cost returns how many bits symbols of these counts take, about; a large number if some have no
// state.
func (t *fseEncoder) cost(counts []uint32) int {
	sum := 0
	for s, n := range counts {
		if n == 0 {
			continue
		}
		if s >= t.symbols || t.normal[s] == 0 {
			return math.MaxInt
		}
		sum += int(n) * (t.log<<8 - int(logs2[t.normal[s]]))
	}
	return sum >> 8
}

// normalise chooses the number of states of each symbol by the counts of the symbols. total is the
// sum of the counts. There must be two symbols at least.
func (t *fseEncoder) normalise(counts []uint32, total, maxLog int) {
	t.symbols = len(counts)
	least := min(bits.Len(uint(total)), bits.Len(uint(len(counts)-1))+1)
	t.log = min(max(bits.Len(uint(total-1))-3, least, 5), maxLog)
	size := 1 << t.log
	left, most, used := size, 0, 0
	for s, n := range counts {
		if n == 0 {
			t.normal[s] = 0
			continue
		}
		used++
		v := max(1, (int(n)*size+total/2)/total)
		t.normal[s] = uint16(v)
		left -= v
		if v > int(t.normal[most]) || counts[most] == 0 {
			most = s
		}
	}
	if -left < int(t.normal[most])/4 {
		t.normal[most] = uint16(int(t.normal[most]) + left)
		return
	}
	for left < 0 { // there are many rare symbols: all others pay
		for s := range counts {
			if t.normal[s] > 1 && left < 0 {
				pay := min((int(t.normal[s])+7)/8, -left, int(t.normal[s])-1)
				t.normal[s] -= uint16(pay)
				left += pay
			}
		}
	}
}

// build makes the table of normal (RFC 8878 section 4.1.1). Symbols with low set have a single
// state at the end.
func (t *fseEncoder) build(low uint64) {
	size := 1 << t.log
	var symbol [1 << 9]uint8
	var next [64]uint16
	high := size - 1
	total := 0
	for s, n := range t.normal[:t.symbols] {
		next[s] = uint16(total)
		if n == 0 {
			continue
		}
		t.steps[s].find = int32(total - int(n))
		if low>>s&1 != 0 {
			symbol[high] = uint8(s)
			high--
		}
		width := t.log
		if n > 1 {
			width = t.log - bits.Len16(n-1) + 1
		}
		t.steps[s].width = uint32(width<<16 - int(n)<<width)
		total += int(n)
	}
	pos, step := 0, size>>1+size>>3+3
	for s, n := range t.normal[:t.symbols] {
		if low>>s&1 != 0 {
			continue
		}
		for range n {
			symbol[pos] = uint8(s)
			for pos = (pos + step) & (size - 1); pos > high; {
				pos = (pos + step) & (size - 1)
			}
		}
	}
	for i := range size {
		s := symbol[i]
		t.table[next[s]] = uint16(size + i)
		next[s]++
	}
}

// single makes the table of one symbol only, whose state takes no bits.
func (t *fseEncoder) single(symbol int) {
	t.log, t.symbols = 0, symbol+1
	clear(t.normal[:t.symbols])
	t.normal[symbol] = 1
	t.steps[symbol] = fseStep{}
	t.table[0] = 0
}

// first returns a state that the symbol begins with, the cheapest one.
func (t *fseEncoder) first(symbol uint8) uint32 {
	s := t.steps[symbol]
	width := (s.width + 1<<15) >> 16
	return uint32(t.table[int32((width<<16-s.width)>>width)+s.find])
}

// at returns how many low bits of a state are to be written for the symbol, and the state after it.
func (t *fseEncoder) at(symbol uint8, state uint32) (width int, next uint32) {
	s := t.steps[symbol]
	width = int((state + s.width) >> 16)
	return width, uint32(t.table[int32(state>>(width&31))+s.find])
}

// appendDescription appends the description of the table (RFC 8878 section 4.1.1).
func (t *fseEncoder) appendDescription(dst []byte) []byte {
	w := bitWriter{dst: dst}
	w.add(uint64(t.log-5), 4)
	left := 1 << t.log
	for s := 0; left > 0; {
		n := int(t.normal[s])
		width := bits.Len(uint(left + 1))
		short := 1<<width - 2 - left // so many numbers take a bit less
		switch v := n + 1; {
		case v < short:
			w.add(uint64(v), width-1)
		case v >= 1<<(width-1):
			w.add(uint64(v+short), width)
		default:
			w.add(uint64(v), width)
		}
		left -= n
		s++
		if n > 0 {
			continue
		}
		for {
			repeat := 0
			for repeat < 3 && t.normal[s+repeat] == 0 {
				repeat++
			}
			w.add(uint64(repeat), 2)
			s += repeat
			if repeat < 3 {
				break
			}
		}
	}
	return w.close()
}

// bitWriter appends bits, lowest first.
type bitWriter struct {
	dst []byte
	acc uint64
	n   int
}

// add appends the low width bits of v, at most 32, whose others are 0.
func (w *bitWriter) add(v uint64, width int) {
	w.acc |= v << (w.n & 63)
	for w.n += width; w.n >= 8; w.n -= 8 {
		w.dst = append(w.dst, byte(w.acc))
		w.acc >>= 8
	}
}

// close fills the last byte up.
func (w *bitWriter) close() []byte {
	if w.n > 0 {
		w.dst = append(w.dst, byte(w.acc))
	}
	return w.dst
}
