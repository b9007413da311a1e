package compress

// lzmaDecoder decodes LZMA (7-Zip's lzma-specification.txt) into a destination of known length. The
// destination is the dictionary, too.
type lzmaDecoder struct {
	src []byte
	pos int // next byte of src
	end int // where the current compressed chunk ends; len(src) outside of chunks

	width, code uint32 // the range coder's range and the position in it
	short       bool   // the range coder wanted bytes behind end

	dst   []byte
	out   int // bytes of dst written
	start int // where in dst the dictionary starts

	lc, lp, pb uint
	state      uint
	rep        [4]uint32 // the last four distances, less 1

	probs probabilities
}

// probabilities of a zero bit, of 2048, in their contexts.
type probabilities struct {
	isMatch     [12][16]uint16
	isRep       [12]uint16
	isRep0      [12]uint16 // zero: the last distance
	isRep0Long  [12][16]uint16
	isRep1      [12]uint16
	isRep2      [12]uint16
	slot        [4][64]uint16
	special     [128]uint16
	align       [16]uint16
	matchLength lengthProbabilities
	repLength   lengthProbabilities
	literal     [0x300 << 4]uint16
}

type lengthProbabilities struct {
	choice, choice2 uint16
	low, mid        [16][8]uint16
	high            [256]uint16
}

// open starts with a new object.
func (d *lzmaDecoder) open(dst, src []byte) {
	d.dst, d.out, d.start = dst, 0, 0
	d.src, d.pos, d.end = src, 0, len(src)
}

// setProperties takes the byte that says how many bits of context there are, and resets the state.
// liblzma, too, wants lc + lp <= 4.
func (d *lzmaDecoder) setProperties(b byte) error {
	lc, lp, pb := uint(b%9), uint(b/9%5), uint(b/45)
	if pb > 4 || lc+lp > 4 {
		return corrupt("properties %#02x: lc, lp, pb = %d, %d, %d, expected lc+lp and pb up to 4",
			b, lc, lp, pb)
	}
	d.lc, d.lp, d.pb = lc, lp, pb
	d.reset()
	return nil
}

// reset forgets state and statistics, but not the dictionary.
func (d *lzmaDecoder) reset() {
	d.state = 0
	d.rep = [4]uint32{}
	p := &d.probs
	for i := range p.isMatch {
		fill(p.isMatch[i][:])
		fill(p.isRep0Long[i][:])
	}
	for _, a := range [][]uint16{p.isRep[:], p.isRep0[:], p.isRep1[:], p.isRep2[:], p.special[:],
		p.align[:]} {
		fill(a)
	}
	for i := range p.slot {
		fill(p.slot[i][:])
	}
	p.matchLength.reset()
	p.repLength.reset()
	fill(p.literal[:0x300<<(d.lc+d.lp)])
}

func (l *lengthProbabilities) reset() {
	l.choice, l.choice2 = even, even
	for i := range l.low {
		fill(l.low[i][:])
		fill(l.mid[i][:])
	}
	fill(l.high[:])
}

// even is the probability of a bit of which nothing is known.
const even = 1 << 10

func fill(p []uint16) {
	for i := range p {
		p[i] = even
	}
}

// stream decodes an LZMA stream up to limit bytes of dst or, if marked, up to its end mark.
func (d *lzmaDecoder) stream(limit int, marked bool) error {
	if err := d.begin(); err != nil {
		return err
	}
	ended, err := d.symbols(limit)
	if err != nil {
		return err
	}
	// a stream of known size may have an end mark, too
	if d.out == limit && !ended && (marked || !d.isFinished()) {
		if ended, err = d.symbol(limit); err != nil {
			return err
		}
		if !ended {
			return tooLarge("lzma", limit)
		}
	}
	if d.out < limit && !marked {
		return corrupt("stream ends after %d bytes, expected %d", d.out, limit)
	}
	if !d.isFinished() {
		return corrupt("range coder's code is %#x at the end of the stream, expected 0", d.code)
	}
	return nil
}

