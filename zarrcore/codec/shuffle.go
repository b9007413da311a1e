package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/compress/shuffle"
)

// shuffle puts equal bytes of all elements together, as HDF5's filter does. Elements are
// elementsize bytes: where v3 does not say, the array's elements; of v2 meta always says it.
func init() { register("numcodecs.shuffle", bindShuffle) }

func bindShuffle(in state, cfg config) (step, state, error) {
	size, err := cfg.integerOr("elementsize", in.typ.Size, 0, 1<<31-1)
	if err != nil {
		return step{}, in, err
	}
	out := in.bytes(0)
	if size <= 1 {
		return step{}, out, nil
	}
	return step{move: unshuffle(size), enc: unshuffle(size)}, out, nil
}

// unshuffle is the step for elements of that many bytes.
type unshuffle int

func (u unshuffle) encode(dst, src []byte) ([]byte, error) {
	if len(src)%int(u) != 0 {
		return dst, fmt.Errorf("expected a multiple of %d bytes, found %d", int(u), len(src))
	}
	out, room := extend(dst, len(src))
	shuffle.Shuffle(room, src, int(u))
	return out, nil
}

func (u unshuffle) decode(dst, src []byte) (int, error) {
	switch {
	case len(src)%int(u) != 0:
		return 0, fmt.Errorf("%w: expected a multiple of %d bytes, found %d",
			compress.ErrCorrupt, int(u), len(src))
	case len(src) > len(dst):
		return 0, fmt.Errorf("%w: expected at most %d bytes, found %d",
			compress.ErrTooLarge, len(dst), len(src))
	}
	shuffle.Unshuffle(dst[:len(src)], src, int(u))
	return len(src), nil
}
