package nodes

import (
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/identity"
)

// TestStaysOpen: a file counts as open while a program has it, and no longer once the RELEASE that
// follows a close has come.
func TestStaysOpen(t *testing.T) {
	var all Table
	key, made := identity.Of("a", "npy"), 0
	inode := func() *gofuse.Inode {
		return all.Inode(key, func(gofuse.StableAttr) *Node {
			made++
			n := New(key)
			return &n
		})
	}
	first := inode()
	if inode() != first || made != 1 {
		t.Errorf("%d nodes were made of one file", made)
	}
	n := all.Known("a")[0]
	if n.Where() != "a" || all.IsOpen("a") {
		t.Errorf("a file that no program has open: at %q, open is %v", n.Where(), all.IsOpen("a"))
	}
	n.Place().Enter()
	if !all.StaysOpen("a") || all.IsOpen("b") {
		t.Error("a file that is open")
	}
	go n.Place().Leave()
	if all.StaysOpen("a") {
		t.Error("a file that was just closed counts as open")
	}
}
