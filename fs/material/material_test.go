package material

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

var raw, npy = view.Named("raw"), view.Named("npy")

// onlyPart is a state that has nothing else.
type onlyPart struct{ Part }

// Join implements pathstate.State.
func (s *onlyPart) Join(*onlyPart) {}

func (s *onlyPart) part() *Part { return &s.Part }

// fakeKernel keeps backing files as the kernel does.
type fakeKernel struct {
	files map[int32]*os.File
	next  int32
	err   error
}

func (k *fakeKernel) Register(file *os.File) (int32, error) {
	if k.err != nil {
		return 0, k.err
	}
	fd, err := unix.Dup(int(file.Fd()))
	if err != nil {
		return 0, err
	}
	k.next++
	k.files[k.next] = os.NewFile(uintptr(fd), "backing")
	return k.next, nil
}

func (k *fakeKernel) Unregister(id int32) {
	if k.files[id] == nil {
		panic("not registered")
	}
	k.files[id].Close()
	delete(k.files, id)
}

// bigSize is how many bytes the arrays of bigArrays have.
const bigSize = 3 << 19

// bigArrays is a hierarchy of arrays "a0" to "a3" in two chunks; all their bytes are 'x', but a2 is
// corrupt.
func bigArrays(t *testing.T) *zarrcore.Hierarchy {
	t.Helper()
	objects := map[string]string{"zarr.json": hierarchytest.Group}
	for i := range 4 {
		objects[fmt.Sprintf("a%d/zarr.json", i)] = `{"zarr_format": 3, "node_type": "array",
			"shape": [3, 524288], "data_type": "uint8",
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 524288]}},
			"chunk_key_encoding": {"name": "default"}, "fill_value": 0,
			"codecs": [{"name": "bytes"}]}`
		objects[fmt.Sprintf("a%d/c/0/0", i)] = strings.Repeat("x", 1<<20)
		objects[fmt.Sprintf("a%d/c/1/0", i)] = strings.Repeat("x", 1<<20)
	}
	objects["a2/c/1/0"] = "corrupt"
	h, _ := hierarchytest.Open(t, memstore.New(), objects)
	return h
}

// fixture are the files of a mount that no kernel knows.
type fixture struct {
	*Files
	t      *testing.T
	h      *zarrcore.Hierarchy
	states *pathstate.Table[onlyPart, *onlyPart]
	kernel *fakeKernel
}

// newFixture returns files that materialise at most so many.
func newFixture(t *testing.T, files int64) *fixture {
	t.Helper()
	f := &fixture{t: t, h: bigArrays(t), states: new(pathstate.Table[onlyPart, *onlyPart]),
		kernel: &fakeKernel{files: map[int32]*os.File{}}}
	o := Options{Most: 1 << 30, Limit: files * (bigSize + 256), Dir: scratchFolder(t),
		Log: &errno.Log{To: slog.New(slog.DiscardHandler)}}
	f.Files = New(t.Context(), o, f.h, pathstate.PartsOf(f.states, (*onlyPart).part))
	f.Serve(f.kernel)
	t.Cleanup(f.Wait)
	return f
}

