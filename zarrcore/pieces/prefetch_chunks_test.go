package pieces

import (
	"maps"
	"slices"
	"testing"
)

// TestBeginBefore: the goroutines of a reader in order do not begin in order. What the first of
// them announced is not announced again for one that comes with an earlier chunk.
func TestBeginBefore(t *testing.T) {
	p := &passage{base: 5, at: 6, next: 9, alone: map[int64]struct{}{10: {}}}
	if !p.isOvertaken(2) || p.isOvertaken(5) || p.isOvertaken(7) {
		t.Error("only what comes before the passage overtakes it")
	}
	p.beginBefore(2)
	known := slices.Sorted(maps.Keys(p.alone))
	if p.base != 2 || p.next != 2 || p.at != 6 || !slices.Equal(known, []int64{5, 6, 7, 8, 10}) {
		t.Errorf("%+v", p)
	}
	far := &passage{base: 5, at: 5 + burst + 1, next: 200}
	if far.isOvertaken(2) {
		t.Error("a later reader belongs to a passage that has gone far")
	}
	if late := (&passage{base: burst + 5, at: burst + 5}); late.isOvertaken(2) {
		t.Error("a reader that begins elsewhere belongs to the passage")
	}
}
