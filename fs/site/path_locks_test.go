package site

import (
	"context"
	iofs "io/fs"
	"testing"
)

// TestRenamedBack: what is renamed while it is looked for, and renamed back, is looked for again.
// It counts as removed only where no rename came between.
func TestRenamedBack(t *testing.T) {
	s := New(context.Background(), nil)
	where := func() string { return "a" }
	isThere := func() bool { return true }
	looked := 0
	look := func() (string, error) {
		if looked++; looked == 1 {
			s.Renames("a")()
			s.Renames("b")()
			return "a", iofs.ErrNotExist
		}
		return "a", nil
	}
	if path, err := s.WhereItIs(where, isThere, look); path != "a" || err != nil || looked != 2 {
		t.Errorf("found %q, %v, looked %d times; expected a, looked twice", path, err, looked)
	}
	look = func() (string, error) { return "a", iofs.ErrNotExist }
	if _, err := s.WhereItIs(where, isThere, look); err == nil {
		t.Error("what was removed is found")
	}
}
