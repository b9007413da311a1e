package chunk

import (
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/mapped"
)

// TestGetFilled: a fresh buffer comes with its pages. It has the size that was asked for, and
// counts as used. A buffer that was given back is lent again.
func TestGetFilled(t *testing.T) {
	m := NewMemory(64 << 20)
	t.Cleanup(m.Close)
	for _, n := range []int64{1, mapped.Least - 1, mapped.Least, hugePage - 1, hugePage} {
		b, err := m.GetFilled(n)
		if now, _ := m.Used(); err != nil || int64(len(b)) != n || now != n {
			t.Fatalf("%d bytes: found %d, %d in use, %v", n, len(b), now, err)
		}
		b[0], b[n-1] = 1, 1
		m.Put(b)
		again, err := m.GetFilled(n)
		if err != nil || &again[0] != &b[0] {
			t.Errorf("%d bytes: a buffer that was given back is not lent again: %v", n, err)
		}
		m.Put(again)
	}
}
