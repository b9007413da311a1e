package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/view"
)

// fakeKernel keeps backing files as the kernel does.
type fakeKernel struct {
	files map[int32]*os.File
	next  int32
	errno syscall.Errno
}

func (k *fakeKernel) RegisterBackingFd(b *fuse.BackingMap) (int32, syscall.Errno) {
	if k.errno != 0 {
		return 0, k.errno
	}
	fd, err := unix.Dup(int(b.Fd))
	if err != nil {
		return 0, err.(syscall.Errno)
	}
	k.next++
	k.files[k.next] = os.NewFile(uintptr(fd), "backing")
	return k.next, 0
}

func (k *fakeKernel) UnregisterBackingFd(id int32) syscall.Errno {
	if k.files[id] == nil {
		return syscall.ENOENT
	}
	k.files[id].Close()
	delete(k.files, id)
	return 0
}

// bigObjects is a store of arrays "a0" to "a3" of 1.5 MiB in two chunks; all their bytes are 'x', but a2 is corrupt.
func bigObjects() objects {
	o := objects{"zarr.json": groupDoc}
	for i := range 4 {
		o[fmt.Sprintf("a%d/zarr.json", i)] = fmt.Sprintf(arrayDoc, "3, 524288", "uint8", "2, 524288", `{"name": "bytes"}`)
		o[fmt.Sprintf("a%d/c/0/0", i)] = strings.Repeat("x", 1<<20)
		o[fmt.Sprintf("a%d/c/1/0", i)] = strings.Repeat("x", 1<<20)
	}
	o["a2/c/1/0"] = "corrupt"
	return o
}

const bigSize = 3 << 19

// testMaterials returns a file system that materialises, without a mount, at most so many files.
func testMaterials(t *testing.T, files int64) (*filesystem, *fakeKernel) {
	t.Helper()
	f, k := testFilesystem(t, bigObjects()), &fakeKernel{files: map[int32]*os.File{}}
	f.material = materials{f: f, most: 1 << 30, limit: files * (bigSize + 256), dir: scratchFolder(t), kernel: k}
	t.Cleanup(f.material.writing.Wait)
	return f, k
}

// scratchFolder returns a folder on a disk.
func scratchFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if errors.Is(suits(dir, 0), errInMemory) {
		var err error
		if dir, err = os.MkdirTemp("/var/tmp", "zarrfs-test-"); err != nil || errors.Is(suits(dir, 0), errInMemory) {
			t.Skipf("NOT TESTED: materialising, because there is no disk: %v", err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	return dir
}

// materialise asks for a view of an array and waits. It returns the file, if it is there.
func materialise(t *testing.T, f *filesystem, path string, v view.View) *material {
	t.Helper()
	n := &fileNode{base: base{fs: f, place: at(path, v.Name())}, view: v}
	c, err := v.Open(context.Background(), f.h, path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f.material.start(n, c, c.Array().Fingerprint())
	f.material.writing.Wait()
	return f.material.find(n.key(), c.Array().Fingerprint())
}

func TestMaterialise(t *testing.T) {
	f, k := testMaterials(t, 2)
	for _, v := range []view.View{rawView, npyView} {
		m := materialise(t, f, "a0", v)
		if m == nil {
			t.Fatalf("%s: not materialised", v.Name())
		}
		file, err := view.Open(context.Background(), f.h, "a0", v.Name())
		if err != nil {
			t.Fatal(err)
		}
		want, _ := io.ReadAll(file)
		got, err := io.ReadAll(io.NewSectionReader(k.files[m.backing], 0, 1<<30))
		if err != nil || !bytes.Equal(got, want) || len(got) < bigSize {
			t.Errorf("%s: %d bytes, %v, want %d", v.Name(), len(got), err, len(want))
		}
		file.Close()
		f.material.leave(m)
	}
	if left, _ := os.ReadDir(f.material.dir); len(left) != 0 {
		t.Errorf("the scratch folder shows %v", left)
	}
	if files, bytes := f.material.status(); files != 2 || bytes < 2*bigSize {
		t.Errorf("status: %d files, %d bytes", files, bytes)
	}
}

func TestMaterialiseRoom(t *testing.T) {
	f, k := testMaterials(t, 2)
	open := func(path string) *material { return materialise(t, f, path, rawView) }
	a0, a1 := open("a0"), open("a1")
	f.material.leave(a1)
	if open("a3") != nil {
		t.Error("a file made room that was open just now")
	}
	a0.opened = time.Now().Add(-3 * keepMaterial)
	a1.opened = time.Now().Add(-2 * keepMaterial)
	if m := open("a3"); m == nil || len(k.files) != 2 || f.material.find(fileKey{"a1", "raw"}, m.print) != nil {
		t.Fatal("the file that is not open did not make room")
	}
	if open("a1") != nil { // a0 and a3 are open
		t.Error("an open file made room")
	}
	f.material.leave(a0)
	if open("a1") == nil || len(k.files) != 2 {
		t.Error("a file that is no longer open did not make room")
	}
}

func TestMaterialiseFails(t *testing.T) {
	f, k := testMaterials(t, 4)
	if materialise(t, f, "a2", rawView) != nil || len(k.files) != 0 || f.material.bytes != 0 {
		t.Error("a corrupt array is materialised, or leaves something behind")
	}
	if m := f.material.files[fileKey{"a2", "raw"}]; m == nil || m.failed.IsZero() {
		t.Error("it would be tried again at once")
	}
	f.material.most = bigSize - 1
	if materialise(t, f, "a0", rawView) != nil {
		t.Error("a file is materialised that is too large")
	}
	f.material.most = 1 << 30
	k.errno = syscall.EPERM
	if materialise(t, f, "a0", rawView) != nil || !f.material.off {
		t.Error("goes on without privileges")
	}
	if f.material.bytes != 0 {
		t.Errorf("takes %d bytes", f.material.bytes)
	}
}

func TestMaterialiseOutdated(t *testing.T) {
	f, k := testMaterials(t, 4)
	m := materialise(t, f, "a0", rawView)
	if f.material.find(m.key, "another") != nil {
		t.Fatal("an outdated file is found")
	}
	if len(k.files) != 1 || f.material.bytes != bigSize {
		t.Error("an open file is gone")
	}
	f.material.leave(m)
	if len(k.files) != 0 || f.material.bytes != 0 {
		t.Error("an outdated file stays after its last handle")
	}
}

func TestScratchTooFull(t *testing.T) {
	if err := suits(t.TempDir(), 1<<60); err == nil {
		t.Error("there is room for everything")
	}
	if err := suits("/nowhere", 1); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestRenewedIsNotPassedThrough: right after a file got another inode it is not passed through, for the kernel tries an open only twice.
func TestRenewedIsNotPassedThrough(t *testing.T) {
	file, other := fileKey{"a", "raw"}, fileKey{"b", "raw"}
	table := &materials{files: map[fileKey]*material{file: {print: "A", ready: true}, other: {print: "A", ready: true}}}
	table.noteRenewed(file)
	if table.find(file, "A") != nil {
		t.Error("passed through right after it got another inode")
	}
	if table.find(other, "A") == nil {
		t.Error("another file is not passed through")
	}
	table.renewed[file] = table.renewed[file].Add(-calmMaterial)
	if table.find(file, "A") == nil {
		t.Error("not passed through when that was long ago")
	}
	table.noteRenewed(other)
	if len(table.renewed) != 1 {
		t.Errorf("%d files are remembered, want 1", len(table.renewed))
	}
}
