package texts

import "testing"

// TestPartMoves: files of an array go along with it, and end with it.
func TestPartMoves(t *testing.T) {
	at, w := "a", &File{}
	w.where.Store(&at)
	w.opens = 1
	p := Part{files: wholeFiles{w}}
	if p.Moved("g/b"); w.Path() != "g/b" || !p.HasWholes() {
		t.Errorf("after a rename: %q, %t", w.Path(), p.HasWholes())
	}
	if p.Ended(); !w.gone.Load() || !p.IsEmpty() {
		t.Errorf("after a removal: gone %t, empty %t", w.gone.Load(), p.IsEmpty())
	}
}
