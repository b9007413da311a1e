package fs

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/wire"
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

func nodeOf(n *gofuse.Inode) *nodes.Node { return &n.Operations().(*fileNode).Node }

func TestRenewedIdentity(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	before, other := l.look("a.raw"), l.look("a.npy")
	for range 3 {
		f.ids.Renew(nodeOf(before)) // again by opens that came at the same time
	}
	f.ids.Keep(nodeOf(before)) // an open that came through the old name
	after := l.look("a.raw")
	if after == before || after.StableAttr().Ino != before.StableAttr().Ino ||
		after.StableAttr().Gen == before.StableAttr().Gen {
		t.Errorf("renewed: %v, before %v", after, before)
	}
	if l.look("a.raw") != after || l.look("a.npy") != other {
		t.Error("a file was renewed without need")
	}
}

// TestListedFileHasNoUses: a large group has very many files that are only listed. What looks at
// them makes no object for programs that use them.
func TestListedFileHasNoUses(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	listed := l.look("a.raw").Operations().(*fileNode)
	other := l.look("a.npy").Operations().(*fileNode)
	var in fuse.SetAttrIn
	var out fuse.AttrOut
	if errno := listed.Setattr(t.Context(), nil, &in, &out); errno != 0 {
		t.Fatal(errno)
	}
	if err := f.copiedOntoItself(t.Context(), other.path(), other.view); err != nil {
		t.Fatal(err)
	}
	f.kernel.DropArray(listed.path())
	if listed.IsPaged() || listed.IsWritten() || listed.isEmpty() {
		t.Error("a file that is only listed is in use")
	}
	if listed.used.Load() != nil {
		t.Error("a file that is only listed has an object for its uses")
	}
	listed.use().writers.Add(1)
	listed.use().paged.Store(true)
	if !listed.IsPaged() || !listed.IsWritten() {
		t.Error("a file in use is not seen as such")
	}
}

// TestForgottenLate: what the kernel says of a file that was removed may come after the file was
// created again.
func TestForgottenLate(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	file := l.look("a.raw")
	node := file.Operations().(*fileNode)
	node.OnForget() // before the new file is open
	node.opened()
	node.OnForget() // and after that
	if l.look("a.raw") != file {
		t.Error("a file that is open has two inodes")
	}
	node.closed()
	if l.look("a.raw") == file {
		t.Error("a file that the kernel has forgotten is still known")
	}
}

// TestStaleInTheNextCall: `mv g/a.* h/` asks for each file in turn. The kernel still knows the
// names, but their node is gone. For each of these calls the kernel must look the name up again.
func TestStaleInTheNextCall(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	var known []*fileNode
	for _, name := range []string{"a.json", "a.npy", "a.raw"} {
		known = append(known, l.look(name).Operations().(*fileNode))
	}
	ctx := &fuse.Context{Caller: fuse.Caller{Pid: uint32(os.Getpid())}}
	err := f.present.Move("a", "b", false, known[0].Place().Key())
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"b.npy", "b.raw"} {
		if errno := known[i+1].Getattr(ctx, nil, &fuse.AttrOut{}); errno != syscall.ESTALE {
			t.Errorf("a call for %s: %v", name, errno)
		}
		if _, errno := l.root.Lookup(ctx, name, &fuse.EntryOut{}); errno != 0 {
			t.Errorf("%s is looked up again: %v", name, errno)
		}
	}
	gone := known[1]
	if errno := gone.Getattr(ctx, nil, &fuse.AttrOut{}); errno != syscall.ESTALE {
		t.Errorf("a name that is gone: %v", errno)
	}
	if errno := gone.Getattr(ctx, nil, &fuse.AttrOut{}); errno != syscall.ENOENT {
		t.Errorf("the same call again: %v", errno)
	}
}

// TestStaleTwiceInOneCall: a file is replaced, and its array is renamed, while a program opens it.
// The kernel looks its name up again for one of them only.
func TestStaleTwiceInOneCall(t *testing.T) {
	f := testFilesystem(t, testObjects())
	l := looker{t, mountless(f)}
	ctx := &fuse.Context{Caller: fuse.Caller{Pid: uint32(os.Getpid())}}
	look := func() *fileNode {
		t.Helper()
		found, errno := l.root.Lookup(ctx, "a.raw", &fuse.EntryOut{})
		if errno != 0 {
			t.Fatal(errno)
		}
		return found.Operations().(*fileNode)
	}
	open := func(n *fileNode) (errno syscall.Errno) {
		h, _, errno := n.Open(ctx, syscall.O_RDONLY)
		if errno == 0 {
			h.(gofuse.FileReleaser).Release(ctx)
		}
		return errno
	}
	key := l.look("a.json").Operations().(*fileNode).Place().Key()
	move := func(from, to string) {
		t.Helper()
		if err := f.present.Move(from, to, false, key); err != nil {
			t.Fatal(err)
		}
	}
	replaced := func(n *fileNode) syscall.Errno {
		f.ids.Renew(&n.Node)
		return open(n)
	}
	renamed := func(n *fileNode) syscall.Errno {
		move("a", "b")
		defer move("b", "a")
		return open(n)
	}
	renewed := func(n *fileNode) syscall.Errno { return n.renew(ctx) }
	for _, c := range []struct {
		name  string
		first func(*fileNode) syscall.Errno
		then  func(*fileNode) syscall.Errno // once the name was looked up again
		want  syscall.Errno
	}{
		{"replaced, renamed", replaced, renamed, syscall.ENOENT},
		{"another inode, renamed", renewed, renamed, syscall.ENOENT},
		{"renamed, replaced", renamed, replaced, 0},
		{"another inode, replaced", renewed, replaced, 0},
		{"replaced, replaced", replaced, replaced, 0},
	} {
		began := time.Now()
		if errno := c.first(look()); errno != syscall.ESTALE {
			t.Errorf("%s: %v, expected ESTALE", c.name, errno)
		}
		errno := c.then(look())
		if errno != c.want && time.Since(began) < time.Second { // later, it is another call
			t.Errorf("%s: the second time %v, expected %v", c.name, errno, c.want)
		}
		f.again.Ended(wire.Thread(ctx))
	}
}
