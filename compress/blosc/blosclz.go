package blosc

import (
	"encoding/binary"
	"errors"
)

var (
	errInputEnds  = errors.New("blosclz: input ends within an instruction")
	errOutputFull = errors.New("blosclz: more output than expected")
	errDistance   = errors.New("blosclz: copy from before the output's start")
)

// nearDistance is the longest distance of a copy that has two bytes for it;
// further ones have two more.
const nearDistance = 31<<8 + 255

// decodeBloscLZ decodes a stream of blosclz, a close relative of FastLZ level
// 2, into dst and returns the bytes written.
//
// An instruction begins with a control byte. Below 32 it announces that many literals plus one.
// Otherwise its upper three bits are the length of a copy plus two. If they are 7, bytes to be
// added follow, up to one that is not 255. Its lower five bits and a next byte are the distance
// minus one. If those are all ones, two further bytes follow, to be added. The first instruction's
// upper bits mean nothing: it can only be literals.
//
// The loop is one long function because it is what blosclz takes its time for.
// Where there is room, copies write more than they need, which later
// instructions overwrite.
func decodeBloscLZ(dst, src []byte) (int, error) {
	if len(src) == 0 {
		return 0, errInputEnds
	}
	control := int(src[0] & 31)
	in, out := 1, 0
	for {
		if control < 32 {
			n := control + 1
			switch {
			case in+32 <= len(src) && out+32 <= len(dst):
				*(*[32]byte)(dst[out:]) = *(*[32]byte)(src[in:])
			case n > len(src)-in:
				return out, errInputEnds
			case n > len(dst)-out:
				return out, errOutputFull
			default:
				copy(dst[out:], src[in:in+n])
			}
			in, out = in+n, out+n
		} else {
			n, distance := control>>5+2, control&31<<8
			for more := n == 9; more; in++ {
				if in >= len(src) {
					return out, errInputEnds
				}
				n += int(src[in])
				more = src[in] == 255
			}
			if in >= len(src) {
				return out, errInputEnds
			}
			distance += int(src[in])
			in++
			if distance == nearDistance {
				if in+2 > len(src) {
					return out, errInputEnds
				}
				distance += int(binary.BigEndian.Uint16(src[in:]))
				in += 2
			}
			distance++
			if distance > out {
				return out, errDistance
			}
			if n > len(dst)-out {
				return out, errOutputFull
			}
			from := out - distance
			switch {
			case n <= 16 && distance >= 16 && out+16 <= len(dst):
				*(*[16]byte)(dst[out:]) = *(*[16]byte)(dst[from:])
				out += n
			case n <= 32 && distance >= 32 && out+32 <= len(dst):
				*(*[32]byte)(dst[out:]) = *(*[32]byte)(dst[from:])
				out += n
			default:
				out = repeat(dst, from, out, n)
			}
		}
		if in >= len(src) {
			return out, nil
		}
		control = int(src[in])
		in++
	}
}

// repeat appends n bytes to the first out of dst, from the given place on, and
// returns the new length. Where they reach beyond out, they repeat: what is
// there to copy then doubles each time.
func repeat(dst []byte, from, out, n int) int {
	end := out + n
	for out < end {
		out += copy(dst[out:end], dst[from:out])
	}
	return out
}
