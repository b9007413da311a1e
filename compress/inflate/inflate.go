// Package inflate decodes raw DEFLATE streams (RFC 1951) whose decoded size is known in advance.
//
// A one-shot decoder needs no window and no state between calls: matches are copied from the
// destination itself. That, a 64-bit bit buffer and tables whose entries may hold two literals make
// it several times faster than a streaming decoder.
package inflate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// ErrCorrupt says that the input is not a complete DEFLATE stream; it is wrapped with what was
// expected and found.
var ErrCorrupt = errors.New("corrupt data")

// ErrTooLarge says that the stream decodes to more bytes than the destination holds.
var ErrTooLarge = errors.New("output exceeds its limit")

// stream is the state of one decoding: where we are in the input, and in the output.
type stream struct {
	src []byte
	pos int // next byte of src to load into bits
	// loaded bits, the next one lowest; above nbits may stand true bits of src that are not counted
	// yet
	bits  uint64
	nbits uint64 // how many of bits are counted as loaded
	dst   []byte
	out   int // bytes of dst written
}

// tables are the decoding tables of one dynamic block and what building them needs. They are too
// large to build again for each call.
type tables struct {
	lit  litTable
	dist distTable
	pre  preTable
	lens [maxLit + maxDist]uint8
	book codebook
}

var tablePool = sync.Pool{New: func() any { return new(tables) }}

// fixed returns the tables of blocks of type 1 (RFC 1951 section 3.2.6).
var fixed = sync.OnceValue(func() *tables {
	t := new(tables)
	for i := range 288 {
		switch {
		case i < 144:
			t.lens[i] = 8
		case i < 256:
			t.lens[i] = 9
		case i < 280:
			t.lens[i] = 7
		default:
			t.lens[i] = 8
		}
	}
	for i := range 32 {
		t.lens[288+i] = 5
	}
	if !t.buildLit(288) || !t.buildDist(288, 32) {
		panic("inflate: the fixed codes of RFC 1951 are complete")
	}
	return t
})

// Decode decodes the raw DEFLATE stream at the start of src into dst. It returns how many bytes it
// wrote and how many bytes of src the stream takes; what follows the stream is not looked at. It
// never writes beyond len(dst): a longer stream is ErrTooLarge. Over-subscribed and incomplete
// codes are refused as zlib refuses them.
func Decode(dst, src []byte) (written, consumed int, err error) {
	s := stream{src: src, dst: dst}
	t := tablePool.Get().(*tables)
	defer tablePool.Put(t)
	for final := false; !final; {
		s.refill()
		if s.nbits < 3 {
			return s.out, s.used(), s.truncated()
		}
		header := s.take(3)
		final = header&1 != 0
		if err := s.block(t, header>>1); err != nil {
			return s.out, s.used(), err
		}
	}
	return s.out, s.used(), nil
}

// block decodes the rest of one block of the given type.
func (s *stream) block(t *tables, kind uint64) error {
	switch kind {
	case 0:
		return s.stored()
	case 1:
		f := fixed()
		return s.codes(&f.lit, &f.dist)
	case 2:
		if err := s.readTables(t); err != nil {
			return err
		}
		return s.codes(&t.lit, &t.dist)
	}
	return s.corrupt("block type 3, which is reserved")
}

// stored copies a block of type 0: LEN, its complement, and LEN bytes from the next byte boundary
// on (RFC 1951 section 3.2.4).
func (s *stream) stored() error {
	s.pos = s.used()
	s.bits, s.nbits = 0, 0
	if len(s.src)-s.pos < 4 {
		return s.truncated()
	}
	n := int(binary.LittleEndian.Uint16(s.src[s.pos:]))
	if inverse := int(binary.LittleEndian.Uint16(s.src[s.pos+2:])); inverse != n^0xffff {
		return s.corrupt(fmt.Sprintf("stored length %#04x with complement %#04x, expected %#04x", n,
			inverse, n^0xffff))
	}
	s.pos += 4
	if len(s.src)-s.pos < n {
		return s.truncated()
	}
	if len(s.dst)-s.out < n {
		return s.tooLarge()
	}
	copy(s.dst[s.out:], s.src[s.pos:s.pos+n])
	s.pos += n
	s.out += n
	return nil
}

