package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// packbits (v3 extension) stores only the bits first_bit to last_bit of each number, densely:
// number i has the bits from i*k on, counted from the lowest bit of the first byte. Padding bits
// may be counted in a first or a last byte.
func init() { register("packbits", bindPackBits) }

// bitPacking is packbits bound to a type.
type bitPacking struct {
	numbers int64 // two to each complex element
	size    int   // bytes of a number
	big     bool  // the byte order of its decoding
	first   int   // the lowest bit that is stored
	width   int   // how many bits are stored
	extend  bool  // the highest stored bit is the sign
	head    int64 // bytes before the bits: 0 or 1
	tail    int64 // bytes behind them: 0 or 1
	pad     byte  // bits that pad the last byte
	packed  int64 // bytes of the bits
}

func bindPackBits(in state, cfg config) (step, state, error) {
	p, valueBits, err := packingOf(in)
	if err != nil {
		return step{}, in, err
	}
	padding, err := cfg.oneOf("padding_encoding", "none", "none", "first_byte", "start_byte",
		"last_byte", "end_byte")
	if err != nil {
		return step{}, in, err
	}
	first, err := cfg.bit("first_bit", "start_bit", 0, valueBits)
	if err != nil {
		return step{}, in, err
	}
	last, err := cfg.bit("last_bit", "end_bit", valueBits-1, valueBits)
	if err != nil {
		return step{}, in, err
	}
	if last < first {
		return step{}, in, fmt.Errorf(
			"configuration: expected first_bit up to last_bit, found %d and %d", first, last)
	}
	p.first, p.width = first, last-first+1
	p.packed = (p.numbers*int64(p.width) + 7) / 8
	p.pad = byte(p.packed*8 - p.numbers*int64(p.width))
	switch padding {
	case "first_byte", "start_byte":
		p.head = 1
	case "last_byte", "end_byte":
		p.tail = 1
	}
	out := in.bytes(p.head + p.packed + p.tail - in.size)
	if p.isBare() {
		out.size = unknown
	}
	return step{move: p, enc: p}, out, nil
}

// isBare reports whether the byte that counts the padding may be missing: zarrs does not write it
// where all bits are stored.
func (p *bitPacking) isBare() bool { return p.head+p.tail > 0 && p.width == 8*p.size }

// bit reads a bit's number under either of the names in use.
func (c config) bit(key, other string, missing, valueBits int) (int, error) {
	if !c.get(key).Exists() {
		key = other
	}
	n, err := c.integerOr(key, int64(missing), 0, int64(valueBits-1))
	return int(n), err
}

// packingOf finds the numbers that a type is made of, and how many of their bits have a meaning.
func packingOf(in state) (*bitPacking, int, error) {
	p := &bitPacking{size: int(in.typ.Size), big: in.typ.Order == dtype.Big}
	valueBits, parts := 8*p.size, 1
	switch in.typ.Kind {
	case dtype.Bool:
		valueBits = 1
	case dtype.Int, dtype.Datetime, dtype.Timedelta:
		p.extend = true
	case dtype.Uint, dtype.Float:
	case dtype.Complex:
		parts = 2
	case dtype.Extension:
		valueBits, parts, p.extend = extensionBits(in.typ)
	default:
		return nil, 0, fmt.Errorf("type %s: %w", in.typ.NumPy(), errors.ErrUnsupported)
	}
	p.size /= parts
	if valueBits > 8*p.size {
		valueBits = 8 * p.size
	}
	if p.size > 8 || p.size == 0 {
		return nil, 0, fmt.Errorf("type %s: %w", in.typ.NumPy(), errors.ErrUnsupported)
	}
	p.numbers = in.size / int64(p.size)
	return p, valueBits, nil
}

