package zstd

// litSlack is how many bytes beyond the literals can be read, so that they are copied by words.
const litSlack = 32

// literals are the means to decode the literals of blocks.
type literals struct {
	buf        [maxBlock + litSlack]byte
	huffman    huffman
	hasHuffman bool // its table came in this frame
}

func (l *literals) reset() { l.hasHuffman = false }

// Types of literals sections (RFC 8878 section 3.1.1.3.1.1).
const (
	rawLiterals = iota
	rleLiterals
	huffmanLiterals
	treelessLiterals
)

// readLiterals reads the literals section of a block that ends at end, and sets lit to its
// literals.
func (d *decoder) readLiterals(end int) error {
	b := d.src[d.pos:end]
	if len(b) == 0 {
		return d.corrupt("a compressed block of no bytes")
	}
	kind := b[0] & 3
	if kind >= huffmanLiterals {
		return d.compressedLiterals(b, kind)
	}
	size, header := plainHeader(b)
	n := size
	if kind == rleLiterals {
		n = 1
	}
	if len(b) < header || len(b)-header < n || size > d.blockMax {
		return d.corrupt("a block of %d bytes with %d literals of type %d", len(b), size, kind)
	}
	from := d.pos + header
	d.pos = from + n
	d.litPos = 0
	switch {
	case kind == rleLiterals:
		d.lit = d.buf[:size]
		fill(d.lit, d.src[from])
	case len(d.src)-d.pos >= litSlack:
		d.lit = d.src[from:d.pos]
	default:
		d.lit = d.buf[:size]
		copy(d.lit, d.src[from:d.pos])
	}
	return nil
}

// plainHeader returns the size of raw or RLE literals and of their header, which may be longer than
// b.
func plainHeader(b []byte) (size, header int) {
	switch b[0] >> 2 & 3 {
	case 1:
		header = 2
	case 3:
		header = 3
	default:
		return int(b[0] >> 3), 1
	}
	return int(little(b[:min(header, len(b))]) >> 4), header
}

// compressedLiterals decodes Huffman-coded literals, with their own table or the last one.
func (d *decoder) compressedLiterals(b []byte, kind byte) error {
	format := b[0] >> 2 & 3
	header := []int{3, 3, 4, 5}[format]
	if len(b) < header {
		return d.corrupt("a block that ends within its literals")
	}
	width := []uint{10, 10, 14, 18}[format]
	h := little(b[:header]) >> 4
	size, n := int(h&(1<<width-1)), int(h>>width)
	if len(b)-header < n || size > d.blockMax {
		return d.corrupt("a block of %d bytes with %d literals in %d bytes", len(b), size, n)
	}
	d.pos += header
	end := d.pos + n
	if err := d.huffmanTable(kind, end); err != nil {
		return err
	}
	d.lit, d.litPos = d.buf[:size], 0
	decode := d.huffman.decode4
	if format == 0 {
		decode = d.huffman.decode
	}
	if !decode(d.lit, d.src, d.pos, end) {
		return d.corrupt("malformed Huffman-coded literals, %d in %d bytes", size, n)
	}
	d.pos = end
	return nil
}

// huffmanTable reads the table of literals that end at end. For treeless literals it makes sure
// that there is a table from before.
func (d *decoder) huffmanTable(kind byte, end int) error {
	if kind == treelessLiterals {
		if !d.hasHuffman {
			return d.corrupt("literals without a Huffman table")
		}
		return nil
	}
	used := d.huffman.read(d.src, d.pos, end, &d.dist)
	if used == 0 {
		return d.corrupt("a malformed Huffman table")
	}
	d.pos += used
	d.hasHuffman = true
	return nil
}
