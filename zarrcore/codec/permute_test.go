package codec

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
)

// naivePermute is the definition: dst[p] = src[q] where q[i] = p[order[i]].
func naivePermute(dst, src []byte, shape []int64, order []int, elem int64) {
	srcStride := make([]int64, len(shape))
	size := elem
	for i := len(order) - 1; i >= 0; i-- {
		srcStride[order[i]] = size
		size *= shape[order[i]]
	}
	pos := make([]int64, len(shape))
	for off := int64(0); off < size; off += elem {
		from := int64(0)
		for a, k := range pos {
			from += k * srcStride[a]
		}
		copy(dst[off:off+elem], src[from:from+elem])
		for a := len(pos) - 1; a >= 0; a-- {
			if pos[a]++; pos[a] < shape[a] {
				break
			}
			pos[a] = 0
		}
	}
}

func checkPermute(t *testing.T, shape []int64, order []int, elem int64) {
	t.Helper()
	p := newPermute(shape, order, elem)
	size := elem
	for _, n := range shape {
		size *= n
	}
	src := make([]byte, size+1)
	rand.New(rand.NewSource(size)).Read(src)
	src = src[1:] // unaligned on purpose
	got, want := make([]byte, size), make([]byte, size)
	p.run(got, src)
	naivePermute(want, src, shape, order, elem)
	if !bytes.Equal(got, want) {
		t.Errorf("shape %v order %v element %d: wrong", shape, order, elem)
	}
}

func TestPermute(t *testing.T) {
	cases := []struct {
		shape []int64
		order []int
	}{
		{nil, nil},
		{[]int64{5}, []int{0}},
		{[]int64{0, 3}, []int{1, 0}},
		{[]int64{3, 4}, []int{1, 0}},
		{[]int64{40, 70}, []int{1, 0}},
		{[]int64{129, 257}, []int{1, 0}},
		{[]int64{1, 9, 1, 7}, []int{3, 2, 1, 0}},
		{[]int64{5, 6, 7}, []int{2, 0, 1}},
		{[]int64{5, 6, 7}, []int{1, 2, 0}},
		{[]int64{5, 6, 7}, []int{2, 1, 0}},
		{[]int64{5, 6, 7}, []int{1, 0, 2}},
		{[]int64{5, 6, 7}, []int{0, 2, 1}},
		{[]int64{3, 34, 5, 33}, []int{3, 1, 0, 2}},
		{[]int64{2, 3, 2, 3, 2}, []int{4, 0, 3, 1, 2}},
	}
	for _, c := range cases {
		for _, elem := range []int64{1, 2, 3, 4, 5, 8, 12, 16, 24} {
			checkPermute(t, c.shape, c.order, elem)
		}
	}
}

// TestPermuteFolds holds that axes which stay together are copied as one.
func TestPermuteFolds(t *testing.T) {
	cases := []struct {
		shape []int64
		order []int
		elem  int64
		axes  int
		unit  int64
	}{
		{[]int64{4, 5, 6}, []int{0, 1, 2}, 4, 0, 480},
		{[]int64{4, 5, 6}, []int{1, 2, 0}, 4, 2, 4},
		{[]int64{4, 5, 6}, []int{2, 0, 1}, 4, 2, 4},
		{[]int64{4, 5, 6}, []int{1, 0, 2}, 4, 2, 24},
		{[]int64{4, 1, 6}, []int{1, 0, 2}, 4, 0, 96},
		{[]int64{4, 5, 6}, []int{2, 1, 0}, 4, 3, 4},
	}
	for _, c := range cases {
		p := newPermute(c.shape, c.order, c.elem)
		if len(p.axes) != c.axes || p.elem != c.unit {
			t.Errorf("%v %v: %d axes of %d-byte units, want %d of %d",
				c.shape, c.order, len(p.axes), p.elem, c.axes, c.unit)
		}
	}
}

// FuzzTranspose compares every planned copy with the definition.
func FuzzTranspose(f *testing.F) {
	f.Add([]byte{3, 4}, uint8(4), uint32(1))
	f.Add([]byte{33, 2, 40}, uint8(2), uint32(5))
	f.Add([]byte{130, 129}, uint8(1), uint32(1))
	f.Add([]byte{2, 1, 3, 2}, uint8(16), uint32(11))
	f.Fuzz(func(t *testing.T, dims []byte, elem uint8, seed uint32) {
		unit := int64(elem%33) + 1
		shape, size := []int64{}, unit
		for _, d := range dims {
			if len(shape) < 5 && size*int64(d) <= 1<<15 { // bytes: more would make it slow
				shape = append(shape, int64(d))
				size *= int64(d)
			}
		}
		order := rand.New(rand.NewSource(int64(seed))).Perm(len(shape))
		checkPermute(t, shape, order, unit)
	})
}

func BenchmarkPermute(b *testing.B) {
	cases := []struct {
		shape []int64
		order []int
	}{
		{[]int64{512, 512}, []int{1, 0}},
		{[]int64{2048, 2048}, []int{1, 0}},
		{[]int64{128, 128, 128}, []int{2, 1, 0}},
		{[]int64{128, 128, 128}, []int{1, 0, 2}},
		{[]int64{1000, 1000, 3}, []int{2, 0, 1}},
		{[]int64{3, 1000, 1000}, []int{1, 2, 0}},
	}
	for _, c := range cases {
		for _, elem := range []int64{1, 2, 4, 8, 16} {
			b.Run(fmt.Sprintf("%v/%v/%d", c.shape, c.order, elem), func(b *testing.B) {
				p := newPermute(c.shape, c.order, elem)
				src, dst := make([]byte, p.src), make([]byte, p.dst)
				b.SetBytes(p.dst)
				for b.Loop() {
					p.run(dst, src)
				}
			})
		}
	}
}