// begin reads what the range coder starts with: a zero byte and its code.
func (d *lzmaDecoder) begin() error {
	if d.end-d.pos < 5 {
		return corrupt("%d bytes of range code, expected at least 5", d.end-d.pos)
	}
	b := d.src[d.pos : d.pos+5]
	if b[0] != 0 {
		return corrupt("range code starts with %#02x, expected 0", b[0])
	}
	d.code = uint32(b[1])<<24 | uint32(b[2])<<16 | uint32(b[3])<<8 | uint32(b[4])
	d.width = 1<<32 - 1
	d.short = false
	d.pos += 5
	return nil
}

// isFinished reports whether the range coder has come to its end.
func (d *lzmaDecoder) isFinished() bool {
	d.normalize()
	return d.code == 0 && !d.short
}

// symbols decodes until limit bytes of dst are written or an end mark is found.
func (d *lzmaDecoder) symbols(limit int) (ended bool, err error) {
	for d.out < limit && !ended && err == nil {
		ended, err = d.symbol(limit)
	}
	return ended, err
}

// symbol decodes one literal or match; ended reports an end mark.
func (d *lzmaDecoder) symbol(limit int) (ended bool, err error) {
	at := uint(d.out - d.start)
	posState := at & (1<<d.pb - 1) & 15
	p := &d.probs
	if d.bit(&p.isMatch[d.state][posState]) == 0 {
		if d.out == limit {
			return false, tooLarge("lzma", limit)
		}
		d.literal(at)
		return false, d.checkShort()
	}
	var length int
	if d.bit(&p.isRep[d.state]) == 0 {
		length = d.length(&p.matchLength, posState)
		d.rep[3], d.rep[2], d.rep[1] = d.rep[2], d.rep[1], d.rep[0]
		d.rep[0] = d.distance(length)
		d.state = after(d.state, 7, 10)
		if d.rep[0] == 1<<32-1 {
			return true, d.checkShort()
		}
	} else {
		length = d.repeated(posState)
	}
	if err := d.checkShort(); err != nil {
		return false, err
	}
	return false, d.copyMatch(length, limit)
}

// repeated decodes a match at one of the last four distances, and returns the length of the match.
// That distance becomes the last one.
func (d *lzmaDecoder) repeated(posState uint) (length int) {
	p := &d.probs
	if d.bit(&p.isRep0[d.state]) == 0 {
		if d.bit(&p.isRep0Long[d.state][posState]) == 0 {
			d.state = after(d.state, 9, 11)
			return 1
		}
	} else {
		i := 1
		if d.bit(&p.isRep1[d.state]) != 0 {
			i = 2 + int(d.bit(&p.isRep2[d.state]))
		}
		dist := d.rep[i]
		copy(d.rep[1:i+1], d.rep[:i])
		d.rep[0] = dist
	}
	length = d.length(&p.repLength, posState)
	d.state = after(d.state, 8, 11)
	return length
}

// after is the state after a match: one for those after a literal, one for those after a match.
func after(state, literal, match uint) uint {
	if state < 7 {
		return literal
	}
	return match
}

func (d *lzmaDecoder) checkShort() error {
	if d.short {
		return corrupt("stream or chunk ends after %d bytes, within a symbol", d.end)
	}
	return nil
}

// copyMatch copies length bytes from the last distance back.
func (d *lzmaDecoder) copyMatch(length, limit int) error {
	dist := int(d.rep[0]) + 1
	if dist > d.out-d.start {
		return corrupt("a match %d bytes back where only %d were decoded", dist, d.out-d.start)
	}
	if length > limit-d.out {
		if limit == len(d.dst) {
			return tooLarge("lzma", limit)
		}
		return corrupt("a match of %d bytes where %d are missing", length, limit-d.out)
	}
	// overlapping matches repeat: each copy doubles what can be copied next
	for from := d.out - dist; length > 0; {
		n := copy(d.dst[d.out:d.out+length], d.dst[from:d.out])
		d.out += n
		length -= n
	}
	return nil
}

