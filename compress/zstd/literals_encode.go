package zstd

// literalsEncoder encodes the literals sections of the blocks of a frame.
type literalsEncoder struct {
	tree     huffmanEncoder
	treeKept bool // tree is what the decoder has
	fresh    huffmanEncoder
	counts   [4][256]uint32
}

func (e *literalsEncoder) reset() { e.treeKept = false }

// minCoded is the least number of literals that may be worth a Huffman code.
const minCoded = 24

// appendLiterals appends the literals section of a block (RFC 8878 section 3.1.1.3.1). There is
// room for it.
func (e *literalsEncoder) appendLiterals(dst, literals []byte) []byte {
	n := len(literals)
	if n < minCoded {
		return appendRawLiterals(dst, literals)
	}
	counts := e.count(literals)
	most := uint32(0)
	for _, v := range counts {
		most = max(most, v)
	}
	switch {
	case int(most) == n:
		return append(appendPlainHeader(dst, rleLiterals, n), literals[0])
	case int(most) <= n>>7+4: // they are all about as frequent
		return appendRawLiterals(dst, literals)
	}
	start := len(dst)
	if out := e.appendCoded(dst, literals, counts); len(out)-start < n-n>>6 {
		return out
	}
	e.treeKept = false
	return appendRawLiterals(dst[:start], literals)
}

// count counts the literals. Four tables keep the counting of equal ones apart.
func (e *literalsEncoder) count(literals []byte) *[256]uint32 {
	c := &e.counts
	clear(c[:])
	i := 0
	for ; i+4 <= len(literals); i += 4 {
		b := literals[i : i+4 : i+4]
		c[0][b[0]]++
		c[1][b[1]]++
		c[2][b[2]]++
		c[3][b[3]]++
	}
	for _, b := range literals[i:] {
		c[0][b]++
	}
	for s := range c[0] {
		c[0][s] += c[1][s] + c[2][s] + c[3][s]
	}
	return &c[0]
}

// appendPlainHeader appends the header of a section of n raw or equal literals.
func appendPlainHeader(dst []byte, kind byte, n int) []byte {
	switch {
	case n < 1<<5:
		return append(dst, kind|byte(n<<3))
	case n < 1<<12:
		return append(dst, kind|1<<2|byte(n<<4), byte(n>>4))
	}
	return append(dst, kind|3<<2|byte(n<<4), byte(n>>4), byte(n>>12))
}

func appendRawLiterals(dst, literals []byte) []byte {
	return append(appendPlainHeader(dst, rawLiterals, len(literals)), literals...)
}

// appendCoded appends a section of Huffman-coded literals, with the last tree or one of their own,
// whichever gives less. If that is not less than the literals are, it may stop early.
func (e *literalsEncoder) appendCoded(dst, literals []byte, counts *[256]uint32) []byte {
	n := len(literals)
	kind := byte(huffmanLiterals)
	start := len(dst)
	header := 3
	switch {
	case n >= 1<<14:
		header = 5
	case n >= 1<<10:
		header = 4
	}
	dst = append(dst, make([]byte, header)...)
	e.fresh.build(counts)
	described, ok := e.fresh.appendDescription(dst)
	own := 8*(len(described)-len(dst)) + e.fresh.cost(counts)
	if !ok {
		own = 1 << 30
	}
	if e.treeKept && e.tree.cost(counts) <= own {
		own = e.tree.cost(counts)
		kind = treelessLiterals
	}
	if own > 8*n {
		return append(dst, literals...)
	}
	if kind == huffmanLiterals {
		e.tree, e.treeKept = e.fresh, true
		dst = described
	}
	one := n < 256
	if one {
		dst = e.tree.appendStream(dst, literals)
	} else {
		dst = e.tree.appendStreams(dst, literals)
	}
	putCodedHeader(dst[start:], kind, header, n, len(dst)-start-header, one)
	return dst
}

// putCodedHeader writes the header of a section of n coded literals that follow in size bytes.
func putCodedHeader(b []byte, kind byte, header, n, size int, one bool) {
	width := []uint{3: 10, 4: 14, 5: 18}[header]
	format := uint64(header - 2)
	if one {
		format = 0
	}
	v := uint64(kind) | format<<2 | uint64(n)<<4 | uint64(size)<<(4+width)
	for i := range header {
		b[i] = byte(v >> (8 * i))
	}
}
