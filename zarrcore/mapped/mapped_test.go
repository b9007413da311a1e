package mapped

import "testing"

// TestGet: memory is zeros and can be written to, and goes back once.
func TestGet(t *testing.T) {
	b, isMapped := Get(3 * Least)
	if !isMapped || len(b) != 3*Least || cap(b) != len(b) {
		t.Fatalf("mapped %v, %d bytes of %d, expected %d", isMapped, len(b), cap(b), 3*Least)
	}
	for i, x := range b {
		if x != 0 {
			t.Fatalf("byte %d is %d", i, x)
		}
		b[i] = 1
	}
	if was, err := Put(b[:5]); !was || err != nil {
		t.Errorf("mapped %v, %v", was, err)
	}
}

// TestHeap: small memory is not mapped, and that of the Go heap is not given back.
func TestHeap(t *testing.T) {
	if b, isMapped := Get(Least - 1); isMapped || len(b) != Least-1 {
		t.Errorf("mapped %v, %d bytes", isMapped, len(b))
	}
	if was, err := Put(make([]byte, 2*Least)); was || err != nil {
		t.Errorf("mapped %v, %v", was, err)
	}
}
