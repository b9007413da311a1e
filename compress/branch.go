package compress

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A branch filter goes before LZMA where machine code is compressed: it makes the relative targets of calls absolute, so that calls of
// the same function are the same bytes. Numbers in arrays rarely are calls, but what looks like one was changed, and must be changed
// back. The .xz format's description (section 5.3.2) names the filters; what they take for a call is liblzma's.
type branch struct {
	name  string
	align uint32 // of the position that the first byte may be given
	turn  func(b []byte, pos, sign uint32)
}

// branches are the filters by their ids. turn is given the position of b's first byte, and adds each call's position to its target
// if sign is 1; if it is -1, it takes it away again.
var branches = map[int64]branch{
	4: {"x86", 1, turnX86}, 5: {"PowerPC", 4, turnPowerPC}, 6: {"IA-64", 16, turnIA64}, 7: {"ARM", 4, turnARM},
	8: {"ARM-Thumb", 2, turnThumb}, 9: {"SPARC", 4, turnSPARC}, 10: {"ARM64", 4, turnARM64},
}

const minus = ^uint32(0) // -1

// turnWords calls turn for each whole word of four bytes, and stores what it returns.
func turnWords(b []byte, pos uint32, order binary.ByteOrder, turn func(word, pos uint32) uint32) {
	for ; len(b) >= 4; b, pos = b[4:], pos+4 {
		order.PutUint32(b, turn(order.Uint32(b), pos))
	}
}

// low is a word with its lowest n bits from another.
func low(word, from uint32, n int) uint32 {
	mask := uint32(1)<<n - 1
	return word&^mask | from&mask
}

// turnARM: BL, that is always executed, with a target in words.
func turnARM(b []byte, pos, sign uint32) {
	turnWords(b, pos, binary.LittleEndian, func(word, pos uint32) uint32 {
		if word>>24 != 0xeb {
			return word
		}
		return low(word, word+sign*(pos+8)>>2, 24)
	})
}

// turnPowerPC: bl, with a target in bytes that is a multiple of four.
func turnPowerPC(b []byte, pos, sign uint32) {
	turnWords(b, pos, binary.BigEndian, func(word, pos uint32) uint32 {
		if word>>26 != 0x12 || word&3 != 1 {
			return word
		}
		return low(word, word&^3+sign*pos|1, 26)
	})
}

// turnSPARC: call, with a target in words, of which 22 bits and their sign are in use.
func turnSPARC(b []byte, pos, sign uint32) {
	turnWords(b, pos, binary.BigEndian, func(word, pos uint32) uint32 {
		if top := word >> 22; top != 0x100 && top != 0x1ff {
			return word
		}
		target := (word<<2 + sign*pos) >> 2
		target = target&(1<<22-1) | -(target>>22&1)<<22
		return 1<<30 | target&(1<<30-1)
	})
}

// turnARM64: BL with a target in words, and ADRP with one in pages of 4 KiB, if it is within 512 MiB.
func turnARM64(b []byte, pos, sign uint32) {
	turnWords(b, pos, binary.LittleEndian, func(word, pos uint32) uint32 {
		switch {
		case word>>26 == 0x25:
			return low(word, word+sign*(pos>>2), 26)
		case word&0x9f000000 != 0x90000000:
			return word
		}
		page := word>>29&3 | word>>3&0x1ffffc
		if (page+0x20000)&0x1c0000 != 0 {
			return word
		}
		page += sign * (pos >> 12)
		return word&0x9000001f | page&3<<29 | page&0x3fffc<<3 | -(page&0x20000)&0xe00000
	})
}

// turnThumb: BL, two instructions of two bytes with half of the target each.
func turnThumb(b []byte, pos, sign uint32) {
	for i := 0; i+4 <= len(b); i += 2 {
		high, lower := uint32(binary.LittleEndian.Uint16(b[i:])), uint32(binary.LittleEndian.Uint16(b[i+2:]))
		if high>>11 != 0x1e || lower>>11 != 0x1f {
			continue
		}
		target := (high&0x7ff<<11|lower&0x7ff)<<1 + sign*(pos+uint32(i)+4)
		binary.LittleEndian.PutUint16(b[i:], uint16(0x1e<<11|target>>12&0x7ff))
		binary.LittleEndian.PutUint16(b[i+2:], uint16(0x1f<<11|target>>1&0x7ff))
		i += 2
	}
}

// branchSlots tells by a bundle's template which of its three instructions may be branches.
var branchSlots = [32]byte{16: 4, 17: 4, 18: 6, 19: 6, 22: 7, 23: 7, 24: 4, 25: 4, 28: 4, 29: 4}

