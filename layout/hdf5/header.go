package hdf5

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
)

// The types of header messages (IV.A.2).
const (
	msgDataspace     = 0x01
	msgLinkInfo      = 0x02
	msgDatatype      = 0x03
	msgFill          = 0x05
	msgLink          = 0x06
	msgLayout        = 0x08
	msgGroupInfo     = 0x0a
	msgAttribute     = 0x0c
	msgAttributeInfo = 0x15
)

const (
	isConstant = 1 << 0 // the flag of a message that never changes
	isShared   = 1 << 1 // the message says where the real one is
)

// header collects the messages of an object header.
type header struct {
	messages   []byte
	attributes uint16 // how many
}

// add appends a message. Attributes are numbered, so that readers see them in their order.
func (h *header) add(kind byte, flags byte, body []byte) {
	number := uint16(0)
	if kind == msgAttribute {
		number = h.attributes
		h.attributes++
	}
	h.messages = append(h.messages, kind)
	h.messages = binary.LittleEndian.AppendUint16(h.messages, uint16(len(body)))
	h.messages = append(h.messages, flags)
	h.messages = binary.LittleEndian.AppendUint16(h.messages, number)
	h.messages = append(h.messages, body...)
}

// bytes returns the object header, with all messages in its first chunk.
func (h *header) bytes() []byte {
	const wideSize, numbered, indexed = 2, 1 << 2, 1 << 3
	info := []byte{0, 3} // attributes are numbered, and could be found by their numbers
	info = binary.LittleEndian.AppendUint16(info, h.attributes)
	for range 3 { // heap and indexes of attributes that are not in the header
		info = appendAddress(info, undefined)
	}
	h.add(msgAttributeInfo, 0, info)
	b := append([]byte("OHDR"), 2, wideSize|numbered|indexed)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(h.messages)))
	return withChecksum(append(b, h.messages...))
}

// withChecksum appends the checksum of b.
func withChecksum(b []byte) []byte {
	out, _ := compress.JenkinsLookup3{}.Encode(nil, b) // it has no way to fail
	return out
}

func appendAddress(b []byte, address uint64) []byte {
	return binary.LittleEndian.AppendUint64(b, address)
}

// dataspace returns the message of a shape; nil is a scalar (IV.A.2.b).
func dataspace(shape []int64) []byte {
	const scalar, simple = 0, 1
	if shape == nil {
		return []byte{2, 0, 0, scalar}
	}
	b := []byte{2, byte(len(shape)), 0, simple}
	for _, n := range shape {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// fillMessage returns the message of a fill value (IV.A.2.f); nil: none is defined. Chunks without
// an index are there from the beginning.
func fillMessage(fill []byte, inChunks bool) []byte {
	// When space is allocated, and when the value written.
	const early, late, ifSet, defined = 1, 2, 2 << 2, 1 << 5
	when := byte(late)
	if inChunks {
		when = early
	}
	if fill == nil {
		return []byte{3, when | ifSet}
	}
	b := []byte{3, when | ifSet | defined}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(fill)))
	return append(b, fill...)
}

// contiguous returns the message of a dataset whose bytes follow each other (IV.A.2.i).
func contiguous(address uint64, size int64) []byte {
	b := appendAddress([]byte{3, 1}, address)
	return binary.LittleEndian.AppendUint64(b, uint64(size))
}

// chunked returns the message of a dataset whose chunks follow each other, so that no index says
// where they are (IV.A.2.i, version 4).
func chunked(address uint64, chunk []int64, size int) []byte {
	const byChunks, implicit = 2, 2
	lengths := append(slices.Clone(chunk), int64(size))
	width := (bits.Len64(uint64(slices.Max(lengths))) + 7) / 8
	b := []byte{4, byChunks, 0, byte(len(lengths)), byte(width)}
	for _, n := range lengths {
		b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(n))[:width]...)
	}
	return appendAddress(append(b, implicit), address)
}

// compact returns the message of a dataset whose bytes are in the header (IV.A.2.i).
func compact(data []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{3, 0}, uint16(len(data)))
	return append(b, data...)
}

// link returns the message of a link to an object (IV.A.2.g). Links are numbered.
func link(name string, number int, address uint64) []byte {
	const numbered, isUTF8 = 1 << 2, 1 << 4
	width := byte(0) // of the name's length: 1, 2 or 4 bytes
	if len(name) > 0xff {
		width = 1
	}
	b := []byte{1, numbered | isUTF8 | width}
	b = binary.LittleEndian.AppendUint64(b, uint64(number))
	b = append(b, 1) // UTF-8
	if width == 0 {
		b = append(b, byte(len(name)))
	} else {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	}
	return appendAddress(append(b, name...), address)
}

// linkInfo returns the message of a group whose links are in its header (IV.A.2.c).
func linkInfo(links int) []byte {
	const numbered = 1
	b := binary.LittleEndian.AppendUint64([]byte{0, numbered}, uint64(links))
	return appendAddress(appendAddress(b, undefined), undefined)
}

// superblock returns the first bytes of the file. end is where the file ends.
func superblock(base, end, root uint64) []byte {
	b := append([]byte("\x89HDF\r\n\x1a\n"), 2, 8, 8, 0)
	b = appendAddress(b, base)
	b = appendAddress(b, undefined) // there is no extension
	b = appendAddress(b, end)
	return withChecksum(appendAddress(b, root))
}
