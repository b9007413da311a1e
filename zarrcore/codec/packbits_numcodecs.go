package codec

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// numcodecs.packbits packs booleans, the first into the highest bit of a byte. One byte before them
// counts the bits that pad the last byte. The packbits of v3 is another codec: it fills from the
// lowest bit.
func init() { register("numcodecs.packbits", bindBooleans) }

func bindBooleans(in state, _ config) (step, state, error) {
	if in.size == unknown || in.array && in.typ.Size != 1 {
		return step{}, in, errors.New("needs elements of one byte")
	}
	u1 := dtype.Type{Kind: dtype.Uint, Size: 1}
	return step{move: booleans(in.size), enc: booleans(in.size)},
		in.retyped(u1, 1+(in.size+7)/8), nil
}

// booleans is the step for that many booleans.
type booleans int64

func (n booleans) decode(dst, src []byte) (int, error) {
	if want := 1 + (int64(n)+7)/8; int64(len(src)) != want {
		return 0, fmt.Errorf("%w: expected %d bytes, found %d", compress.ErrCorrupt, want, len(src))
	}
	if pad := -int64(n) & 7; int64(src[0]) != pad {
		return 0, fmt.Errorf("%w: expected %d padding bits, found %d",
			compress.ErrCorrupt, pad, src[0])
	}
	dst = dst[:n]
	for i, b := range src[1:] {
		spreadBits(dst[8*i:min(8*i+8, len(dst))], bits.Reverse8(b))
	}
	return len(dst), nil
}

func (n booleans) encode(dst, src []byte) ([]byte, error) {
	out := append(dst, byte(-n&7))
	for len(src) > 0 {
		k := min(len(src), 8)
		out = append(out, bits.Reverse8(gatherBits(src[:k])))
		src = src[k:]
	}
	return out, nil
}

// gatherBits undoes spreadBits; any byte but 0 is a 1.
func gatherBits(src []byte) byte {
	var b byte
	for i, v := range src {
		b |= oneIf(v != 0) << i
	}
	return b
}

// spreadBits writes the bits of b, lowest first, as bytes 0 and 1.
func spreadBits(dst []byte, b byte) {
	for i := range dst {
		dst[i] = b >> i & 1
	}
}
