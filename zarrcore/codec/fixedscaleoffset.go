package codec

import (
	"errors"
	"fmt"
)

// fixedscaleoffset (numcodecs) stores round((x - offset) * scale) as astype; decoding gives x / scale + offset. The
// arithmetic runs in astype where that is a float, else in float64, and every operation rounds to it.
func init() { register("numcodecs.fixedscaleoffset", arrayToArray, bindFixedScaleOffset) }

func bindFixedScaleOffset(in state, cfg config) (step, state, error) {
	p, out, err := bindPair(in, cfg, "dtype", "astype")
	if err != nil {
		return step{}, in, err
	}
	if p.to.class == complexed {
		return step{}, in, fmt.Errorf("numbers of type %s: %w", p.to, errors.ErrUnsupported)
	}
	f := scaleOffset{pair: p}
	if f.scale, err = cfg.number("scale"); err != nil {
		return step{}, in, err
	}
	if f.offset, err = cfg.number("offset"); err != nil {
		return step{}, in, err
	}
	size := 8
	if p.from.class == floating {
		size = p.from.size
	}
	f.round = rounder(size)
	f.scale, f.offset = f.round(f.scale), f.round(f.offset)
	return filterStep(p, f), out, nil
}

type scaleOffset struct {
	pair
	scale, offset float64
	round         func(float64) float64
}

func (f scaleOffset) compute(dst, src []byte) {
	var block [blockLen]float64
	for len(src) > 0 {
		n := min(len(src)/f.from.size, blockLen)
		loadFloats(block[:n], src[:n*f.from.size], f.from)
		for i, v := range block[:n] {
			block[i] = f.round(f.round(v/f.scale) + f.offset)
		}
		storeFloats(dst, block[:n], f.to)
		dst, src = dst[n*f.to.size:], src[n*f.from.size:]
	}
}
