package layout

import (
	"iter"
	"slices"
)

// Indexes are some indexes along one axis: Count of them, from Start on, Step apart. A Step may be
// negative.
type Indexes struct{ Start, Step, Count int64 }

// All returns the indexes of an axis of length n.
func All(n int64) Indexes { return Indexes{Step: 1, Count: n} }

// A Selection is a part of a flat array: along each axis some indexes. Its elements have an order
// of their own, C order or with the axes reversed.
type Selection struct {
	axes []strided // outermost first, without those within a run
	base int64     // of its first byte in the array
	run  int64     // bytes that follow each other both in the array and in the selection
	size int64
}

// strided is an axis of a selection.
type strided struct {
	count int64
	step  int64 // bytes of the array from one index to the next
}

// A Span is a stretch of bytes contiguous both in a selection and in its flat array.
type Span struct {
	Off int64 // where it begins in the selection
	At  int64 // where it begins in the flat array
	Len int64
}

// NewSelection returns the selection of these indexes of an array whose elements have itemSize
// bytes. The indexes must lie in the array. If reversed is set, the last axis comes first.
func NewSelection(shape []int64, itemSize int64, along []Indexes, reversed bool) *Selection {
	s := &Selection{run: itemSize, size: itemSize}
	step := itemSize
	for i := len(shape) - 1; i >= 0; i-- {
		x := along[i]
		if x.Count == 0 {
			return &Selection{}
		}
		s.base += x.Start * step
		s.size *= x.Count
		if x.Count > 1 {
			s.axes = append(s.axes, strided{x.Count, x.Step * step})
		}
		step *= shape[i]
	}
	if !reversed {
		slices.Reverse(s.axes)
	}
	s.join()
	return s
}

// join makes one run of the innermost axes whose bytes follow each other.
func (s *Selection) join() {
	for last := len(s.axes) - 1; last >= 0 && s.axes[last].step == s.run; last-- {
		s.run *= s.axes[last].count
		s.axes = s.axes[:last]
	}
}

// Size returns the bytes of the selection.
func (s *Selection) Size() int64 { return s.size }

// Contiguous returns where the selection begins in the array, if all of it is one stretch there.
func (s *Selection) Contiguous() (at int64, ok bool) { return s.base, len(s.axes) == 0 }

// Spans yields the stretches of the flat array that make up bytes [off, off+n) of the selection, in
// its order. Bytes outside of it are left out.
func (s *Selection) Spans(off, n int64) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		if off < 0 {
			off, n = 0, n+off
		}
		if off >= s.size || n <= 0 {
			return
		}
		end := off + min(n, s.size-off)
		at, index := s.seek(off / s.run)
		for in := off % s.run; off < end; in = 0 {
			k := min(s.run-in, end-off)
			if !yield(Span{off, at + in, k}) {
				return
			}
			off += k
			at = s.next(at, index)
		}
	}
}

// seek returns where the run of that number begins in the array, and its index along each axis.
func (s *Selection) seek(run int64) (at int64, index []int64) {
	at, index = s.base, make([]int64, len(s.axes))
	for i := len(s.axes) - 1; i >= 0; i-- {
		index[i] = run % s.axes[i].count
		run /= s.axes[i].count
		at += index[i] * s.axes[i].step
	}
	return at, index
}

// next moves index from the run that begins at byte at to the next run, and returns the first byte
// of the next run.
func (s *Selection) next(at int64, index []int64) int64 {
	for i := len(index) - 1; i >= 0; i-- {
		axis := s.axes[i]
		if index[i]++; index[i] < axis.count {
			return at + axis.step
		}
		at -= (axis.count - 1) * axis.step
		index[i] = 0
	}
	return at
}
