// Package nodes has the nodes of a mount that the kernel knows, as go-fuse keeps them: the node of
// each file and folder by what that shows. It makes the kernel forget the names that nodes have
// lost.
package nodes

import (
	"slices"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/identity"
)

// Node is what all nodes of a mount share: an inode of go-fuse, and what it shows.
type Node struct {
	gofuse.Inode
	place identity.Place
}

// New returns a node that shows what the key names.
func New(key identity.Key) Node { return Node{place: identity.NewPlace(key)} }

// Place implements identity.Node.
func (n *Node) Place() *identity.Place { return &n.place }

// Where returns the path of the group or array of which the node shows something.
func (n *Node) Where() string { return n.place.Key().Path }

// Number returns the inode number. go-fuse fills it in in all answers but that to SETATTR, after
// which the kernel would show the number 0.
func (n *Node) Number() uint64 { return n.StableAttr().Ino }

// Table has the nodes of a mount that the kernel knows. The zero value is empty. Its lock is
// innermost.
type Table struct{ identity.Table[*Node] }

// Inode returns the inode of the file or folder key. One that is not known yet is made by create.
func (t *Table) Inode(key identity.Key, create func(gofuse.StableAttr) *Node) *gofuse.Inode {
	n := t.Node(key, func(id identity.Identity) *Node { return create(stableAttr(id)) })
	return n.EmbeddedInode()
}

// Root returns the identity of the root, which has no place in the table.
func (t *Table) Root() gofuse.StableAttr { return stableAttr(t.Fresh(identity.Key{})) }

// IsOpen reports whether a program has a file of the array at path open or mapped.
func (t *Table) IsOpen(path string) bool {
	return slices.ContainsFunc(t.Showing(path), func(n *Node) bool { return n.place.IsOpen() })
}

const (
	ReleaseWait  = 100 * time.Millisecond // for the RELEASE of a closed file, which comes late
	ReleaseGrain = time.Millisecond       // between two looks
)

// StaysOpen is IsOpen after the files that were just closed have been released.
func (t *Table) StaysOpen(path string) bool {
	for end := time.Now().Add(ReleaseWait); t.IsOpen(path); time.Sleep(ReleaseGrain) {
		if time.Now().After(end) {
			return true
		}
	}
	return false
}

// stableAttr returns an identity as go-fuse takes it.
func stableAttr(id identity.Identity) gofuse.StableAttr {
	return gofuse.StableAttr{Ino: id.Number, Gen: id.Generation}
}

// Disown makes the kernel forget the names of nodes that do not have them any more. It may be
// called while the kernel waits for an answer. The attributes go at once. After that a request for
// those of a removed file gets ESTALE, on which the kernel looks the name up again. The names go
// when their folder is free, which it is not before the answer.
func Disown(nodes []*Node) {
	var names []func()
	for _, n := range nodes {
		n.NotifyContent(-1, 0)
		if name, dir := n.Parent(); dir != nil {
			names = append(names, func() { dir.NotifyEntry(name) })
		}
	}
	if len(names) > 0 {
		go func() {
			for _, forget := range names {
				forget()
			}
		}()
	}
}
