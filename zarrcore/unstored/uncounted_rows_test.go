package unstored

import "testing"

// TestAhead: an object is forgotten once the document counts all its rows. One that replaces
// another has bytes of it, so that it is not all dirty.
func TestAhead(t *testing.T) {
	var a Ahead
	a.Init()
	a.Note(1, AheadObject{Version: "1", From: 10, End: 20})
	a.Note(2, AheadObject{Version: "2", From: 20, End: 30, Dirty: true})
	a.Note(1, AheadObject{Version: "3", From: 10, End: 20, Dirty: true})
	got := a.Objects()
	if got[1] != (AheadObject{Version: "3", From: 10, End: 20}) || !got[2].Dirty {
		t.Errorf("noted twice: %v", got)
	}
	a.Truncate(25)
	a.Count(15)
	got = a.Objects()
	if got[1].From != 15 || got[1].End != 20 || got[2].From != 20 || got[2].End != 25 {
		t.Errorf("rows from 25 on are truncated, and 15 are counted: %v", got)
	}
	a.Count(20)
	if got = a.Objects(); len(got) != 1 || got[2].From != 20 {
		t.Errorf("20 rows are counted: %v", got)
	}
	a.Forget(2)
	if !a.IsEmpty() {
		t.Error("not empty")
	}
}
