package codec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// reshape (v3 extension) gives an array another shape; its elements stay in C order, so there is
// nothing to decode.
func init() { register("reshape", bindReshape) }

func bindReshape(in state, cfg config) (step, state, error) {
	if !in.array {
		return step{}, in, errors.New("needs an array, found bytes")
	}
	r := reshaping{from: in.shape}
	list := cfg.get("shape")
	if list.Kind() != pyjson.Array {
		return step{}, in, cfg.expected("shape", "a list of lengths, lists of axes, or -1")
	}
	for item := range list.Elements() {
		if err := r.add(item); err != nil {
			return step{}, in, fmt.Errorf("configuration \"shape\": %w", err)
		}
	}
	if err := r.finish(); err != nil {
		return step{}, in, fmt.Errorf("configuration \"shape\": %w", err)
	}
	return step{}, in.reshaped(r.to), nil
}

// reshaping is a new shape while its configuration is read.
type reshaping struct {
	from, to []int64
	joins    []join
	next     int // the lowest axis that may still be joined
	free     int // 1 + the index of the length that follows from the others; 0 if none
}

// join says that axis to is axes first to last of what the codec was given.
type join struct{ to, first, last int }

// add reads one item: a length, a list of axes of the input whose lengths are multiplied, or -1.
func (r *reshaping) add(item pyjson.Value) error {
	n, isLength := item.Int64()
	switch {
	case item.Kind() == pyjson.Array:
		return r.join(item)
	case !isLength || n == 0 || n < -1:
		return fmt.Errorf("expected a length, a list of axes, or -1, found %s", shorten(item.Raw()))
	case n == -1 && r.free > 0:
		return errors.New("expected -1 once, found it twice")
	case n == -1:
		n, r.free = 1, len(r.to)+1
	}
	r.to = append(r.to, n)
	return nil
}

// join reads a list of axes. They must rise over the whole shape, as nothing is transposed.
func (r *reshaping) join(item pyjson.Value) error {
	j := join{to: len(r.to), first: -1}
	var lengths []int64
	for elem := range item.Elements() {
		axis, ok := elem.Int64()
		if !ok || axis < int64(r.next) || axis >= int64(len(r.from)) {
			return fmt.Errorf("expected some of the %d axes in rising order, found %s",
				len(r.from), shorten(item.Raw()))
		}
		if j.first < 0 {
			j.first = int(axis)
		}
		j.last, r.next = int(axis), int(axis)+1
		lengths = append(lengths, r.from[axis])
	}
	n, err := product(1, lengths)
	r.to = append(r.to, n)
	if j.first >= 0 {
		r.joins = append(r.joins, j)
	}
	return err
}

// finish works out the free length. It fails unless all elements and the named axes are kept.
func (r *reshaping) finish() error {
	total, err := product(1, r.from)
	if err != nil {
		return err
	}
	n, err := product(1, r.to)
	if err != nil {
		return err
	}
	if r.free > 0 && n > 0 && total%n == 0 {
		r.to[r.free-1] = total / n
		n = total
	}
	if n != total || r.free > 0 && n == 0 {
		return fmt.Errorf("expected a shape of as many elements as %v, found %v", r.from, r.to)
	}
	for _, j := range r.joins {
		if !sameCount(r.to[:j.to], r.from[:j.first]) ||
			!sameCount(r.to[j.to+1:], r.from[j.last+1:]) {
			return fmt.Errorf("axis %d of %v is not axes %d to %d of %v",
				j.to, r.to, j.first, j.last, r.from)
		}
	}
	return nil
}

// sameCount reports whether two shapes, both part of one that fits int64, have as many elements.
func sameCount(a, b []int64) bool {
	n, errA := product(1, a)
	m, errB := product(1, b)
	return n == m && errA == nil && errB == nil
}

// reshaped is the state after a codec that gives the array another shape of as many elements. Where
// only axes of length 1 come and go, every other axis is still one that the pipeline began with.
func (s state) reshaped(shape []int64) state {
	out := s
	out.shape = shape
	if kept := longAxes(s.shape); sameLengths(s.shape, kept, shape, longAxes(shape)) {
		out.axes = make([]int, len(shape))
		for i, n := range shape {
			out.axes[i] = newAxis
			if n != 1 {
				out.axes[i], kept = s.axes[kept[0]], kept[1:]
			}
		}
		return out
	}
	out.begin, out.axes, out.recut = shape, identityAxes(len(shape)), true
	return out
}

// longAxes are the axes of a shape whose length is not 1.
func longAxes(shape []int64) []int {
	return slices.DeleteFunc(identityAxes(len(shape)),
		func(axis int) bool { return shape[axis] == 1 })
}

// sameLengths reports whether some axes of one shape are as long as some of another.
func sameLengths(a []int64, some []int, b []int64, others []int) bool {
	return slices.EqualFunc(some, others, func(i, j int) bool { return a[i] == b[j] })
}
