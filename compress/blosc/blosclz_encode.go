package blosc

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// Bounds of blosclz's instructions (see decodeBloscLZ).
const (
	maxLiterals = 32                   // of one instruction
	maxDistance = nearDistance + 65536 // of a copy
	minMatch    = 4                    // bytes that are worth a copy
	// the same of copies that have four bytes for their distance and length
	minFarMatch = 6
	tailLength  = 12 // bytes at the end that no copy begins in
	lzTableBits = 14
)

// lzTables keep tables of where in a stream a hash of four bytes was seen last.
var lzTables = sync.Pool{New: func() any { return new([1 << lzTableBits]uint32) }}

// encodeBloscLZ compresses src into dst and returns the length; 0 if dst is too short. The first
// match that is found is taken; where none are found, ever more bytes are skipped, at low levels
// sooner.
func encodeBloscLZ(dst, src []byte, level int) int {
	if len(src) < tailLength+minMatch {
		return 0
	}
	table := lzTables.Get().(*[1 << lzTableBits]uint32)
	defer lzTables.Put(table)
	clear(table[:])
	patience := 4 + min(level/3, 2)
	w := lzWriter{dst: dst}
	anchor, i, limit := 0, 1, len(src)-tailLength
	for i < limit {
		word := binary.LittleEndian.Uint32(src[i:])
		slot := &table[word*2654435761>>(32-lzTableBits)]
		from := int(*slot)
		*slot = uint32(i)
		distance := i - from
		if distance > maxDistance || binary.LittleEndian.Uint32(src[from:]) != word {
			i += 1 + (i-anchor)>>patience
			continue
		}
		n := minMatch + sameBytes(src[from+minMatch:], src[i+minMatch:len(src)-tailLength/2])
		for i > anchor && from > 0 && src[i-1] == src[from-1] {
			i, from, n = i-1, from-1, n+1
		}
		if distance > nearDistance && n < minFarMatch {
			i += n // the same match would be found again
			continue
		}
		if !w.literals(src[anchor:i]) || !w.match(n, distance) {
			return 0
		}
		i += n
		anchor = i
		if i < limit {
			table[binary.LittleEndian.Uint32(src[i-2:])*2654435761>>(32-lzTableBits)] =
				uint32(i - 2)
		}
	}
	if !w.literals(src[anchor:]) {
		return 0
	}
	return w.n
}

// sameBytes is how many bytes both begin with; b is the shorter one.
func sameBytes(a, b []byte) int {
	n := 0
	for n+8 <= len(b) {
		if diff := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(
			b[n:]); diff != 0 {
			return n + bits.TrailingZeros64(diff)/8
		}
		n += 8
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// lzWriter writes instructions to memory that may be too short; its methods are then false.
type lzWriter struct {
	dst []byte
	n   int
}

// literals writes bytes as they are.
func (w *lzWriter) literals(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), maxLiterals)
		if w.n+1+n > len(w.dst) {
			return false
		}
		w.dst[w.n] = byte(n - 1)
		copy(w.dst[w.n+1:], b[:n])
		w.n += 1 + n
		b = b[n:]
	}
	return true
}

// match writes a copy of n bytes, at least 3, from a distance.
func (w *lzWriter) match(n, distance int) bool {
	if w.n+n/255+6 > len(w.dst) {
		return false
	}
	n -= 2
	distance--
	field := min(distance, nearDistance)
	w.put(byte(min(n, 7)<<5 | field>>8))
	if n >= 7 {
		for n -= 7; n >= 255; n -= 255 {
			w.put(255)
		}
		w.put(byte(n))
	}
	w.put(byte(field))
	if far := distance - field; field == nearDistance {
		w.put(byte(far >> 8))
		w.put(byte(far))
	}
	return true
}

func (w *lzWriter) put(b byte) {
	w.dst[w.n] = b
	w.n++
}
