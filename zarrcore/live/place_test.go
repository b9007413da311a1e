package live

import (
	iofs "io/fs"
	"testing"
)

// TestFindRenamedBack: an array that is renamed while it is looked for, and renamed back, is looked
// for again.
func TestFindRenamedBack(t *testing.T) {
	p := &place{path: "a", renames: &renameLog{}}
	looked := 0
	err := p.find(func(string) error {
		if looked++; looked == 1 {
			p.renames.add("a", "b")
			p.renames.add("b", "a")
			return iofs.ErrNotExist
		}
		return nil
	})
	if err != nil || looked != 2 {
		t.Errorf("%v, looked %d times; expected twice", err, looked)
	}
}