// codes decodes the symbols of a block up to its end: fast while both ends are far, then one at a
// time.
func (s *stream) codes(lit *litTable, dist *distTable) error {
	if s.fast(lit, dist) {
		return nil
	}
	return s.careful(lit, dist)
}

// careful decodes symbols with every check, up to the end of the block. It needs no room at the end
// of src or dst.
func (s *stream) careful(lit *litTable, dist *distTable) error {
	for {
		// 56 bits or all there are: enough for a length and a distance with their extra bits, 48
		// bits at most
		s.refill()
		e := lit.lookup(s.bits)
		if uint64(e&totalBits) > s.nbits {
			return s.truncated()
		}
		if e < notLiteral {
			if err := s.literals(e); err != nil {
				return err
			}
			continue
		}
		if e&special != 0 {
			s.take(uint64(e & totalBits))
			if e&endOfBlock != 0 {
				return nil
			}
			return s.corrupt("a literal/length code that stands for nothing")
		}
		if err := s.match(e, dist); err != nil {
			return err
		}
	}
}

// literals writes the one or two literals of an entry.
func (s *stream) literals(e uint32) error {
	s.take(uint64(e & totalBits))
	n := int(e >> countShift)
	if len(s.dst)-s.out < n {
		return s.tooLarge()
	}
	s.dst[s.out] = byte(e >> baseShift)
	if n == 2 {
		s.dst[s.out+1] = byte(e >> (baseShift + 8))
	}
	s.out += n
	return nil
}

// match writes the literal of e, if it has one, decodes the distance that follows its length, and
// copies the match.
func (s *stream) match(e uint32, dist *distTable) error {
	length := int(e >> lengthShift & lengthMask)
	length += int(s.take(uint64(e&totalBits)) >> (e >> codeShift & codeMask))
	if e&literalFirst != 0 {
		if s.out == len(s.dst) {
			return s.tooLarge()
		}
		s.dst[s.out] = byte(e >> baseShift)
		s.out++
	}
	d := dist.lookup(s.bits)
	if d&special != 0 {
		return s.corrupt("a distance code that stands for nothing")
	}
	if uint64(d&totalBits) > s.nbits {
		return s.truncated()
	}
	distance := int(d >> baseShift & distanceMask)
	distance += int(s.take(uint64(d&totalBits)) >> (d >> codeShift & codeMask))
	if distance > s.out {
		return s.tooFar(distance)
	}
	if len(s.dst)-s.out < length {
		return s.tooLarge()
	}
	if distance >= length {
		copy(s.dst[s.out:s.out+length], s.dst[s.out-distance:])
		s.out += length
		return nil
	}
	for range length {
		s.dst[s.out] = s.dst[s.out-distance]
		s.out++
	}
	return nil
}

// refill loads bits until there are at least 56 of them, or all that the input has left.
func (s *stream) refill() {
	if len(s.src)-s.pos >= 8 {
		s.bits |= binary.LittleEndian.Uint64(s.src[s.pos:]) << (s.nbits & 63)
		s.pos += int(63-s.nbits) >> 3
		s.nbits |= 56
		return
	}
	for s.nbits < 56 && s.pos < len(s.src) {
		s.bits |= uint64(s.src[s.pos]) << (s.nbits & 63)
		s.pos++
		s.nbits += 8
	}
}

// take removes the next n loaded bits and returns them; the caller has seen to it that so many are
// loaded.
func (s *stream) take(n uint64) uint64 {
	v := s.bits & (1<<(n&63) - 1)
	s.bits >>= n & 63
	s.nbits -= n
	return v
}

// used says how many bytes of src have been decoded, the last one perhaps in part.
func (s *stream) used() int { return s.pos - int(s.nbits>>3) }

func (s *stream) corrupt(what string) error {
	return fmt.Errorf("%w: deflate stream holds %s, near byte %d of %d", ErrCorrupt, what, s.used(),
		len(s.src))
}

func (s *stream) truncated() error {
	return fmt.Errorf("%w: deflate stream ends after %d bytes, expected an end-of-block code of "+
		"its last block", ErrCorrupt, len(s.src))
}

func (s *stream) tooFar(distance int) error {
	return s.corrupt(fmt.Sprintf("a match %d bytes back where only %d were decoded", distance,
		s.out))
}

func (s *stream) tooLarge() error {
	return fmt.Errorf("%w: deflate stream decodes to more than %d bytes", ErrTooLarge, len(s.dst))
}
