package layout

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSelection compares the spans of selections, and of parts of them, with the elements that
// loops over the indexes find.
func TestSelection(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		shape, along, item := randomSelection(random)
		reversed := random.IntN(2) == 0
		want := looped(shape, along, item, reversed)
		s := NewSelection(shape, item, along, reversed)
		if s.Size() != int64(len(want)) {
			t.Fatalf("%v of %v: %d bytes, expected %d", along, shape, s.Size(), len(want))
		}
		flat := numbered(shape, item)
		off := random.Int64N(s.Size() + 2)
		n := random.Int64N(s.Size() + 2)
		for _, part := range [][2]int64{{0, s.Size()}, {off, n}} {
			var got []byte
			next := part[0]
			for span := range s.Spans(part[0], part[1]) {
				if span.Off != next || span.Len <= 0 {
					t.Fatalf("%v of %v: a span %+v, expected one at %d", along, shape, span, next)
				}
				next += span.Len
				got = append(got, flat[span.At:span.At+span.Len]...)
			}
			lo := min(part[0], s.Size())
			if !bytes.Equal(got, want[lo:min(s.Size(), lo+part[1])]) {
				t.Fatalf("%v of %v, %d bytes each, reversed %t: other bytes at %v", along, shape,
					item, reversed, part)
			}
		}
		if at, ok := s.Contiguous(); ok && !bytes.Equal(flat[at:at+s.Size()], want) {
			t.Fatalf("%v of %v: not the stretch at %d", along, shape, at)
		}
	}
}

func randomSelection(random *rand.Rand) (shape []int64, along []Indexes, item int64) {
	for range random.IntN(5) {
		n := random.Int64N(6) + 1
		x := Indexes{Start: random.Int64N(n), Step: random.Int64N(7) - 3}
		switch {
		case x.Step > 0:
			x.Count = random.Int64N((n-1-x.Start)/x.Step + 2)
		case x.Step < 0:
			x.Count = random.Int64N(x.Start/-x.Step + 2)
		default:
			x = All(n)
		}
		shape, along = append(shape, n), append(along, x)
	}
	return shape, along, random.Int64N(4) + 1
}

// numbered returns the bytes of an array, of which neighbours differ.
func numbered(shape []int64, item int64) []byte {
	n := item
	for _, dim := range shape {
		n *= dim
	}
	flat := make([]byte, n)
	for i := range flat {
		flat[i] = byte(i*7 + i/256)
	}
	return flat
}

// looped returns the bytes of a selection, element by element.
func looped(shape []int64, along []Indexes, item int64, reversed bool) (found []byte) {
	flat := numbered(shape, item)
	order := make([]int, len(shape))
	for i := range order {
		order[i] = i
	}
	if reversed {
		slices.Reverse(order)
	}
	index := make([]int64, len(shape))
	var loop func(depth int)
	loop = func(depth int) {
		if depth == len(order) {
			at := int64(0)
			for i, n := range shape {
				at = at*n + along[i].Start + index[i]*along[i].Step
			}
			found = append(found, flat[at*item:(at+1)*item]...)
			return
		}
		axis := order[depth]
		for index[axis] = 0; index[axis] < along[axis].Count; index[axis]++ {
			loop(depth + 1)
		}
	}
	loop(0)
	return found
}
