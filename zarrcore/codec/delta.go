package codec

import (
	"errors"
	"fmt"
)

// delta (numcodecs) stores the first element, then differences. Decoding is a running sum in the numbers that NumPy
// promotes dtype and astype to, over the elements in memory order; booleans are summed by exclusive or, which is what
// numcodecs encodes (its own decoding, a running or, does not give them back).
func init() { register("numcodecs.delta", arrayToArray, bindDelta) }

func bindDelta(in state, cfg config) (step, state, error) {
	p, out, err := bindPair(in, cfg, "dtype", "astype")
	if err != nil {
		return step{}, in, err
	}
	kind, ok := promoteSum(p.to, p.from)
	if !ok {
		return step{}, in, fmt.Errorf("differences of type %s, sums of type %s: %w", p.from, p.to, errors.ErrUnsupported)
	}
	return filterStep(p, deltaSum{p, kind}), out, nil
}

type deltaSum struct {
	pair
	kind sumKind
}

func (d deltaSum) compute(dst, src []byte) { runningSum(dst, src, d.to, d.from, d.kind) }
