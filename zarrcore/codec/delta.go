package codec

import (
	"errors"
	"fmt"
)

// delta (numcodecs) stores the first element, then differences, which are taken in dtype and cast
// to astype. Decoding is a running sum in the numbers that NumPy promotes dtype and astype to, over
// the elements in memory order. Booleans are summed by exclusive or, which is what numcodecs
// encodes (its own decoding, a running or, does not give them back).
func init() { register("numcodecs.delta", bindDelta) }

func bindDelta(in state, cfg config) (step, state, error) {
	p, out, err := bindPair(in, cfg, "dtype", "astype")
	if err != nil {
		return step{}, in, err
	}
	kind, ok := promoteSum(p.to, p.from)
	if !ok {
		return step{}, in, fmt.Errorf("differences of type %s, sums of type %s: %w",
			p.from, p.to, errors.ErrUnsupported)
	}
	return filterStep(p, deltaSum{p, kind}, difference{p}), out, nil
}

type deltaSum struct {
	pair
	kind sumKind
}

func (d deltaSum) compute(dst, src []byte) { runningSum(dst, src, d.to, d.from, d.kind) }

// difference is delta's encoding, for the pair of its decoding.
type difference struct{ pair }

func (d difference) compute(dst, src []byte) { differences(dst, src, d.from, d.to) }
