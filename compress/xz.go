package compress

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
)

// The .xz format 1.0.4: streams of a header, blocks, an index of them and a footer, everything
// aligned to four bytes.
const (
	xzMagic       = "\xfd7zXZ\x00"
	xzFooterMagic = "YZ"
	xzHeaderLen   = 12
	xzFooterLen   = 12
)

// Kinds of checks that we verify; others are skipped, as liblzma does.
const (
	xzCRC32  = 1
	xzCRC64  = 4
	xzSHA256 = 10
)

var crc64ECMA = crc64.MakeTable(crc64.ECMA)

// xzRecord is what the index says of a block.
type xzRecord struct{ packed, size uint64 }

// decodeXZ decodes one or more streams with zero bytes, in fours, between and behind them.
func decodeXZ(d *lzmaDecoder) (int, error) {
	for {
		if err := decodeXZStream(d); err != nil {
			return d.out, err
		}
		before := d.pos
		for d.pos < len(d.src) && d.src[d.pos] == 0 {
			d.pos++
		}
		if (d.pos-before)%4 != 0 {
			return d.out, corrupt("xz padding of %d bytes, expected a multiple of 4", d.pos-before)
		}
		if d.pos == len(d.src) {
			return d.out, nil
		}
	}
}

// decodeXZStream decodes the stream at d.pos.
func decodeXZStream(d *lzmaDecoder) error {
	head := d.src[d.pos:]
	if len(head) < xzHeaderLen || string(head[:6]) != xzMagic {
		return corrupt("xz stream starts with % x, expected a header of 12 bytes that starts "+
			"with % x", head[:min(len(head), 6)], xzMagic)
	}
	flags := head[6:8]
	if err := checkCRC32("xz stream header", flags, head[8:]); err != nil {
		return err
	}
	if flags[0] != 0 || flags[1] > 15 {
		return unsupported("xz stream flags % x", flags)
	}
	d.pos += xzHeaderLen
	var records []xzRecord
	for {
		if d.pos == len(d.src) {
			return corrupt("xz stream ends after %d bytes without an index", len(d.src))
		}
		if d.src[d.pos] == 0 {
			break
		}
		record, err := decodeXZBlock(d, int(flags[1]))
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	return checkXZEnd(d, records, flags)
}

// skipXZPadding skips zero bytes up to a multiple of four from begin on.
func skipXZPadding(d *lzmaDecoder, begin int) error {
	for (d.pos-begin)%4 != 0 {
		if d.pos == len(d.src) || d.src[d.pos] != 0 {
			return corrupt("xz padding at byte %d is not zero or missing", d.pos)
		}
		d.pos++
	}
	return nil
}

// checkCRC32 compares the CRC of b with its first four bytes after.
func checkCRC32(what string, b, stored []byte) error {
	if len(stored) < 4 {
		return corrupt("%s ends with %d bytes of its CRC, expected 4", what, len(stored))
	}
	if want, got := binary.LittleEndian.Uint32(stored), crc32.ChecksumIEEE(b); got != want {
		return corrupt("CRC of %s is %#08x, expected %#08x", what, got, want)
	}
	return nil
}

// checkXZEnd reads the index at d.pos, and the footer. The index must list the decoded blocks.
func checkXZEnd(d *lzmaDecoder, records []xzRecord, flags []byte) error {
	begin := d.pos
	d.pos++ // the zero that is not a block's header size
	count, err := d.varint()
	if err != nil || count != uint64(len(records)) {
		return corrupt("xz index of %d blocks, expected %d", count, len(records))
	}
	for _, want := range records {
		packed, err1 := d.varint()
		size, err2 := d.varint()
		if found := (xzRecord{packed, size}); err1 != nil || err2 != nil || found != want {
			return corrupt("xz index says a block has %d bytes of %d, expected %d of %d", size,
				packed, want.size, want.packed)
		}
	}
	if err := skipXZPadding(d, begin); err != nil {
		return err
	}
	if err := checkCRC32("xz index", d.src[begin:d.pos], d.src[d.pos:]); err != nil {
		return err
	}
	d.pos += 4
	footer := d.src[d.pos:]
	if len(footer) < xzFooterLen || string(footer[10:12]) != xzFooterMagic {
		return corrupt("xz stream ends with % x, expected a footer of 12 bytes that ends with YZ",
			footer[:min(len(footer), xzFooterLen)])
	}
	if err := checkCRC32("xz footer", footer[4:10], footer); err != nil {
		return err
	}
	size := (int64(binary.LittleEndian.Uint32(footer[4:])) + 1) * 4
	if size != int64(d.pos-begin) || !bytes.Equal(footer[8:10], flags) {
		return corrupt("xz footer says index of %d bytes and flags % x, expected %d and % x", size,
			footer[8:10], d.pos-begin, flags)
	}
	d.pos += xzFooterLen
	return nil
}

// varint reads an integer of up to 63 bits, seven in a byte, the lowest first; the shortest form
// only.
func (d *lzmaDecoder) varint() (uint64, error) {
	v, n := xzVarint(d.src[d.pos:])
	if n == 0 {
		return 0, corrupt("xz integer at byte %d ends early or is too long", d.pos)
	}
	d.pos += n
	return v, nil
}

// xzVarint decodes an integer and returns its length, 0 if there is none.
func xzVarint(b []byte) (v uint64, n int) {
	for i := range min(len(b), 9) {
		v |= uint64(b[i]&127) << (7 * i)
		if b[i] < 128 {
			if b[i] == 0 && i > 0 {
				return 0, 0
			}
			return v, i + 1
		}
	}
	return 0, 0
}
