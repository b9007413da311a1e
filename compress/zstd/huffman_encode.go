package zstd

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// huffmanEncoder is a Huffman code of literals.
type huffmanEncoder struct {
	codes   [256]uint32 // the code, and its length in the highest byte; 0 where a literal has none
	symbols int         // so many have codes, or are before such
	longest int
}

const codeMask = 1<<24 - 1

// cost returns how many bits literals of these counts take, or a large number if some have no code.
func (h *huffmanEncoder) cost(counts *[256]uint32) int {
	sum := 0
	for s, n := range counts {
		if n == 0 {
			continue
		}
		if h.codes[s] == 0 {
			return math.MaxInt
		}
		sum += int(n) * int(h.codes[s]>>24)
	}
	return sum
}

// build makes a code for literals of these counts, at least two of them.
func (h *huffmanEncoder) build(counts *[256]uint32) {
	var order [256]uint32 // count and symbol, the rarest first
	n := 0
	for s, c := range counts {
		if c > 0 {
			order[n] = c<<8 | uint32(s)
			n++
			h.symbols = s + 1
		}
	}
	slices.Sort(order[:n])
	lengths := lengthsOf(order[:n])
	h.longest = int(lengths[0])

	// Codes of one length are in the order of their symbols, the longest codes come first (RFC 8878
	// section 4.2.1.3).
	var first [maxHuffman + 2]uint32
	for _, l := range lengths[:n] {
		first[l]++
	}
	next := uint32(0)
	for l := h.longest; l > 0; l-- {
		count := first[l]
		first[l] = next
		next = (next + count) >> 1
	}
	clear(h.codes[:])
	for i, o := range order[:n] {
		h.codes[uint8(o)] = uint32(lengths[i]) << 24
	}
	for s := range h.codes[:h.symbols] {
		if l := h.codes[s] >> 24; l > 0 {
			h.codes[s] |= first[l]
			first[l]++
		}
	}
}

// lengthsOf returns the lengths of the codes of symbols by their counts, the rarest first, at most
// maxHuffman bits.
func lengthsOf(order []uint32) (lengths [256]uint8) {
	// Huffman's algorithm: of the leaves and the nodes made so far, both from the rarest on, the
	// two rarest become the next node.
	n := len(order)
	var weight [256]uint32
	var leafParent, nodeParent [256]uint16
	leaf, node := 0, 0
	for made := range n - 1 {
		for range 2 {
			if node >= made || leaf < n && order[leaf]>>8 <= weight[node] {
				weight[made] += order[leaf] >> 8
				leafParent[leaf] = uint16(made)
				leaf++
			} else {
				weight[made] += weight[node]
				nodeParent[node] = uint16(made)
				node++
			}
		}
	}
	var depth [256]uint8
	for i := n - 3; i >= 0; i-- {
		depth[i] = depth[nodeParent[i]] + 1
	}
	var count [maxHuffman + 1]int // of each length
	excess := -1 << maxHuffman
	for i := range n {
		l := min(depth[leafParent[i]]+1, maxHuffman)
		count[l]++
		excess += 1 << (maxHuffman - l)
	}
	// Where codes were shortened to the longest length there is, others become longer.
	for ; excess > 0; excess-- {
		l := maxHuffman - 1
		for count[l] == 0 {
			l--
		}
		count[l]--
		count[l+1] += 2
		count[maxHuffman]--
	}
	i := 0
	for l := maxHuffman; l > 0; l-- {
		for range count[l] {
			lengths[i] = uint8(l)
			i++
		}
	}
	return lengths
}

