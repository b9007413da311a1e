package live

import "testing"

// TestHeirs: in each order by itself, open handles go on with an heir, and count as its readers.
func TestHeirs(t *testing.T) {
	var open table
	old, heir, last := &lineage{}, &lineage{}, &lineage{}
	open.opens(old, cOrder, 2)
	open.opens(old, fortranOrder, 1)
	open.setHeir(old, heir, cOrder)
	open.setHeir(heir, last, cOrder)
	if old.newest(cOrder) != last || old.newest(fortranOrder) != old {
		t.Error("only handles in C order were to go on with the last heir")
	}
	if old.isAstray(cOrder) || old.isAstray(fortranOrder) {
		t.Error("astray before it was moved")
	}
	old.moved.Store(new(string))
	if old.isAstray(cOrder) || !old.isAstray(fortranOrder) {
		t.Error("what was moved is astray in the order in which it has no heir, and only there")
	}
	open.opens(old, cOrder, -1) // a handle that was opened before
	for _, tt := range []struct {
		name string
		l    *lineage
		c, f int64
	}{{"old", old, 0, 1}, {"heir", heir, 0, 0}, {"last", last, 1, 0}} {
		c, f := tt.l.readers[cOrder].Load(), tt.l.readers[fortranOrder].Load()
		if c != tt.c || f != tt.f {
			t.Errorf("%s: %d and %d readers, expected %d and %d", tt.name, c, f, tt.c, tt.f)
		}
	}
}
