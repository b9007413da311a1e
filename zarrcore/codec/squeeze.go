package codec

import (
	"errors"
	"slices"
)

// zarrs.squeeze (zarrs) drops the axes of length 1; if all are, one stays. Nothing is moved.
func init() { register("zarrs.squeeze", bindSqueeze) }

func bindSqueeze(in state, _ config) (step, state, error) {
	if !in.array {
		return step{}, in, errors.New("needs an array, found bytes")
	}
	shape := slices.DeleteFunc(slices.Clone(in.shape), func(n int64) bool { return n == 1 })
	if len(shape) == 0 {
		shape = []int64{1}
	}
	return step{}, in.reshaped(shape), nil
}
