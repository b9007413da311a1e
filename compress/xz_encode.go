package compress

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
)

// encodeXZ appends one stream of one block.
func (l LZMA) encodeXZ(dst, src []byte) ([]byte, error) {
	chain := l
	if len(chain.Filters) == 0 {
		chain.Filters = []LZMAFilter{{ID: FilterLZMA2, Dict: l.Dict}}
	}
	last := chain.last(LZMAFilter{})
	if last.ID != FilterLZMA2 {
		return dst, unsupported("last filter %#x, expected LZMA2", last.ID)
	}
	plain := src
	src, err := chain.filtered(src)
	if err != nil {
		return dst, err
	}
	check := l.Check
	if check < 0 {
		check = xzCRC64
	}
	start := len(dst)
	flags := []byte{0, byte(check)}
	dst = appendCRC32(append(append(dst, xzMagic...), flags...), flags)

	block := len(dst)
	dst = chain.appendBlockHeader(dst, dictFor(last.dict(), len(src)))
	if dst, err = last.encodeLZMA2(dst, src); err != nil {
		return dst[:start], err
	}
	packed := len(dst) - block
	if dst, err = appendXZCheck(padTo4(dst, block), plain, check); err != nil {
		return dst[:start], err
	}
	checkLen := len(dst) - block - (packed+3)&^3

	index := len(dst)
	dst = append(dst, 0, 1)
	dst = binary.AppendUvarint(dst, uint64(packed+checkLen))
	dst = binary.AppendUvarint(dst, uint64(len(plain)))
	dst = padTo4(dst, index)
	dst = appendCRC32(dst, dst[index:])

	footer := append(binary.LittleEndian.AppendUint32(nil, uint32(len(dst)-index)/4-1), flags...)
	dst = append(appendCRC32(dst, footer), footer...)
	return append(dst, xzFooterMagic...), nil
}

// appendBlockHeader appends a block's header, which names the filters and the size of the
// dictionary.
func (l LZMA) appendBlockHeader(dst []byte, dict int) []byte {
	start := len(dst)
	dst = append(dst, 0, byte(len(l.Filters)-1))
	for _, f := range l.Filters[:len(l.Filters)-1] {
		// delta: filtered has refused all others
		dst = append(binary.AppendUvarint(dst, uint64(f.ID)), 1, byte(max(f.Dist, 1)-1))
	}
	code := byte(0)
	for (2|int(code&1))<<(code/2+11) < dict {
		code++
	}
	dst = append(binary.AppendUvarint(dst, uint64(FilterLZMA2)), 1, code)
	dst = padTo4(dst, start)
	// its length in fours, less one: the checksum is still to come
	dst[start] = byte((len(dst) - start) / 4)
	return appendCRC32(dst, dst[start:])
}

// appendXZCheck appends the check of a block's content.
func appendXZCheck(dst, plain []byte, check int) ([]byte, error) {
	switch check {
	case 0:
		return dst, nil
	case xzCRC32:
		return appendCRC32(dst, plain), nil
	case xzCRC64:
		return binary.LittleEndian.AppendUint64(dst, crc64.Checksum(plain, crc64ECMA)), nil
	case xzSHA256:
		sum := sha256.Sum256(plain)
		return append(dst, sum[:]...), nil
	}
	return dst, unsupported("check %d", check)
}

func appendCRC32(dst, of []byte) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(of))
}

// padTo4 appends zeros until what begins at start is a multiple of four bytes long.
func padTo4(dst []byte, start int) []byte {
	for (len(dst)-start)%4 != 0 {
		dst = append(dst, 0)
	}
	return dst
}
