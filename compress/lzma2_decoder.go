package compress

import "encoding/binary"

// Control bytes of LZMA2 chunks: 0 ends them, 1 and 2 are stored chunks, from 0x80 on there are
// LZMA ones, with more resets the higher.
const (
	chunksEnd       = 0
	storedResetDict = 1
	storedChunk     = 2
	lzmaChunk       = 0x80
	lzmaResetState  = 0xa0
	lzmaNewProps    = 0xc0
	lzmaResetDict   = 0xe0
)

// chunks decodes LZMA2: chunks of at most 2 MiB, each stored or LZMA, up to an end mark.
func (d *lzmaDecoder) chunks() error {
	needDict, needProps := true, true
	for {
		if d.pos == len(d.src) {
			return corrupt("LZMA2 ends after %d bytes without an end mark", len(d.src))
		}
		control := d.src[d.pos]
		d.pos++
		if control == chunksEnd {
			return nil
		}
		if control == storedResetDict || control >= lzmaResetDict {
			needDict, needProps = false, true
			d.start = d.out
		}
		if control >= lzmaNewProps {
			needProps = false
		}
		if needDict || control >= lzmaChunk && needProps || control > storedChunk &&
			control < lzmaChunk {
			return corrupt("LZMA2 control byte %#02x, where dictionary needed is %t, properties %t",
				control, needDict, needProps)
		}
		var err error
		if control < lzmaChunk {
			err = d.stored()
		} else {
			err = d.compressed(control)
		}
		if err != nil {
			return err
		}
	}
}

// stored copies a stored chunk.
func (d *lzmaDecoder) stored() error {
	if len(d.src)-d.pos < 2 {
		return corrupt("LZMA2 ends in the size of a stored chunk")
	}
	n := int(binary.BigEndian.Uint16(d.src[d.pos:])) + 1
	d.pos += 2
	if len(d.src)-d.pos < n {
		return corrupt("LZMA2 ends with %d bytes of a stored chunk, expected %d", len(d.src)-d.pos,
			n)
	}
	if len(d.dst)-d.out < n {
		return tooLarge("lzma", len(d.dst))
	}
	d.out += copy(d.dst[d.out:], d.src[d.pos:d.pos+n])
	d.pos += n
	return nil
}

// compressed decodes an LZMA chunk: sizes, properties if they are new, and a range coder's bytes of
// its own.
func (d *lzmaDecoder) compressed(control byte) error {
	head := d.src[d.pos:]
	if len(head) < 5 {
		return corrupt("LZMA2 ends in the head of a chunk")
	}
	size := int(control&31)<<16 + int(binary.BigEndian.Uint16(head)) + 1
	packed := int(binary.BigEndian.Uint16(head[2:])) + 1
	d.pos += 4
	if control >= lzmaNewProps {
		d.pos++
		if err := d.setProperties(head[4]); err != nil {
			return err
		}
	} else if control >= lzmaResetState {
		d.reset()
	}
	if len(d.src)-d.pos < packed {
		return corrupt("LZMA2 ends with %d bytes of a chunk, expected %d", len(d.src)-d.pos, packed)
	}
	if len(d.dst)-d.out < size {
		return tooLarge("lzma", len(d.dst))
	}
	return d.chunk(packed, size)
}

// chunk decodes the packed bytes of a chunk, which must be used up by exactly size decoded ones.
func (d *lzmaDecoder) chunk(packed, size int) error {
	d.end = d.pos + packed
	defer func() { d.end = len(d.src) }()
	if err := d.begin(); err != nil {
		return err
	}
	limit := d.out + size
	ended, err := d.symbols(limit)
	if err != nil {
		return err
	}
	if ended || !d.isFinished() || d.pos != d.end {
		return corrupt("LZMA2 chunk decodes to %d bytes from %d of %d, expected %d from all",
			size-limit+d.out, packed-d.end+d.pos, packed, size)
	}
	return nil
}
