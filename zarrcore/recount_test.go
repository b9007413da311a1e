package zarrcore_test

import (
	"math/rand/v2"
	"testing"
)

// TestRecountedAfterAChange: a reader has the chunks of a large array of strings in the cache, and
// another program replaces an object. What is counted then is what later opens read.
func TestRecountedAfterAChange(t *testing.T) {
	ctx := t.Context()
	d := group(t)
	w := &words{shape: []int64{210, 70}, chunk: []int64{1, 1}}
	random := rand.New(rand.NewPCG(1, 210))
	w.write(t, d, "a", random)
	h := open(t, d, nil)
	v := openVlen(t, h, "a")
	size := len(w.lines(t))
	r := v.Lines()
	for at := 0; at < size; { // in order, so that nothing is counted
		n, err := r.ReadAt(ctx, make([]byte, 64<<10), int64(at))
		if n == 0 {
			t.Fatal(err)
		}
		at += n
	}
	w.data[210*70-1] += "changed by another program"
	put(t, d, "a/c/209/69", w.object(t, []int64{209, 69}, []int64{1, 1}, random))
	if _, err := v.Count(ctx); err != nil {
		t.Log("the handle of before:", err)
	}
	want := w.lines(t)
	later := openVlen(t, h, "a")
	c, err := later.Count(ctx)
	if err != nil || c.Lines != int64(len(want)) {
		t.Errorf("a later open counts %d bytes, %v; expected %d", c.Lines, err, len(want))
	}
	p := make([]byte, len(want)+1)
	if n, _ := later.Lines().ReadAt(ctx, p, 0); string(p[:n]) != string(want) {
		t.Errorf("a later open reads %d bytes, expected %d", n, len(want))
	}
}
