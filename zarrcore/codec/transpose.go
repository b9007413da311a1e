package codec

import (
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

const transposeName = "transpose"

// transpose (v3 core codec): axis i of what it encodes to is axis order[i] of what it was given.
func init() { register(transposeName, bindTranspose) }

// bindTranspose only notes the new order of axes: the pipeline makes one step of all transposes in
// a row.
func bindTranspose(in state, cfg config) (step, state, error) {
	if !in.array {
		return step{}, in, errors.New("needs an array, found bytes")
	}
	order, err := transposeOrder(cfg, len(in.shape))
	if err != nil {
		return step{}, in, err
	}
	out := in
	out.shape, out.axes = make([]int64, len(order)), make([]int, len(order))
	for i, axis := range order {
		out.shape[i], out.axes[i] = in.shape[axis], in.axes[axis]
	}
	return step{}, out, nil
}

// transposeOrder reads a permutation, or "C" and "F", as drafts of v3 and tensorstore have them.
func transposeOrder(cfg config, rank int) ([]int, error) {
	order := identityAxes(rank)
	switch v := cfg.get("order"); {
	case v.Kind() == pyjson.String && v.Text() == "C":
		return order, nil
	case v.Kind() == pyjson.String && v.Text() == "F":
		for i := range order {
			order[i] = rank - 1 - i
		}
		return order, nil
	}
	axes, err := cfg.lengths("order", rank, 0)
	if err != nil {
		return nil, err
	}
	seen := make([]bool, rank)
	for i, axis := range axes {
		if axis >= int64(rank) || seen[axis] {
			return nil, fmt.Errorf("configuration \"order\": "+
				"expected a permutation of the %d axes, found %v", rank, axes)
		}
		seen[axis] = true
		order[i] = int(axis)
	}
	return order, nil
}

// decode makes a planned copy a step.
func (p *permute) decode(dst, src []byte) (int, error) {
	p.run(dst, src)
	return len(dst), nil
}