// extensionBits reads a type's bits from its name: int4, float6_e2m3fn, complex_float4_e2m1fn,
// bfloat16.
func extensionBits(t dtype.Type) (width, parts int, signed bool) {
	name, isComplex := strings.CutPrefix(t.Name, "complex_")
	parts = 1
	if isComplex {
		parts = 2
	}
	for _, small := range []struct {
		prefix string
		width  int
	}{{"int2", 2}, {"uint2", 2}, {"int4", 4}, {"uint4", 4}, {"float4_", 4}, {"float6_", 6}} {
		if strings.HasPrefix(name, small.prefix) {
			return small.width, parts, strings.HasPrefix(name, "int")
		}
	}
	return 8 * int(t.Size) / parts, parts, false
}

func (p *bitPacking) decode(dst, src []byte) (int, error) {
	if p.isBare() && int64(len(src)) == p.packed {
		p.unpack(dst[:len(src)], src)
		return len(src), nil
	}
	if want := p.head + p.packed + p.tail; int64(len(src)) != want {
		return 0, fmt.Errorf("%w: expected %d bytes, found %d", compress.ErrCorrupt, want, len(src))
	}
	if pad := src[:p.head+p.tail]; len(pad) > 0 {
		found := src[0]
		if p.tail > 0 {
			found = src[len(src)-1]
		}
		if found != p.pad {
			return 0, fmt.Errorf("%w: expected %d padding bits, found %d",
				compress.ErrCorrupt, p.pad, found)
		}
	}
	p.unpack(dst[:p.numbers*int64(p.size)], src[p.head:p.head+p.packed])
	return int(p.numbers) * p.size, nil
}

// unpack takes the numbers off a stream of bits. pending holds at most 7 bits between numbers.
// Numbers of 58 bits and more do not fit beside them, and their last byte is taken apart.
func (p *bitPacking) unpack(dst, src []byte) {
	var pending uint64
	have := 0
	for off := 0; off < len(dst); off += p.size {
		for have < p.width && have <= 56 {
			pending |= uint64(src[0]) << have
			src = src[1:]
			have += 8
		}
		v := pending
		if have < p.width {
			v |= uint64(src[0]) << have
			pending = uint64(src[0]) >> (p.width - have)
			have += 8 - p.width
			src = src[1:]
		} else {
			pending = pending >> (p.width - 1) >> 1
			have -= p.width
		}
		p.store(dst[off:off+p.size], v)
	}
}

func (p *bitPacking) encode(dst, src []byte) ([]byte, error) {
	if p.head > 0 {
		dst = append(dst, p.pad)
	}
	out, room := extend(dst, int(p.packed))
	p.pack(room, src)
	if p.tail > 0 {
		out = append(out, p.pad)
	}
	return out, nil
}

// pack puts the numbers into a stream of bits. pending holds at most 7 bits between numbers. Of a
// number of 58 bits or more some bits may then be left over.
func (p *bitPacking) pack(dst, src []byte) {
	var pending uint64
	have := 0
	for off := 0; off < len(src); off += p.size {
		v := p.load(src[off : off+p.size])
		pending |= v << have
		left := v >> (63 - have) >> 1 // what pending had no room for
		have += p.width
		for have >= 8 {
			dst[0] = byte(pending)
			dst = dst[1:]
			pending = pending>>8 | left<<56
			left >>= 8
			have -= 8
		}
	}
	if have > 0 {
		dst[0] = byte(pending)
	}
}

// load takes the bits that are stored from one number.
func (p *bitPacking) load(src []byte) uint64 {
	var word [8]byte
	copy(word[:], src)
	if p.big {
		swapBytes(word[:p.size], p.size)
	}
	return binary.LittleEndian.Uint64(word[:]) >> p.first & (^uint64(0) >> (64 - p.width))
}

// store widens one number: bits above the stored ones are the sign's or zero, below them zero.
func (p *bitPacking) store(dst []byte, v uint64) {
	high := 64 - p.width
	if p.extend {
		v = uint64(int64(v<<high) >> high)
	} else {
		v = v << high >> high
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v<<p.first)
	copy(dst, word[:])
	if p.big {
		swapBytes(dst, p.size)
	}
}
