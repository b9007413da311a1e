package input

import "testing"

// TestArrivalOfWhole: while the array is made of a header, readers see no byte of it, whatever
// other programs write. Then they see what has come, and all of it once a program writes elsewhere.
func TestArrivalOfWhole(t *testing.T) {
	var a Arrival
	shows := func(when string, n int64, part bool) {
		t.Helper()
		got, ok := a.Shown()
		if ok != part || ok && got != n {
			t.Errorf("%s: shown %d, part %v, expected %d, %v", when, got, ok, n, part)
		}
	}
	shows("at first", 0, false)
	a.Make()
	shows("while it is made", 0, true)
	a.Settle()
	shows("after a write of another program", 0, true)
	a.Begin(Came{Header: 128, Reach: 200, Whole: 256, InOrder: true})
	shows("after the header", 72, true)
	a.Settle()
	shows("after a write elsewhere", 0, false)
	a.Make()
	a.Made()
	shows("after a header that is no array's", 0, false)
}
