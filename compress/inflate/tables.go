package inflate

import "math/bits"

// Sizes of RFC 1951's alphabets and of our tables. A second-level table is only made for codes that
// share their first litBits (distBits) bits, at least two each, and has at most 2^(15-litBits)
// entries: the sizes below can't be exceeded by any input.
const (
	maxCode   = 15  // bits of the longest code
	maxLit    = 288 // literal/length symbols, of which 286 and 287 stand for nothing
	maxDist   = 32  // distance symbols, of which 30 and 31 stand for nothing
	maxPre    = 19  // symbols of the code that code lengths are written in
	litBits   = 12
	distBits  = 8
	preBits   = 7
	litSize   = 1<<litBits + maxLit/2<<(maxCode-litBits)
	distSize  = 1<<distBits + maxDist/2<<(maxCode-distBits)
	endSymbol = 256
)

// An entry is one uint32. Its low six bits say how many bits it consumes: the code and, for lengths
// and distances, the extra bits.
//
//	literals  bits 8-23 one or two bytes, 24-25 how many; less than notLiteral as a number
//	length    bits 16-24 base, 25-28 code bits; where bit 29 is set, a literal comes first, in
//	          bits 8-15
//	distance  bits 8-22 base, 25-28 code bits
//	special   nothing, end of block, or a link: bits 8-20 start of a second-level table, 22-25
//	          the bits that index it
//
// Entries of a second-level table count the bits of the whole code, so they are used just as those
// of the first level.
const (
	totalBits    = 63
	baseShift    = 8
	distanceMask = 1<<15 - 1
	lengthShift  = 16
	lengthMask   = 1<<9 - 1
	codeShift    = 25
	codeMask     = 15
	countShift   = 24
	firstShift   = 29
	linkMask     = 1<<14 - 1
	linkShift    = 22

	notLiteral   uint32 = 1 << 31
	special      uint32 = 1 << 30
	literalFirst uint32 = 1 << firstShift
	endOfBlock   uint32 = 1 << 28
	link         uint32 = 1 << 27
	nothing             = notLiteral | special
)

type (
	litTable  [litSize]uint32
	distTable [distSize]uint32
	preTable  [1 << preBits]uint32
)

// lookup returns the entry for the code that the low bits of b start with.
func (t *litTable) lookup(b uint64) uint32 {
	e := t[b&(1<<litBits-1)]
	if e&special != 0 && e&link != 0 {
		e = t.follow(e, b)
	}
	return e
}

// follow returns the entry of the second-level table that e links to.
func (t *litTable) follow(e uint32, b uint64) uint32 {
	return t[uint64(e>>baseShift&linkMask)+(b>>litBits)&(1<<(e>>linkShift&codeMask)-1)]
}

// lookup returns the entry for the code that the low bits of b start with.
func (t *distTable) lookup(b uint64) uint32 {
	e := t[b&(1<<distBits-1)]
	if e&special != 0 && e&link != 0 {
		e = t.follow(e, b)
	}
	return e
}

// follow returns the entry of the second-level table that e links to.
func (t *distTable) follow(e uint32, b uint64) uint32 {
	return t[uint64(e>>baseShift&linkMask)+(b>>distBits)&(1<<(e>>linkShift&codeMask)-1)]
}

// template is the entry of a symbol without its code's length, and what to add to it for each bit
// of that.
type template struct{ entry, perBit uint32 }

// The templates of the three alphabets (RFC 1951 section 3.2.5).
var (
	litTemplates  = literalTemplates()
	pairTemplates = secondTemplates()
	distTemplates = distanceTemplates()
	preTemplates  = precodeTemplates()
)

func literalTemplates() (t [maxLit]template) {
	for i := range endSymbol {
		t[i] = template{uint32(i)<<baseShift | 1<<countShift, 1}
	}
	t[endSymbol] = template{nothing | endOfBlock, 1}
	base := uint32(3)
	// 8 lengths without extra bits, then 4 for each number of them
	for i := uint32(0); i < 28; i++ {
		extra := max(i/4, 1) - 1
		t[endSymbol+1+i] = template{notLiteral | base<<lengthShift | extra, 1 | 1<<codeShift}
		base += 1 << extra
	}
	t[285] = template{notLiteral | 258<<lengthShift, 1 | 1<<codeShift}
	t[286], t[287] = template{nothing, 1}, template{nothing, 1}
	return t
}

// secondTemplates are for the second symbol of an entry that starts with a literal.
func secondTemplates() (t [maxLit]template) {
	t = literalTemplates()
	for i := range t {
		switch {
		case i < endSymbol:
			t[i].entry = uint32(i)<<(baseShift+8) | 2<<countShift
		case t[i].entry&special == 0:
			t[i].entry |= literalFirst
		}
	}
	return t
}

