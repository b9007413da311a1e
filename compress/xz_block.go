package compress

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
)

// Flags of a block's header.
const (
	xzFilterCount = 3 // number of filters, less 1
	xzReserved    = 0x3c
	xzHasPacked   = 0x40
	xzHasSize     = 0x80
)

// xzBlockHeader is what precedes a block's LZMA2 data.
type xzBlockHeader struct {
	len     int          // bytes of the header
	packed  *uint64      // bytes of LZMA2, if the header says so
	size    *uint64      // decoded bytes, if the header says so
	filters []LZMAFilter // before the LZMA2 that ends each chain
}

// parseXZBlockHeader parses the header at the start of b, which has a byte at least.
func parseXZBlockHeader(b []byte) (h xzBlockHeader, err error) {
	h.len = (int(b[0]) + 1) * 4
	if len(b) < h.len {
		return h, corrupt("xz block header of %d bytes, expected %d", len(b), h.len)
	}
	end := h.len - 4
	if err := checkCRC32("xz block header", b[:end], b[end:]); err != nil {
		return h, err
	}
	flags := b[1]
	if flags&xzReserved != 0 {
		return h, unsupported("xz block flags %#02x", flags)
	}
	fields := &xzFields{rest: b[2:end]}
	if flags&xzHasPacked != 0 {
		h.packed = fields.integer()
	}
	if flags&xzHasSize != 0 {
		h.size = fields.integer()
	}
	for i := range flags&xzFilterCount + 1 {
		if err := h.addFilter(fields, i == flags&xzFilterCount); err != nil {
			return h, err
		}
	}
	for _, c := range fields.rest {
		fields.bad = fields.bad || c != 0
	}
	if fields.bad {
		return h, corrupt("xz block header's fields or padding are malformed")
	}
	return h, nil
}

// addFilter reads one filter: id, length of properties, properties.
func (h *xzBlockHeader) addFilter(fields *xzFields, last bool) error {
	id, n := *fields.integer(), *fields.integer()
	properties := fields.take(n)
	if fields.bad {
		return nil // the caller reports it
	}
	if last != (int64(id) == FilterLZMA2) {
		return unsupported("xz filter %#x, last is %t", id, last)
	}
	if last {
		if n != 1 || properties[0] > 40 {
			return unsupported("LZMA2 properties % x", properties)
		}
		return nil
	}
	f := LZMAFilter{ID: int64(id)}
	if err := f.checkDelta(); err != nil {
		return err
	}
	if n != 1 {
		return unsupported("properties % x of xz filter %#x", properties, id)
	}
	f.Dist = int(properties[0]) + 1
	h.filters = append(h.filters, f)
	return nil
}

// compare compares the sizes with those of the header.
func (h *xzBlockHeader) compare(packed, size uint64) error {
	if h.packed != nil && *h.packed != packed {
		return corrupt("xz block of %d bytes, expected %d", packed, *h.packed)
	}
	if h.size != nil && *h.size != size {
		return corrupt("xz block decodes to %d bytes, expected %d", size, *h.size)
	}
	return nil
}

// unfilter undoes the filters before LZMA2, the last one first.
func (h *xzBlockHeader) unfilter(b []byte) error {
	for i := len(h.filters) - 1; i >= 0; i-- {
		if err := h.filters[i].unfilter(b); err != nil {
			return err
		}
	}
	return nil
}

// xzFields reads fields one after the other; bad reports afterwards whether any was missing.
type xzFields struct {
	rest []byte
	bad  bool
}

// integer reads an integer, never nil.
func (f *xzFields) integer() *uint64 {
	v, n := xzVarint(f.rest)
	f.bad = f.bad || n == 0
	f.rest = f.rest[n:]
	return &v
}

// take reads n bytes.
func (f *xzFields) take(n uint64) []byte {
	if n > uint64(len(f.rest)) {
		f.bad = true
		return nil
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

// decodeXZBlock decodes the block at d.pos: its header, LZMA2, padding and check.
func decodeXZBlock(d *lzmaDecoder, check int) (xzRecord, error) {
	begin, out := d.pos, d.out
	header, err := parseXZBlockHeader(d.src[d.pos:])
	if err != nil {
		return xzRecord{}, err
	}
	d.pos += header.len
	if err := d.chunks(); err != nil {
		return xzRecord{}, err
	}
	decoded := d.dst[out:d.out]
	packed := uint64(d.pos - begin - header.len)
	if err := header.compare(packed, uint64(len(decoded))); err != nil {
		return xzRecord{}, err
	}
	if err := header.unfilter(decoded); err != nil {
		return xzRecord{}, err
	}
	if err := skipXZPadding(d, begin); err != nil {
		return xzRecord{}, err
	}
	n := xzCheckLen(check)
	if len(d.src)-d.pos < n {
		return xzRecord{}, corrupt("xz block ends with %d bytes of its check, expected %d",
			len(d.src)-d.pos, n)
	}
	if err := verifyXZ(check, decoded, d.src[d.pos:d.pos+n]); err != nil {
		return xzRecord{}, err
	}
	d.pos += n
	return xzRecord{uint64(header.len) + packed + uint64(n), uint64(len(decoded))}, nil
}

// xzCheckLen returns the bytes of a check of the given kind, 0 to 15.
func xzCheckLen(kind int) int {
	if kind == 0 {
		return 0
	}
	return 4 << ((kind - 1) / 3)
}

// verifyXZ compares decoded bytes with their check.
func verifyXZ(kind int, decoded, check []byte) error {
	var got []byte
	switch kind {
	case xzCRC32:
		got = binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(decoded))
	case xzCRC64:
		got = binary.LittleEndian.AppendUint64(nil, crc64.Checksum(decoded, crc64ECMA))
	case xzSHA256:
		sum := sha256.Sum256(decoded)
		got = sum[:]
	default:
		return nil
	}
	if !bytes.Equal(got, check) {
		return corrupt("xz check %d of %d bytes is %x, expected %x", kind, len(decoded), got, check)
	}
	return nil
}
