package codec

import "math"

// quantize (numcodecs) rounds floats to a number of decimal digits, in binary. Decoding does not
// undo that, and only converts astype to dtype.
func init() { register("numcodecs.quantize", bindQuantize) }

func bindQuantize(in state, cfg config) (step, state, error) {
	p, out, err := bindPair(in, cfg, "dtype", "astype")
	if err != nil {
		return step{}, in, err
	}
	s := filterStep(p, caster{p}, caster{p.back()})
	if p.to == p.from {
		s.place = nil // decoding does nothing
	}
	digits, err := cfg.integer("digits", -300, 300)
	if err == nil && p.to.class != floating {
		err = notEncoded("numbers of type " + p.to.String() + " cannot be quantized")
	}
	if err != nil {
		s.enc, s.why = nil, err
		return s, out, nil
	}
	s.enc = filterEncode{p.back(),
		quantizer{p.back(), math.Exp2(math.Ceil(math.Log2(math.Pow10(int(digits)))))}}
	return s, out, nil
}

// quantizer rounds to multiples of 1/scale.
type quantizer struct {
	pair
	scale float64 // a power of two
}

func (q quantizer) compute(dst, src []byte) {
	round := rounder(q.from.size)
	eachFloat(dst, src, q.pair, func(v float64) float64 {
		return round(math.RoundToEven(round(q.scale*v)) / q.scale)
	})
}

// eachFloat computes every number of the first type from one of the second.
func eachFloat(dst, src []byte, p pair, f func(float64) float64) {
	var block [blockLen]float64
	for len(src) > 0 {
		n := min(len(src)/p.from.size, blockLen)
		loadFloats(block[:n], src[:n*p.from.size], p.from)
		for i, v := range block[:n] {
			block[i] = f(v)
		}
		storeFloats(dst, block[:n], p.to)
		dst, src = dst[n*p.to.size:], src[n*p.from.size:]
	}
}