func distanceTemplates() (t [maxDist]template) {
	base := uint32(1)
	// 4 distances without extra bits, then 2 for each number of them
	for i := uint32(0); i < 30; i++ {
		extra := max(i/2, 1) - 1
		t[i] = template{base<<baseShift | extra, 1 | 1<<codeShift}
		base += 1 << extra
	}
	t[30], t[31] = template{nothing, 1}, template{nothing, 1}
	return t
}

func precodeTemplates() (t [maxPre]template) {
	for i := range t {
		t[i] = template{uint32(i) << baseShift, 1}
	}
	return t
}

// codebook is one canonical Huffman code: its symbols in the order of their codes, and the codes
// with their first bit lowest.
type codebook struct {
	symbol [maxLit]uint16
	code   [maxLit]uint16
	start  [maxCode + 2]int // symbols of n bits are start[n]:start[n+1]
	lits   [maxCode + 1]int // how many of the symbols of n bits are literals; these come first
}

// assign orders the symbols by the given code lengths and gives them their codes. It refuses what
// zlib refuses: over-subscribed codes, and incomplete ones unless there is no code at all or just
// one, of one bit; the tables hold "nothing" for those codes.
func (b *codebook) assign(lens []uint8) bool {
	var count [maxCode + 1]int
	for _, n := range lens {
		count[n&maxCode]++
	}
	left := 1
	for n := 1; n <= maxCode; n++ {
		b.start[n+1] = b.start[n] + count[n]
		left = left<<1 - count[n]
		if left < 0 {
			return false
		}
	}
	if total := b.start[maxCode+1]; left > 0 && total != 0 && (total != 1 || count[1] != 1) {
		return false
	}
	next := b.start
	for symbol, n := range lens {
		if n != 0 {
			at := next[n&maxCode]
			b.symbol[at] = uint16(symbol)
			next[n&maxCode] = at + 1
		}
	}
	b.number()
	return true
}

// number gives the ordered symbols their codes. To add one to a code whose first bit is lowest is
// to carry from its last bit downwards.
func (b *codebook) number() {
	code := uint(0)
	for n := 1; n <= maxCode; n++ {
		all := uint(1)<<n - 1
		for i := b.start[n]; i < b.start[n+1]; i++ {
			b.code[i] = uint16(code)
			if code == all {
				return // the last code of a complete set
			}
			top := uint(1) << (bits.Len(code^all) - 1)
			code = code&(top-1) | top
		}
	}
}

// fill builds a table of 1<<width first-level entries and, where codes are longer, the second-level
// tables behind them. It goes from short to long codes and doubles the table for each length, so
// that each entry is computed once. Where b.lits counts literals, entries that start with one get a
// second symbol if both codes fit.
func (b *codebook) fill(table []uint32, width int, templates []template) {
	table[0] = nothing
	for n := 1; n <= width; n++ {
		half := 1 << (n - 1)
		copy(table[half:2*half], table[:half])
		for i := b.start[n]; i < b.start[n+1]; i++ {
			t := templates[b.symbol[i]]
			table[b.code[i]] = t.entry + uint32(n)*t.perBit
		}
		for first := 1; first < n; first++ {
			if b.lits[first] != 0 {
				b.pairs(table[:2*half], first, n-first)
			}
		}
	}
	b.links(table, width, templates)
}

// pairs enters the pairs of a literal with a code of first bits and a symbol with a code of second
// bits.
func (b *codebook) pairs(table []uint32, first, second int) {
	at, end := b.start[second], b.start[second+1]
	literals := b.symbol[b.start[first]:][:b.lits[first]]
	codes := b.code[b.start[first]:][:len(literals)]
	for j := at; j < end; j++ {
		t := pairTemplates[b.symbol[j]]
		if t.entry&special != 0 {
			continue
		}
		e := t.entry + uint32(first+second)*t.perBit
		high := int(b.code[j]) << (first & maxCode)
		for i, literal := range literals {
			table[high|int(codes[i])] = e | uint32(literal)<<baseShift
		}
	}
}

// links makes the second-level tables for codes of more than width bits. Codes that share their
// first width bits stand next to each other.
func (b *codebook) links(table []uint32, width int, templates []template) {
	mask := uint16(1)<<width - 1
	free := 1 << width
	n := width + 1 // bits of code i
	for i := b.start[n]; i < b.start[maxCode+1]; {
		prefix := b.code[i] & mask
		end, longest := i, n
		for end < b.start[maxCode+1] && b.code[end]&mask == prefix {
			longest = b.width(end, longest)
			end++
		}
		depth := longest - width
		table[prefix] = nothing | link | uint32(free)<<baseShift | uint32(depth)<<linkShift
		for ; i < end; i++ {
			n = b.width(i, n)
			t := templates[b.symbol[i]]
			for at := int(b.code[i]) >> width; at < 1<<depth; at += 1 << (n - width) {
				table[free+at] = t.entry + uint32(n)*t.perBit
			}
		}
		free += 1 << depth
	}
}

// width returns the bits of the i-th code, which has at least n.
func (b *codebook) width(i, n int) int {
	for b.start[n+1] <= i {
		n++
	}
	return n
}
