package unstored

import "testing"

// TestTruncation: rows that were truncated do not count of stored objects. Those of an object that
// was stored since do, until they are truncated again.
func TestTruncation(t *testing.T) {
	var tr Truncation
	tr.Init()
	expect := func(when string, low, most int64) {
		t.Helper()
		if got := tr.Of(3); got != low || tr.most != most {
			t.Errorf("%s: row %d of object 3 is truncated, of %d rows, want %d of %d",
				when, got, tr.most, low, most)
		}
	}
	tr.Stored(3)
	expect("nothing truncated", NotTruncated, 0)
	if !tr.IsNone() || len(tr.fresh) > 0 {
		t.Error("an object is kept in mind though nothing was truncated")
	}
	tr.Truncate(100, 40)
	tr.Truncate(90, 60)
	expect("truncated twice", 40, 100)
	tr.Stored(3)
	expect("stored", NotTruncated, 100)
	tr.Truncate(80, 70)
	expect("truncated since it was stored", 70, 100)
	if low := tr.Of(4); low != 40 {
		t.Errorf("row %d of object 4, which was not stored, is truncated, want 40", low)
	}
	tr.NoteDeleted()
	expect("settled", NotTruncated, 0)
	if !tr.IsNone() {
		t.Error("something is truncated once all is deleted")
	}
}
