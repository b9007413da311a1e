package volume

import (
	"encoding/binary"
	"math"
)

// fields is a binary header whose fields lie at fixed places.
type fields struct {
	bytes []byte
	order binary.ByteOrder
}

func newFields(length int, t Type) fields {
	f := fields{bytes: make([]byte, length), order: binary.LittleEndian}
	if t.Big {
		f.order = binary.BigEndian
	}
	return f
}

func (f fields) i16(at int, all ...int64) {
	for i, n := range all {
		f.order.PutUint16(f.bytes[at+2*i:], uint16(n))
	}
}

func (f fields) i32(at int, all ...int64) {
	for i, n := range all {
		f.order.PutUint32(f.bytes[at+4*i:], uint32(n))
	}
}

func (f fields) i64(at int, all ...int64) {
	for i, n := range all {
		f.order.PutUint64(f.bytes[at+8*i:], uint64(n))
	}
}

func (f fields) f32(at int, all ...float64) {
	for i, n := range all {
		f.order.PutUint32(f.bytes[at+4*i:], math.Float32bits(float32(n)))
	}
}

func (f fields) f64(at int, all ...float64) {
	for i, n := range all {
		f.order.PutUint64(f.bytes[at+8*i:], math.Float64bits(n))
	}
}

// text puts as much of s as a field of that length holds, with a NUL at its end.
func (f fields) text(at, length int, s string) {
	copy(f.bytes[at:at+length-1], s)
}
