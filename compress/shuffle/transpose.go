package shuffle

// Each swap exchanges the high parts of its first word with the low parts of its second. Parts are
// halves (4), quarters (2) and eighths (1 byte), or bits of each byte. Done for all distances, in
// any order, that transposes.

func swap32(a, b uint64) (uint64, uint64) {
	return a&0x00000000ffffffff | b<<32, a>>32 | b&0xffffffff00000000
}

func swap16(a, b uint64) (uint64, uint64) {
	t := (a>>16 ^ b) & 0x0000ffff0000ffff
	return a ^ t<<16, b ^ t
}

func swap8(a, b uint64) (uint64, uint64) {
	t := (a>>8 ^ b) & 0x00ff00ff00ff00ff
	return a ^ t<<8, b ^ t
}

func swapBits4(a, b uint64) (uint64, uint64) {
	t := (a>>4 ^ b) & 0x0f0f0f0f0f0f0f0f
	return a ^ t<<4, b ^ t
}

func swapBits2(a, b uint64) (uint64, uint64) {
	t := (a>>2 ^ b) & 0x3333333333333333
	return a ^ t<<2, b ^ t
}

func swapBits1(a, b uint64) (uint64, uint64) {
	t := (a>>1 ^ b) & 0x5555555555555555
	return a ^ t<<1, b ^ t
}

// transpose8 exchanges byte i of word j with byte j of word i.
func transpose8(a, b, c, d, e, f, g, h uint64) (_, _, _, _, _, _, _, _ uint64) {
	a, e = swap32(a, e)
	b, f = swap32(b, f)
	c, g = swap32(c, g)
	d, h = swap32(d, h)
	a, c = swap16(a, c)
	b, d = swap16(b, d)
	e, g = swap16(e, g)
	f, h = swap16(f, h)
	a, b = swap8(a, b)
	c, d = swap8(c, d)
	e, f = swap8(e, f)
	g, h = swap8(g, h)
	return a, b, c, d, e, f, g, h
}

// transpose4 makes elements of four bytes of four planes: word i then holds
// elements i and i+4.
func transpose4(a, b, c, d uint64) (_, _, _, _ uint64) {
	a, c = swap16(a, c)
	b, d = swap16(b, d)
	a, b = swap8(a, b)
	c, d = swap8(c, d)
	return a, b, c, d
}

// transpose2 makes elements of two bytes of two planes: the first word then
// holds the even ones, the second the odd ones.
func transpose2(a, b uint64) (_, _ uint64) {
	return swap8(a, b)
}

// transposeBits exchanges bit i of word j's bytes with bit j of word i's.
func transposeBits(a, b, c, d, e, f, g, h uint64) (_, _, _, _, _, _, _, _ uint64) {
	a, e = swapBits4(a, e)
	b, f = swapBits4(b, f)
	c, g = swapBits4(c, g)
	d, h = swapBits4(d, h)
	a, c = swapBits2(a, c)
	b, d = swapBits2(b, d)
	e, g = swapBits2(e, g)
	f, h = swapBits2(f, h)
	a, b = swapBits1(a, b)
	c, d = swapBits1(c, d)
	e, f = swapBits1(e, f)
	g, h = swapBits1(g, h)
	return a, b, c, d, e, f, g, h
}

// transposeWordBits exchanges bit i of byte j of one word with bit j of byte i.
func transposeWordBits(w uint64) uint64 {
	t := (w ^ w>>7) & 0x00aa00aa00aa00aa
	w ^= t ^ t<<7
	t = (w ^ w>>14) & 0x0000cccc0000cccc
	w ^= t ^ t<<14
	t = (w ^ w>>28) & 0x00000000f0f0f0f0
	return w ^ t ^ t<<28
}
