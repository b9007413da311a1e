package dirty

import (
	"math/rand/v2"
	"testing"
)

// TestCoverage compares a coverage, in both its forms, with a plain set of
// bytes over random histories.
func TestCoverage(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := 1 + r.Int64N(5000)
		var c coverage
		if seed%2 == 0 {
			c.toBits(size)
		}
		model := make([]bool, size)
		for range 200 {
			lo := r.Int64N(size)
			hi := min(size, lo+r.Int64N(1+size/int64(1+r.IntN(50))))
			if r.IntN(20) == 0 {
				c.truncate(lo)
				clear(model[lo:])
			} else {
				c.add(lo, hi, size)
				for i := lo; i < hi; i++ {
					model[i] = true
				}
			}
			compare(t, &c, model, lo, hi)
		}
		compare(t, &c, model, 0, size)
	}
}

func compare(t *testing.T, c *coverage, model []bool, lo, hi int64) {
	t.Helper()
	var count int64
	for _, in := range model {
		if in {
			count++
		}
	}
	if c.count != count {
		t.Fatalf("count is %d, expected %d", c.count, count)
	}
	at := lo
	check := func(want bool) func(lo, hi int64) {
		return func(lo, hi int64) {
			if lo != at || hi <= lo {
				t.Fatalf("stretch [%d, %d), expected one from %d", lo, hi, at)
			}
			for ; at < hi; at++ {
				if model[at] != want {
					t.Fatalf("byte %d is in the set: %v, expected %v", at, want, model[at])
				}
			}
			if hi < int64(len(model)) && hi < lo+1 {
				t.Fatal("empty stretch")
			}
		}
	}
	c.walk(lo, hi, check(true), check(false))
	if at != hi && lo < hi {
		t.Fatalf("the walk ended at %d, expected %d", at, hi)
	}
}

// TestCoverageTurnsToBits: a history of single bytes ends as bits, and counts
// all the same.
func TestCoverageTurnsToBits(t *testing.T) {
	var c coverage
	const size = 10_000
	for i := int64(0); i < size; i += 2 {
		c.add(i, i+1, size)
	}
	if c.bits == nil || c.count != size/2 || c.stretches(size, 10) != 10 {
		t.Errorf("bits: %v, count %d, expected %d", c.bits != nil, c.count, size/2)
	}
	c.add(0, size, size)
	if c.count != size || c.stretches(size, 10) != 1 {
		t.Errorf("count %d in %d stretches, expected %d in 1", c.count, c.stretches(size, 10), size)
	}
}