// turnIA64: in bundles of 16 bytes, of a template of 5 bits and three instructions of 41, br.call with a target in bundles.
func turnIA64(b []byte, pos, sign uint32) {
	for ; len(b) >= 16; b, pos = b[16:], pos+16 {
		for slot := range 3 {
			if branchSlots[b[0]&31]>>slot&1 == 0 {
				continue
			}
			bit := 5 + 41*slot
			var eight [8]byte
			six := b[bit/8 : bit/8+6]
			copy(eight[:], six)
			all := binary.LittleEndian.Uint64(eight[:])
			op := all >> (bit % 8)
			if op>>37&15 != 5 || op>>9&7 != 0 {
				continue
			}
			target := uint32(op>>13&0xfffff|op>>36&1<<20)<<4 + sign*pos
			target >>= 4
			op = op&^(0x8fffff<<13) | uint64(target&0xfffff)<<13 | uint64(target>>20&1)<<36
			binary.LittleEndian.PutUint64(eight[:], all&(1<<(bit%8)-1)|op<<(bit%8))
			copy(six, eight[:])
		}
	}
}

// turnX86: CALL and JMP, E8 and E9, with a target in the four bytes behind. It counts as such only if the target's highest byte is
// 00 or FF. near remembers, of the last four bytes, which began what looked like a call and was none: such a one, if its own
// target overlaps this one's, makes this one doubtful.
func turnX86(b []byte, pos, sign uint32) {
	near, last := uint32(0), -5 // near: bit 0 and up for the bytes before, the latest first; last: where the latest was
	for i := 0; i+5 <= len(b); {
		if b[i]&0xfe != 0xe8 {
			i++
			continue
		}
		if gap := i - last; gap > 5 {
			near = 0
		} else {
			for range gap {
				near = near & 0x77 << 1
			}
		}
		last = i
		doubts := near >> 1
		if far := extreme(b[i+4]); !far || doubts >= 0x10 || !slices.Contains([]uint32{0, 1, 2, 4}, doubts&7) {
			i++
			near |= 1
			if far := extreme(b[i+3]); far {
				near |= 0x10
			}
			continue
		}
		target := turnedTarget(binary.LittleEndian.Uint32(b[i+1:]), sign*(pos+uint32(i)+5), near)
		binary.LittleEndian.PutUint32(b[i+1:], low(-(target>>24&1), target, 24))
		i, near = i+5, 0
	}
}

// turnedTarget adds to the target of a call. Where one of its bytes may itself be the highest byte of a doubtful target and is 00 or FF
// afterwards, it is changed once more, so that what undoes this takes the same for doubtful.
func turnedTarget(target, add, near uint32) uint32 {
	for {
		target += add
		if near == 0 {
			return target
		}
		shift := 24 - 8*[8]int{0, 1, 2, 2, 3, 3, 3, 3}[near>>1]
		if !extreme(byte(target >> shift)) {
			return target
		}
		target ^= 1<<(shift+8) - 1
	}
}

// extreme tells a byte that only repeats the sign of what is below it.
func extreme(b byte) bool { return b == 0 || b == 0xff }

// branchOf returns a branch filter that may begin at a position.
func branchOf(id int64, start uint32) (branch, error) {
	f, ok := branches[id]
	switch {
	case id == 11:
		return f, unsupported("branch filter RISC-V")
	case !ok:
		return f, unsupported("filter %#x", id)
	case start%f.align != 0:
		return f, unsupported("branch filter %s from position %d, expected a multiple of %d", f.name, start, f.align)
	}
	return f, nil
}

// unfilter undoes a filter other than LZMA in place.
func (f LZMAFilter) unfilter(b []byte) error {
	if f.ID != FilterDelta {
		filter, err := branchOf(f.ID, f.Start)
		if err == nil {
			filter.turn(b, f.Start, minus)
		}
		return err
	}
	dist, err := f.distance()
	if err != nil {
		return err
	}
	for i := dist; i < len(b); i++ {
		b[i] += b[i-dist]
	}
	return nil
}

// filter returns what a filter other than LZMA makes of src, which stays as it is.
func (f LZMAFilter) filter(src []byte) ([]byte, error) {
	out := bytes.Clone(src)
	if f.ID != FilterDelta {
		filter, err := branchOf(f.ID, f.Start)
		if err == nil {
			filter.turn(out, f.Start, 1)
		}
		return out, err
	}
	dist, err := f.distance()
	if err != nil {
		return nil, err
	}
	for k := dist; k < len(src); k++ {
		out[k] = src[k] - src[k-dist]
	}
	return out, nil
}

// distance is a delta filter's; 0 stands for 1.
func (f LZMAFilter) distance() (int, error) {
	dist := max(f.Dist, 1)
	if dist > 256 {
		return 0, unsupported("delta filter with distance %d, expected 1 to 256", dist)
	}
	return dist, nil
}