// scratchFolder returns a folder on a disk.
func scratchFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if errors.Is(suits(dir, 0), errInMemory) {
		var err error
		if dir, err = os.MkdirTemp("/var/tmp", "zarrfs-test-"); err != nil ||
			errors.Is(suits(dir, 0), errInMemory) {
			t.Skipf("SKIPPED: materialising, because there is no disk: %v", err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	return dir
}

// make asks for a view of an array and waits. It returns the file, if it is there.
func (f *fixture) make(path string, v view.View) *File {
	f.t.Helper()
	c, err := v.Open(context.Background(), f.h, path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	print := c.Array().Fingerprint()
	f.Start(path, v, c, print)
	f.Wait()
	return f.Find(path, v, print)
}

func TestMaterialise(t *testing.T) {
	f := newFixture(t, 2)
	for _, v := range []view.View{raw, npy} {
		m := f.make("a0", v)
		if m == nil {
			t.Fatalf("%s: not materialised", v.Name())
		}
		file, err := view.Open(context.Background(), f.h, "a0", v.Name())
		if err != nil {
			t.Fatal(err)
		}
		want, _ := io.ReadAll(file)
		got, err := io.ReadAll(io.NewSectionReader(f.kernel.files[m.Backing()], 0, 1<<30))
		if err != nil || !bytes.Equal(got, want) || len(got) < bigSize {
			t.Errorf("%s: %d bytes, %v, want %d", v.Name(), len(got), err, len(want))
		}
		file.Close()
		m.Leave()
	}
	if left, _ := os.ReadDir(f.o.Dir); len(left) != 0 {
		t.Errorf("the scratch folder shows %v", left)
	}
	if files, bytes := f.Status(); files != 2 || bytes < 2*bigSize {
		t.Errorf("status: %d files, %d bytes", files, bytes)
	}
}

func TestMaterialiseRoom(t *testing.T) {
	f := newFixture(t, 2)
	k, open := f.kernel, func(path string) *File { return f.make(path, raw) }
	a0, a1 := open("a0"), open("a1")
	a1.Leave()
	if open("a3") != nil {
		t.Error("a file made room that was open just now")
	}
	a0.opened = time.Now().Add(-3 * keepFor)
	a1.opened = time.Now().Add(-2 * keepFor)
	if m := open("a3"); m == nil || len(k.files) != 2 || f.Find("a1", raw, m.print) != nil {
		t.Fatal("the file that is not open did not make room")
	}
	if open("a1") != nil { // a0 and a3 are open
		t.Error("an open file made room")
	}
	a0.Leave()
	if open("a1") == nil || len(k.files) != 2 {
		t.Error("a file that is no longer open did not make room")
	}
}

func TestMaterialiseFails(t *testing.T) {
	f := newFixture(t, 4)
	taken := func() int64 { _, bytes := f.Status(); return bytes }
	if f.make("a2", raw) != nil || len(f.kernel.files) != 0 || taken() != 0 {
		t.Error("a corrupt array is materialised, or leaves something behind")
	}
	f.at("a2", func(a *array) {
		if m := a.files[raw]; m == nil || m.failed.IsZero() {
			t.Error("it would be tried again at once")
		}
	})
	f.o.Most = bigSize - 1
	if f.make("a0", raw) != nil {
		t.Error("a file is materialised that is too large")
	}
	f.o.Most = 1 << 30
	f.kernel.err = syscall.EPERM
	if f.make("a0", raw) != nil || !f.off {
		t.Error("goes on without privileges")
	}
	if taken() != 0 {
		t.Errorf("takes %d bytes", taken())
	}
}

func TestMaterialiseOutdated(t *testing.T) {
	f := newFixture(t, 4)
	m := f.make("a0", raw)
	if f.Find("a0", raw, "another") != nil {
		t.Fatal("an outdated file is found")
	}
	if _, taken := f.Status(); len(f.kernel.files) != 1 || taken != bigSize {
		t.Error("an open file is gone")
	}
	m.Leave()
	if _, taken := f.Status(); len(f.kernel.files) != 0 || taken != 0 {
		t.Error("an outdated file stays after its last handle")
	}
	if n := f.states.Len(); n != 0 {
		t.Errorf("%d paths have a state although nothing is known of them", n)
	}
}

// TestFilesFollowRename: what is read of an array that is renamed gets its changes at the new path,
// and none of its successor at the old one. What is removed gets none at all.
func TestFilesFollowRename(t *testing.T) {
	f := newFixture(t, 4)
	m, other := f.make("a0", raw), f.make("a1", raw)
	f.states.Move("a0", "b/a0")
	f.states.End("a1")
	if f.Find("b/a0", raw, m.print) != nil || f.Find("a0", raw, m.print) != nil {
		t.Error("a file is found after its array was renamed")
	}
	arr, err := f.h.OpenArray(t.Context(), "a3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := arr.WriteAt(t.Context(), []byte("changed"), 0); err != nil {
		t.Fatal(err)
	}
	first := func(m *File) string {
		p := make([]byte, len("changed"))
		if _, err := f.kernel.files[m.Backing()].ReadAt(p, 0); err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	changed := view.Stretch{N: int64(len("changed"))}
	f.Follow("a0", arr, changed, false)
	f.Follow("a1", arr, changed, false)
	if first(m) != "xxxxxxx" || first(other) != "xxxxxxx" {
		t.Errorf("readers see %q and %q of another array", first(m), first(other))
	}
	f.Follow("b/a0", arr, changed, false)
	if first(m) != "changed" {
		t.Errorf("readers see %q after a change", first(m))
	}
	m.Leave()
	other.Leave()
	if files, taken := f.Status(); files != 0 || taken != 0 || len(f.kernel.files) != 0 {
		t.Errorf("%d files with %d bytes stay after their last handle", files, taken)
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

// TestRenewedIsNotPassedThrough: right after a file got another inode it is not passed through, for
// the kernel tries an open only twice.
func TestRenewedIsNotPassedThrough(t *testing.T) {
	f := newFixture(t, 4)
	file, other := f.make("a0", raw), f.make("a1", raw)
	find := func(path string, m *File) bool { return f.Find(path, raw, m.print) != nil }
	f.NoteRenewed(pathstate.At("a0"), raw)
	if find("a0", file) {
		t.Error("passed through right after it got another inode")
	}
	if !find("a1", other) {
		t.Error("another file is not passed through")
	}
	f.NoteRenewed(pathstate.At("none"), raw)
	var none *onlyPart
	f.states.Edit("none", func(p *onlyPart) {
		if none = p; p.IsEmpty() {
			t.Fatal("nothing is remembered of a file without bytes")
		}
		p.of.renewed[raw] = time.Now().Add(-calmFor)
	})
	f.states.Edit("a0", func(p *onlyPart) { p.of.renewed[raw] = time.Now().Add(-calmFor) })
	if !find("a0", file) {
		t.Error("not passed through when that was long ago")
	}
	if !none.IsEmpty() {
		t.Error("a file without bytes is remembered for long")
	}
}
