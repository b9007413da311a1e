package parallel

import (
	"sync/atomic"
	"testing"
)

// TestLine: results come in the order of the calls, no more calls are made ahead than may be, and
// each result is either taken or dropped.
func TestLine(t *testing.T) {
	const n = 50
	for _, ahead := range []int{0, 1, 3, 100} {
		for _, taken := range []int{0, 1, 20, n} {
			var begun, held atomic.Int64
			line := NewLine(ahead, n, func(i int) int {
				begun.Add(1)
				held.Add(1)
				return i
			})
			for i := range taken {
				if got := line.Next(); got != i {
					t.Fatalf("ahead %d: %d, expected %d", ahead, got, i)
				}
				held.Add(-1)
				if most := int64(i + 1 + ahead); begun.Load() > most {
					t.Errorf("ahead %d: %d calls, expected at most %d", ahead, begun.Load(), most)
				}
			}
			line.End(func(int) { held.Add(-1) })
			if held.Load() != 0 {
				t.Errorf("ahead %d: %d results were not dropped", ahead, held.Load())
			}
		}
	}
}

// TestLineOfOne: a single call is made by its caller.
func TestLineOfOne(t *testing.T) {
	mine := 0 // the race detector sees it if another goroutine writes it
	line := NewLine(3, 1, func(int) int {
		mine++
		return mine
	})
	if mine != 0 {
		t.Error("it was called ahead")
	}
	if line.Next() != 1 || mine != 1 {
		t.Errorf("called %d times, expected once", mine)
	}
	line.End(func(int) { t.Error("it was taken, and is dropped") })
}
