package codec

import (
	"errors"
	"fmt"
	"math"
)

// fixedscaleoffset (numcodecs) stores round((x - offset) * scale) as astype; decoding gives x /
// scale + offset. The arithmetic runs in the type of x where that is a float, otherwise in float64,
// and every operation rounds to it.
func init() { register("numcodecs.fixedscaleoffset", bindFixedScaleOffset) }

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
	back := offsetScale{pair: p.back(), scale: f.scale, offset: f.offset, whole: true}
	back.round = rounder(p.to.arithmetic())
	back.scale, back.offset = back.round(back.scale), back.round(back.offset)
	f.round = rounder(p.from.arithmetic())
	f.scale, f.offset = f.round(f.scale), f.round(f.offset)
	return filterStep(p, f, back), out, nil
}

// arithmetic is the size of the floats in which NumPy computes with numbers of the type and numbers
// of Python.
func (s scalar) arithmetic() int {
	if s.class == floating {
		return s.size
	}
	return 8
}

type scaleOffset struct {
	pair
	scale, offset float64
	round         func(float64) float64
}

func (f scaleOffset) compute(dst, src []byte) {
	eachFloat(dst, src, f.pair,
		func(v float64) float64 { return f.round(f.round(v/f.scale) + f.offset) })
}

// offsetScale is what scaleOffset undoes.
type offsetScale struct {
	pair
	scale, offset float64
	round         func(float64) float64
	whole         bool // the result is rounded to a whole number
}

func (f offsetScale) compute(dst, src []byte) { eachFloat(dst, src, f.pair, f.one) }

// one encodes one number.
func (f offsetScale) one(v float64) float64 {
	v = f.round(f.round(v-f.offset) * f.scale)
	if f.whole {
		v = math.RoundToEven(v)
	}
	return v
}
