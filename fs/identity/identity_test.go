package identity

import (
	"fmt"
	"slices"
	"testing"
)

// shown is a node of tests.
type shown struct {
	place Place
	id    Identity
}

func (n *shown) Place() *Place  { return &n.place }
func (n *shown) Number() uint64 { return n.id.Number }

// table is one of tests.
type table struct{ Table[*shown] }

// look finds a node as a look-up does.
func (t *table) look(path, view string) *shown {
	key := Of(path, view)
	return t.Node(key, func(id Identity) *shown { return &shown{place: NewPlace(key), id: id} })
}

func TestRenewed(t *testing.T) {
	var ids table
	before, other := ids.look("a", "raw"), ids.look("a", "npy")
	for range 3 {
		ids.Renew(before) // again by opens that came at the same time
	}
	ids.Keep(before) // an open that came through the old name
	after := ids.look("a", "raw")
	if after == before || after.Number() != before.Number() || after.id == before.id {
		t.Errorf("renewed: %v, before %v", after.id, before.id)
	}
	if ids.look("a", "raw") != after || ids.look("a", "npy") != other {
		t.Error("a file was renewed without need")
	}
	if found := ids.Showing("a"); len(found) != 3 || !slices.Contains(found, before) {
		t.Errorf("%d nodes show a, expected also the one that was renewed", len(found))
	}
}

// TestMovedGroup moves a group and looks at what is there and what takes its place.
func TestMovedGroup(t *testing.T) {
	var ids table
	ocean, salt, beside := ids.look("ocean", ""), ids.look("ocean/salt", "raw"),
		ids.look("oceanic", "")
	if others := ids.Move("ocean", "lake", Of("ocean", "")); len(others) != 0 {
		t.Errorf("other nodes than the folder: %v", others)
	}
	for n, want := range map[*shown]string{ocean: "lake", salt: "lake/salt", beside: "oceanic"} {
		if got := n.place.Key().Path; got != want {
			t.Errorf("moved to %q, want %q", got, want)
		}
	}
	if ids.Number(Of("lake/salt", "raw")) != salt.Number() {
		t.Error("the number of a moved file changed")
	}
	if next := ids.look("ocean", ""); next == ocean || next.Number() == ocean.Number() {
		t.Error("what takes a moved folder's place is the same inode")
	}
}

// TestRemoved creates a file again while the removed one is still open.
func TestRemoved(t *testing.T) {
	var ids table
	old := ids.look("a", "raw")
	if removed := ids.Remove("a"); len(removed) != 1 || !removed[0].place.IsGone() {
		t.Errorf("removed %v", removed)
	}
	next := ids.look("a", "raw")
	if next == old || next.Number() == old.Number() {
		t.Error("a new file is the same inode as the removed one that is still open")
	}
	ids.Forget(next)
	ids.Forget(old)
	if got := ids.look("a", "raw").Number(); got != Of("a", "raw").Number() {
		t.Errorf("inode %d, want the one of all mounts", got)
	}
}

// TestMovedArray renames an array by one of its views. Of the others, the one that is open follows.
func TestMovedArray(t *testing.T) {
	var ids table
	npy, raw, json := ids.look("a", "npy"), ids.look("a", "raw"), ids.look("a", "json")
	raw.place.Enter()
	if others := ids.Move("a", "b", Of("a", "npy")); len(others) != 2 {
		t.Errorf("%d other nodes, expected 2", len(others))
	}
	for view, n := range map[string]*shown{"npy": npy, "raw": raw} {
		if found, _ := ids.find(Of("b", view)); found != n || n.place.IsGone() {
			t.Errorf("b.%s is not the inode that a.%[1]s was", view)
		}
	}
	if _, ok := ids.find(Of("b", "json")); ok || !json.place.IsGone() {
		t.Error("a view that nobody has open can still be found by its old name")
	}
}

// TestReturned: what nodes show is there again after it was renamed away and back. The place of one
// is free, another node has that of the second, and the third belongs to a removed file.
func TestReturned(t *testing.T) {
	var ids table
	npy, raw, json := ids.look("g/a", "npy"), ids.look("g/a", "raw"), ids.look("g/a", "json")
	ids.Move("g/a", "g/b", Of("g/a", "npy"))
	ids.Move("g/b", "g/a", Of("g/b", "npy"))
	ids.Move("g", "h", Of("g", ""))
	next := ids.look("h/a", "raw")
	if !ids.Return(json) || ids.look("h/a", "json") != json {
		t.Error("a file that is there again has another node")
	}
	if !ids.Return(raw) || ids.look("h/a", "raw") != next || next.Number() == raw.Number() {
		t.Error("a node that returned has taken the place of another one")
	}
	if !slices.Contains(ids.Showing("h/a"), raw) {
		t.Error("a node that returned beside another one shows nothing")
	}
	npy.place.Enter()
	ids.Remove("h/a")
	if ids.Return(npy) {
		t.Error("a removed file that is open shows what has its name now")
	}
}

func TestNumbers(t *testing.T) {
	number := func(path, view string) uint64 { return Of(path, view).Number() }
	got := number("ocean/temperature", "npy")
	if got != number("ocean/temperature", "npy") || got < 1<<60 || got >= 1<<62 {
		t.Errorf("inode %#x", got)
	}
	seen := map[uint64]string{}
	for i := range 100000 {
		for _, view := range []string{"", "npy", "raw"} {
			name := fmt.Sprintf("array%d", i)
			ino := number(name, view)
			if other, ok := seen[ino]; ok {
				t.Fatalf("%s.%s and %s have the inode %d", name, view, other, ino)
			}
			seen[ino] = name + "." + view
		}
	}
}
