package compress

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// Container formats of LZMA, numbered as Python's lzma module does.
const (
	LZMAAuto  = 0 // xz or alone, as the object starts
	LZMAXZ    = 1 // .xz, which describes its own filters
	LZMAAlone = 2 // .lzma, the old format with a header of 13 bytes
	LZMARaw   = 3 // no header: the decoder needs the filters from its caller
)

// Filter ids, as in the .xz format and in Python's lzma module; FilterLZMA1 exists in the latter
// only.
const (
	FilterDelta int64 = 3
	FilterLZMA2 int64 = 0x21
	FilterLZMA1 int64 = 0x4000000000000001
)

// LZMA decodes and encodes what numcodecs calls lzma.
type LZMA struct {
	Format  int          // LZMAAuto, LZMAXZ, LZMAAlone or LZMARaw
	Filters []LZMAFilter // in the order of encoding; decoding uses them for LZMARaw only
	// what LZMAXZ is encoded with: 0 nothing, 1 CRC-32, 4 CRC-64, 10 SHA-256; -1 means CRC-64
	Check int
	Dict  int // bytes of the dictionary where Filters is empty; 0 means that of preset 6
}

// LZMAFilter is one filter of an LZMA object. Decoding needs no dictionary's size: the destination
// is the dictionary.
type LZMAFilter struct {
	ID int64 // FilterDelta, FilterLZMA1 or FilterLZMA2
	// FilterDelta: bytes between a byte and the one that was subtracted from it; 0 means 1
	Dist int

	// FilterLZMA1, FilterLZMA2: bytes of the dictionary to encode with; 0 means that of preset 6
	Dict int

	// FilterLZMA1: literal context bits, literal position bits, position bits. nil means the usual
	// 3, 0, 2.
	Props *[3]int
}

// Decode implements Decoder.
func (l LZMA) Decode(dst, src []byte) (int, error) {
	d := lzmaDecoders.Get().(*lzmaDecoder)
	defer lzmaDecoders.Put(d)
	d.open(dst, src)
	defer d.open(nil, nil)
	n, err := l.decode(d)
	if err != nil {
		return n, fmt.Errorf("lzma: %w", err)
	}
	return n, nil
}

// lzmaDecoders keeps decoders for their tables of probabilities, 28 KiB each.
var lzmaDecoders = sync.Pool{New: func() any { return new(lzmaDecoder) }}

func (l LZMA) decode(d *lzmaDecoder) (int, error) {
	xz := len(d.src) > 0 && d.src[0] == xzMagic[0]
	switch {
	case l.Format == LZMAXZ, l.Format == LZMAAuto && xz:
		return decodeXZ(d)
	case l.Format == LZMAAlone, l.Format == LZMAAuto:
		return decodeAlone(d)
	case l.Format == LZMARaw:
		return l.decodeRaw(d)
	}
	return 0, unsupported("format %d, expected 0 to 3", l.Format)
}

// decodeAlone decodes the .lzma format: a byte of properties, the dictionary size, and the decoded
// size or -1 if there is an end mark.
func decodeAlone(d *lzmaDecoder) (int, error) {
	if len(d.src) < 13 {
		return 0, corrupt("object of %d bytes, expected a header of 13", len(d.src))
	}
	if err := d.setProperties(d.src[0]); err != nil {
		return 0, err
	}
	size := binary.LittleEndian.Uint64(d.src[5:])
	d.pos = 13
	if size == 1<<64-1 {
		err := d.stream(len(d.dst), true)
		return d.out, err
	}
	if size > uint64(len(d.dst)) {
		return 0, fmt.Errorf("%w: object decodes to %d bytes, expected at most %d", ErrTooLarge,
			size, len(d.dst))
	}
	err := d.stream(int(size), false)
	return d.out, err
}

// decodeRaw decodes an object without any header, by the filters of its caller.
func (l LZMA) decodeRaw(d *lzmaDecoder) (int, error) {
	if len(l.Filters) == 0 {
		return 0, unsupported("raw format without filters")
	}
	last := len(l.Filters) - 1
	if err := l.Filters[last].decompress(d); err != nil {
		return d.out, err
	}
	for i := last - 1; i >= 0; i-- {
		if err := l.Filters[i].unfilter(d.dst[:d.out]); err != nil {
			return 0, err
		}
	}
	return d.out, nil
}

// decompress runs the filter that ends a raw chain.
func (f LZMAFilter) decompress(d *lzmaDecoder) error {
	switch f.ID {
	case FilterLZMA2:
		return d.chunks()
	case FilterLZMA1:
		lc, lp, pb := 3, 0, 2
		if f.Props != nil {
			lc, lp, pb = f.Props[0], f.Props[1], f.Props[2]
		}
		if min(lc, lp, pb) < 0 || max(lc, lp, pb) > 4 {
			return unsupported("lc, lp, pb = %d, %d, %d, expected 0 to 4", lc, lp, pb)
		}
		if err := d.setProperties(byte((pb*5+lp)*9 + lc)); err != nil {
			return err
		}
		return d.stream(len(d.dst), true)
	}
	return unsupported("last filter %#x, expected LZMA1 or LZMA2", f.ID)
}
