package fs

import (
	"context"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// looker looks names up as the kernel would.
type looker struct {
	t    *testing.T
	root *groupNode
}

func (l looker) look(name string) *gofuse.Inode {
	l.t.Helper()
	var out fuse.EntryOut
	n, errno := l.root.Lookup(context.Background(), name, &out)
	if errno != 0 {
		l.t.Fatal(name, errno)
	}
	return n
}

func nodeOf(n *gofuse.Inode) *base { return n.Operations().(interface{ common() *base }).common() }

func TestRenewedIdentity(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	before, other := l.look("a.raw"), l.look("a.npy")
	for range 3 {
		f.ids.renew(nodeOf(before)) // again by opens that came at the same time
	}
	f.ids.keep(nodeOf(before)) // an open that came through the old name
	after := l.look("a.raw")
	if after == before || after.StableAttr().Ino != before.StableAttr().Ino || after.StableAttr().Gen == before.StableAttr().Gen {
		t.Errorf("renewed: %v, before %v", after, before)
	}
	if l.look("a.raw") != after || l.look("a.npy") != other {
		t.Error("a file was renewed without need")
	}
}

// TestForgottenLate: what the kernel says of a file that was removed may come after the file was
// created again.
func TestForgottenLate(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	file := l.look("a.raw")
	nodeOf(file).OnForget() // before the new file is open
	nodeOf(file).opened()
	nodeOf(file).OnForget() // and after that
	if l.look("a.raw") != file {
		t.Error("a file that is open has two inodes")
	}
	nodeOf(file).closed()
	if l.look("a.raw") == file {
		t.Error("a file that the kernel has forgotten is still known")
	}
}

// TestMovedIdentity moves a group and looks at what is there and what takes its place.
func TestMovedIdentity(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	ocean := l.look("ocean")
	salt := looker{t, ocean.Operations().(*groupNode)}.look("salt.raw")
	beside := f.ids.node(fileKey{"oceanic", ""}, func(id gofuse.StableAttr) *base {
		return nodeOf(l.root.NewInode(t.Context(), &groupNode{base: base{fs: f, place: at("oceanic", "")}}, id))
	})

	if others := f.ids.move("ocean", "lake", fileKey{"ocean", ""}); len(others) != 0 {
		t.Errorf("other nodes than the folder: %v", others)
	}
	for n, want := range map[*gofuse.Inode]string{ocean: "lake", salt: "lake/salt", beside: "oceanic"} {
		if got := nodeOf(n).path(); got != want {
			t.Errorf("moved to %q, want %q", got, want)
		}
	}
	if f.ids.number(fileKey{"lake/salt", "raw"}) != salt.StableAttr().Ino {
		t.Error("the number of a moved file changed")
	}
	if anew := l.look("ocean"); anew == ocean || anew.StableAttr().Ino == ocean.StableAttr().Ino {
		t.Error("what takes a moved folder's place is the same inode")
	}
}

// TestRemovedIdentity creates a file again while the removed one is still open.
func TestRemovedIdentity(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	old := l.look("a.raw")
	if removed := f.ids.remove("a"); len(removed) != 1 || !removed[0].place.gone.Load() {
		t.Errorf("removed %v", removed)
	}
	anew := l.look("a.raw")
	if anew == old || anew.StableAttr().Ino == old.StableAttr().Ino {
		t.Error("a new file is the same inode as the removed one that is still open")
	}
	nodeOf(anew).OnForget()
	nodeOf(old).OnForget()
	if got := l.look("a.raw").StableAttr().Ino; got != inode("a", "raw") {
		t.Errorf("inode %d, want the one of all mounts", got)
	}
}

// TestMovedArray renames an array by one of its views. Of the others, the one that is open follows.
func TestMovedArray(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	npy, raw, json := l.look("a.npy"), l.look("a.raw"), l.look("a.json")
	nodeOf(raw).place.open.Add(1)
	if others := f.ids.move("a", "b", fileKey{"a", "npy"}); len(others) != 2 {
		t.Errorf("%d other nodes, expected 2", len(others))
	}
	for view, n := range map[string]*gofuse.Inode{"npy": npy, "raw": raw} {
		if f.ids.nodes[fileKey{"b", view}] != nodeOf(n) || nodeOf(n).place.gone.Load() {
			t.Errorf("b.%s is not the inode that a.%[1]s was", view)
		}
	}
	if f.ids.nodes[fileKey{"b", "json"}] != nil || !nodeOf(json).place.gone.Load() {
		t.Error("a view that nobody has open can still be found by its old name")
	}
}