// literal decodes one byte. After a match the byte that would have followed it is context, too.
func (d *lzmaDecoder) literal(at uint) {
	before := uint(0)
	if at > 0 {
		before = uint(d.dst[d.out-1])
	}
	context := (at&(1<<d.lp-1))<<d.lc + before>>(8-d.lc)
	probs := d.probs.literal[0x300*context:][:0x300]
	symbol := uint32(1)
	if d.state >= 7 && uint(d.rep[0]) < at {
		match := uint32(d.dst[d.out-int(d.rep[0])-1])
		offset := uint32(0x100)
		for symbol < 0x100 {
			match <<= 1
			b := d.bit(&probs[offset+match&offset+symbol])
			symbol = symbol<<1 | b
			if b != 0 {
				offset &= match
			} else {
				offset &^= match
			}
		}
	} else {
		for symbol < 0x100 {
			symbol = symbol<<1 | d.bit(&probs[symbol])
		}
	}
	d.dst[d.out] = byte(symbol)
	d.out++
	switch {
	case d.state < 4:
		d.state = 0
	case d.state < 10:
		d.state -= 3
	default:
		d.state -= 6
	}
}

// length decodes a length, at least 2.
func (d *lzmaDecoder) length(l *lengthProbabilities, posState uint) int {
	if d.bit(&l.choice) == 0 {
		return 2 + int(d.tree(l.low[posState][:], 3))
	}
	if d.bit(&l.choice2) == 0 {
		return 10 + int(d.tree(l.mid[posState][:], 3))
	}
	return 18 + int(d.tree(l.high[:], 8))
}

// distance decodes a distance, less 1: a slot of six bits says how many bits follow and what the
// first two are.
func (d *lzmaDecoder) distance(length int) uint32 {
	slot := d.tree(d.probs.slot[min(length-2, 3)][:], 6)
	if slot < 4 {
		return slot
	}
	n := slot>>1 - 1
	dist := (2 | slot&1) << n
	if slot < 14 {
		return dist + d.reverseTree(d.probs.special[dist-slot:], n)
	}
	dist += d.direct(n-4) << 4
	return dist + d.reverseTree(d.probs.align[:], 4)
}

// tree decodes n bits, the highest first, each in the context of those before it.
func (d *lzmaDecoder) tree(probs []uint16, n uint) uint32 {
	symbol := uint32(1)
	for range n {
		symbol = symbol<<1 | d.bit(&probs[symbol])
	}
	return symbol - 1<<n
}

// reverseTree decodes n bits, the lowest first, each in the context of those before it.
func (d *lzmaDecoder) reverseTree(probs []uint16, n uint32) uint32 {
	context, symbol := uint32(1), uint32(0)
	for i := range n {
		b := d.bit(&probs[context])
		context = context<<1 | b
		symbol |= b << i
	}
	return symbol
}

// direct decodes n bits that have no statistics.
func (d *lzmaDecoder) direct(n uint32) uint32 {
	v := uint32(0)
	for range n {
		d.normalize()
		d.width >>= 1
		d.code -= d.width
		mask := -(d.code >> 31) // all ones where the bit is 0
		d.code += d.width & mask
		v = v<<1 + 1 + mask
	}
	return v
}

// bit decodes one bit and adapts its probability.
func (d *lzmaDecoder) bit(p *uint16) uint32 {
	if d.width < 1<<24 {
		d.normalize()
	}
	v := uint32(*p)
	bound := d.width >> 11 * v
	if d.code < bound {
		d.width = bound
		*p = uint16(v + (1<<11-v)>>5)
		return 0
	}
	d.width -= bound
	d.code -= bound
	*p = uint16(v - v>>5)
	return 1
}

// normalize loads a byte where the range has become small.
func (d *lzmaDecoder) normalize() {
	if d.width >= 1<<24 {
		return
	}
	next := uint32(0)
	if d.pos < d.end {
		next = uint32(d.src[d.pos])
		d.pos++
	} else {
		d.short = true
	}
	d.width <<= 8
	d.code = d.code<<8 | next
}
