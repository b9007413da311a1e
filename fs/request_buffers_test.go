package fs

import "testing"

// A buffer is met once, unless so many others came since that it may be another one at its place.
func TestRequestBuffersAreMetOnce(t *testing.T) {
	var r requestBuffers
	n := uintptr(len(r.seen))
	for i, step := range []struct {
		at   uintptr
		want bool
	}{{1, true}, {1, false}, {2, true}, {1, false}, {2, false}} {
		if got := r.isNew(step.at); got != step.want {
			t.Errorf("step %d, buffer %d: new %v, expected %v", i, step.at, got, step.want)
		}
	}
	for at := uintptr(3); at <= n; at++ {
		r.isNew(at)
	}
	if r.isNew(1) {
		t.Errorf("the first of %d buffers is forgotten", n)
	}
	if r.isNew(n + 1); !r.isNew(1) {
		t.Errorf("the first of %d buffers is not forgotten", n+1)
	}
}