// appendDescription appends the description of the tree (RFC 8878 section 4.2.1), if there is one.
func (h *huffmanEncoder) appendDescription(dst []byte) (out []byte, ok bool) {
	var weights [256]uint8
	n := h.symbols - 1 // the last one's follows from the others
	for s, c := range h.codes[:n] {
		if l := int(c >> 24); l > 0 {
			weights[s] = uint8(h.longest + 1 - l)
		}
	}
	start := len(dst)
	out = appendWeights(append(dst, 0), weights[:n])
	if size := len(out) - start - 1; size > 0 && size < 128 && (n > 128 || size < (n+1)/2) {
		out[start] = byte(size)
		return out, true
	}
	if n > 128 {
		return dst, false
	}
	out = append(out[:start], byte(127+n))
	for i := 0; i < n; i += 2 {
		out = append(out, weights[i]<<4|weights[i+1])
	}
	return out, true
}

// appendWeights appends weights coded by an FSE table and two states in turn (RFC 8878 section
// 4.2.1.2), or nothing where that can't be.
func appendWeights(dst []byte, weights []uint8) []byte {
	var counts [maxHuffman + 1]uint32
	symbols, used, most := 0, 0, uint32(0)
	for _, w := range weights {
		if counts[w] == 0 {
			used++
		}
		counts[w]++
		symbols = max(symbols, int(w)+1)
		most = max(most, counts[w])
	}
	if used < 2 || most < 2 {
		return dst
	}
	var t fseEncoder
	t.normalise(counts[:symbols], len(weights), maxWeightLog)
	dst = t.appendDescription(dst)
	t.build(0)
	var states [2]uint32 // of the weights with even and odd numbers
	last := len(weights) - 1
	states[last&1] = t.first(weights[last])
	states[last&1^1] = t.first(weights[last-1])
	w := bitWriter{dst: dst}
	for i := last - 2; i >= 0; i-- {
		state := states[i&1]
		width, next := t.at(weights[i], state)
		w.add(uint64(state&(1<<width-1)), int(width))
		states[i&1] = next
	}
	w.add(uint64(states[1])&(1<<t.log-1), t.log)
	w.add(uint64(states[0])&(1<<t.log-1), t.log)
	w.add(1, 1)
	return w.close()
}

// appendStreams appends the literals as four streams after their jump table (RFC 8878 section
// 3.1.1.3.1.6). There is room for them.
func (h *huffmanEncoder) appendStreams(dst, literals []byte) []byte {
	jumps := len(dst)
	dst = append(dst, make([]byte, 6)...)
	stride := (len(literals) + 3) / 4
	for i := range 4 {
		start := len(dst)
		dst = h.appendStream(dst, literals[i*stride:min((i+1)*stride, len(literals))])
		if i < 3 {
			binary.LittleEndian.PutUint16(dst[jumps+2*i:], uint16(len(dst)-start))
		}
	}
	return dst
}

// appendStream appends the codes of literals, the last one first (RFC 8878 section 4.2.2). There is
// room for them.
func (h *huffmanEncoder) appendStream(dst, literals []byte) []byte {
	to := unsafe.Pointer(unsafe.SliceData(dst[:cap(dst)]))
	at := len(dst)
	var acc uint64
	var n uint32
	i := len(literals)
	for ; i&3 != 0; i-- {
		c := h.codes[literals[i-1]]
		acc |= uint64(c&codeMask) << (n & 63)
		n += c >> 24
	}
	for ; i > 0; i -= 4 {
		b := literals[i-4 : i : i]
		binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(to, at))[:], acc)
		at += int(n >> 3)
		acc >>= n & 0x38
		n &= 7
		d, c := h.codes[b[3]], h.codes[b[2]]
		two := uint64(d&codeMask) | uint64(c&codeMask)<<(d>>24&63)
		width := d>>24 + c>>24
		d, c = h.codes[b[1]], h.codes[b[0]]
		more := uint64(d&codeMask) | uint64(c&codeMask)<<(d>>24&63)
		two |= more << (width & 63)
		width += d>>24 + c>>24
		acc |= two << n
		n += width
	}
	acc |= 1 << (n & 63)
	n++
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(to, at))[:], acc)
	return dst[:at+int(n+7)/8]
}
