package dtype

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Order is the byte order of a type's elements.
type Order uint8

// The byte orders, with their signs in NumPy's typestrs.
const (
	// '|': no unit of more than one byte, or a Struct, whose fields have orders
	NoOrder Order = iota
	Little        // '<'
	Big           // '>'
)

// String returns the order's sign in a typestr.
func (o Order) String() string { return "|<>"[o : o+1] }

// appender returns how numbers in the order are appended to bytes.
func (o Order) appender() binary.AppendByteOrder {
	if o == Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// put returns the low size bytes of code.
func (o Order) put(code uint64, size int64) []byte {
	if o == Big {
		return o.appender().AppendUint64(nil, code)[8-size:]
	}
	return o.appender().AppendUint64(nil, code)[:size]
}

// unsigned reads up to 8 bytes.
func (o Order) unsigned(data []byte) uint64 {
	var wide [8]byte
	if o == Big {
		copy(wide[8-len(data):], data)
		return binary.BigEndian.Uint64(wide[:])
	}
	copy(wide[:], data)
	return binary.LittleEndian.Uint64(wide[:])
}

// signed reads up to 8 bytes as two's complement.
func (o Order) signed(data []byte) int64 {
	unused := 64 - 8*len(data)
	return int64(o.unsigned(data)) << unused >> unused
}

// text reads UTF-32 up to the NULs that pad it.
func (o Order) text(data []byte) string {
	var runes []rune
	for code := range slices.Chunk(data, 4) {
		runes = append(runes, rune(o.unsigned(code)))
	}
	return strings.TrimRight(string(runes), "\x00")
}

// bits returns what reads one element of size bytes as an unsigned number; nil: there are no
// numbers of that size.
func (o Order) bits(size int64) func(b []byte) uint64 {
	var order binary.ByteOrder = binary.LittleEndian
	if o == Big {
		order = binary.BigEndian
	}
	switch size {
	case 1:
		return func(b []byte) uint64 { return uint64(b[0]) }
	case 2:
		return func(b []byte) uint64 { return uint64(order.Uint16(b)) }
	case 4:
		return func(b []byte) uint64 { return uint64(order.Uint32(b)) }
	case 8:
		return order.Uint64
	}
	return nil
}
