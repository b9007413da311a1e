package zstd

// Types of blocks (RFC 8878 section 3.1.1.2.2).
const (
	rawBlock = iota
	rleBlock
	compressedBlock
)

// blocks decodes the blocks of a frame, up to and with the last.
func (d *decoder) blocks() error {
	for last := false; !last; {
		if len(d.src)-d.pos < 3 {
			return d.truncated("a block header")
		}
		header := little(d.src[d.pos:][:3])
		d.pos += 3
		last = header&1 != 0
		if err := d.block(header>>1&3, int(header>>3)); err != nil {
			return err
		}
	}
	return nil
}

// block decodes one block of the given type and Block_Size.
func (d *decoder) block(kind uint64, size int) error {
	if size > d.blockMax {
		return d.corrupt("a block of %d bytes, expected at most %d", size, d.blockMax)
	}
	n := size
	if kind == rleBlock {
		n = 1
	}
	if len(d.src)-d.pos < n {
		return d.truncated("the rest of a block")
	}
	d.end = min(d.frameEnd, d.out+d.blockMax)
	b := d.src[d.pos : d.pos+n]
	switch kind {
	case rawBlock:
		if err := d.room(n); err != nil {
			return err
		}
		d.out += copy(d.dst[d.out:], b)
	case rleBlock:
		if err := d.room(size); err != nil {
			return err
		}
		fill(d.dst[d.out:d.out+size], b[0])
		d.out += size
	case compressedBlock:
		return d.compressed(d.pos + n)
	default:
		return d.corrupt("a block of type 3, which is reserved")
	}
	d.pos += n
	return nil
}

// compressed decodes a compressed block that ends at end: literals, then sequences that say where
// they go.
func (d *decoder) compressed(end int) error {
	if err := d.readLiterals(end); err != nil {
		return err
	}
	if err := d.readSequences(end); err != nil {
		return err
	}
	rest := d.lit[d.litPos:]
	if err := d.room(len(rest)); err != nil {
		return err
	}
	d.out += copy(d.dst[d.out:], rest)
	d.pos = end
	return nil
}

// room says whether n more bytes may be written.
func (d *decoder) room(n int) error {
	switch {
	case n <= d.end-d.out:
		return nil
	case d.end == len(d.dst) && !d.sized:
		return d.tooLarge()
	case d.end == d.frameEnd:
		return d.corrupt("a frame of more than the %d bytes that its header says",
			d.frameEnd-d.start)
	}
	return d.corrupt("a block that decodes to more than %d bytes", d.blockMax)
}

// fill sets every byte of b to v, doubling what is done.
func fill(b []byte, v byte) {
	if len(b) == 0 {
		return
	}
	b[0] = v
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
