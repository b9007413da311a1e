package zarrcore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	iofs "io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// writable opens a hierarchy that has a root group and nothing else.
func writable(t *testing.T, format int, d store.Driver) *zarrcore.Hierarchy {
	t.Helper()
	st := store.New(d, "test")
	key, doc := "zarr.json", `{"zarr_format": 3, "node_type": "group"}`
	if format == 2 {
		key, doc = ".zgroup", `{"zarr_format": 2}`
	}
	if err := st.Put(t.Context(), key, []byte(doc)); err != nil {
		t.Fatal(err)
	}
	return reopened(t, d)
}

func reopened(t *testing.T, d store.Driver) *zarrcore.Hierarchy {
	t.Helper()
	h, err := zarrcore.Open(t.Context(), store.New(d, "test"),
		&zarrcore.Options{ScratchDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func descr(t *testing.T, s string) dtype.Type {
	t.Helper()
	typ, err := dtype.ParseDescr(s)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error %v, expected %v", err, target)
	}
}

// counting returns the bytes of n numbers, as a test array holds them.
func counting(n int) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i*7+1))
	}
	return b
}

func whole(t *testing.T, a *zarrcore.Array) []byte { return readAt(t, a, 0, a.Size()) }

func TestTree(t *testing.T) {
	for _, format := range []int{2, 3} {
		d := memstore.New()
		h := writable(t, format, d)
		ctx := t.Context()
		must(t, h.CreateGroup(ctx, "g"))
		must(t, h.CreateGroup(ctx, "g/h"))
		want(t, h.CreateGroup(ctx, "g"), iofs.ErrExist)
		want(t, h.CreateGroup(ctx, "none/x"), iofs.ErrNotExist)
		a, err := h.CreateArray(ctx, "g/h/a", []int64{10, 6}, descr(t, "'<i4'"), false)
		must(t, err)
		if a.Meta().Format != format {
			t.Errorf("format %d, expected its group's, %d", a.Meta().Format, format)
		}
		_, err = h.CreateArray(ctx, "g/h/a", []int64{1}, descr(t, "'<i4'"), false)
		want(t, err, iofs.ErrExist)
		want(t, h.CreateGroup(ctx, "g/h/a/below"), iofs.ErrNotExist)
		data := counting(60)
		_, err = a.WriteAt(ctx, data, 0)
		must(t, err)
		want(t, h.Remove(ctx, "g"), zarrcore.ErrNotEmpty)
		want(t, h.Rename(ctx, "g", "g/h/x", false), iofs.ErrInvalid)
		must(t, h.Rename(ctx, "g", "k", false)) // with what is not stored yet
		_, err = h.OpenArray(ctx, "g/h/a")
		want(t, err, iofs.ErrNotExist)
		b := openArray(t, reopened(t, d), "k/h/a")
		if !bytes.Equal(whole(t, b), data) {
			t.Error("the array has changed by being moved")
		}
		must(t, h.Rename(ctx, "k/h/a", "b", false))
		_, err = h.CreateArray(ctx, "c", []int64{3}, descr(t, "'<f8'"), false)
		must(t, err)
		want(t, h.Rename(ctx, "b", "c", false), iofs.ErrExist)
		want(t, h.Rename(ctx, "b", "k", true), iofs.ErrExist)
		must(t, h.Rename(ctx, "b", "c", true))
		if got := whole(t, openArray(t, h, "c")); !bytes.Equal(got, data) {
			t.Error("the array has changed by replacing another")
		}
		must(t, h.Remove(ctx, "c"))
		must(t, h.Remove(ctx, "k/h"))
		// what the group was before a migration goes with it
		put(t, d, "k/.zarrfs-migration.json", []byte("{}"))
		must(t, h.Remove(ctx, "k"))
		want(t, h.Remove(ctx, "k"), iofs.ErrNotExist)
	}
}

// TestHandlesFollow: a program that has an array open still has it after it was moved, reshaped or
// overwritten. It writes nowhere once the array is removed.
func TestHandlesFollow(t *testing.T) {
	d := memstore.New()
	h := writable(t, 3, d)
	ctx := t.Context()
	a, err := h.CreateArray(ctx, "a", []int64{4, 2}, descr(t, "'<i4'"), false)
	must(t, err)
	r := a.NewReader()
	defer r.Close()
	must(t, h.Rename(ctx, "a", "b", false))
	_, err = a.WriteAt(ctx, counting(8), 0)
	must(t, err)
	if got := whole(t, openArray(t, h, "b")); !bytes.Equal(got, counting(8)) {
		t.Error("a write through a handle from before the move is not seen")
	}
	must(t, h.SetDocument(ctx, "b", []byte(`{"shape": [4, 3]}`)))
	if got := a.Live().Meta().Shape; !slices.Equal(got, []int64{4, 3}) {
		t.Errorf("the handle has shape %v, expected [4 3]", got)
	}
	_, err = h.Overwrite(ctx, "b", []int64{2}, descr(t, "'|u1'"), false)
	must(t, err)
	_, err = a.WriteAt(ctx, []byte{5, 6}, 0)
	must(t, err)
	must(t, a.Flush(ctx, true))
	if got := whole(t, openArray(t, reopened(t, d), "b")); !bytes.Equal(got, []byte{5, 6}) {
		t.Errorf("found %v, expected what was written through the handle", got)
	}
	must(t, h.Remove(ctx, "b"))
	_, err = a.WriteAt(ctx, []byte{7}, 0)
	must(t, err)
	must(t, h.Flush(ctx, true))
	_, err = reopened(t, d).OpenArray(ctx, "b")
	want(t, err, iofs.ErrNotExist)
}

func TestChangedDocuments(t *testing.T) {
	for _, format := range []int{2, 3} {
		d := memstore.New()
		h := writable(t, format, d)
		ctx := t.Context()
		a, err := h.CreateArray(ctx, "a", []int64{4, 5}, descr(t, "'<i4'"), false)
		must(t, err)
		_, err = a.WriteAt(ctx, counting(20), 0)
		must(t, err)
		must(t, h.SetAttribute(ctx, "a", "units", []byte("metres")))
		must(t, h.SetAttribute(ctx, "a", "list", []byte("[1, 2]")))
		want(t, h.SetAttribute(ctx, "a", "none", nil), iofs.ErrNotExist)
		must(t, h.SetAttribute(ctx, "", "of the root", []byte("true")))
		want(t, h.SetDocument(ctx, "a", []byte(`{"zarr_format": 7}`)), meta.ErrInvalid)
		n, err := h.Node(ctx, "a")
		must(t, err)
		if got := n.Attributes.Get("units").Text(); got != "metres" {
			t.Errorf("units is %q", got)
		}
		must(t, h.SetAttribute(ctx, "a", "list", nil))
		must(t, h.SetDocument(ctx, "a", []byte(`{"attributes": {"x": 1}, "shape": [6, 5]}`)))
		must(t, a.Flush(ctx, true))
		b := openArray(t, reopened(t, d), "a")
		if !slices.Equal(b.Meta().Shape, []int64{6, 5}) ||
			b.Meta().Attributes.Get("units").Exists() || !b.Meta().Attributes.Get("x").Exists() {
			t.Errorf("shape %v, attributes %s", b.Meta().Shape, b.Meta().Attributes.Raw())
		}
		if got, expect := whole(t, b), append(counting(20), make([]byte, 40)...); !bytes.Equal(got,
			expect) {
			t.Error("what was written before the document changed is lost")
		}
	}
}

// TestDocumentOfUnsavedLength: a document with the length that is stored sets it
// where the array has got another since.
func TestDocumentOfUnsavedLength(t *testing.T) {
	d := memstore.New()
	h := writable(t, 3, d)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	must(t, a.SetSize(t.Context(), 9))
	must(t, h.SetDocument(t.Context(), "a", []byte(`{"shape": [4]}`)))
	if size := a.Live().Size(); size != 4 {
		t.Errorf("%d rows, expected 4", size)
	}
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", make([]byte, 4))
}

// TestTransposed: an array in Fortran order is written and read both ways.
func TestTransposed(t *testing.T) {
	for _, format := range []int{2, 3} {
		d := memstore.New()
		h := writable(t, format, d)
		ctx := t.Context()
		a, err := h.CreateArray(ctx, "a", []int64{30, 7, 5}, descr(t, "'<i4'"), true)
		must(t, err)
		f, ok := a.Transposed()
		if !ok || !slices.Equal(f.Meta().Shape, []int64{5, 7, 30}) {
			t.Fatal("not in Fortran order")
		}
		data := counting(30 * 7 * 5)
		_, err = f.WriteAt(ctx, data, 0)
		must(t, err)
		c := whole(t, a) // not flushed by us
		for i := range 30 * 7 * 5 {
			x, y, z := i/35, i/5%7, i%5
			at := (z*7+y)*30 + x
			if !bytes.Equal(c[4*i:4*i+4], data[4*at:4*at+4]) {
				t.Fatalf("element %d %d %d differs", x, y, z)
			}
		}
		_, err = a.WriteAt(ctx, []byte{1, 2, 3, 4}, 4) // element 0 0 1
		must(t, err)
		copy(data[7*30*4:], []byte{1, 2, 3, 4})
		if got := whole(t, f); !bytes.Equal(got, data) {
			t.Error("a write in C order is not seen in Fortran order")
		}
		// each sees what the other has stored, whatever it has cached
		for i, x := range []*zarrcore.Array{a, f} {
			y := []*zarrcore.Array{f, a}[i]
			before := whole(t, y)
			_, err = x.WriteAt(ctx, []byte{9, 9, 9, byte(i)}, 0)
			must(t, err)
			must(t, x.Flush(ctx, true))
			copy(before, []byte{9, 9, 9, byte(i)})
			if !bytes.Equal(whole(t, y), before) {
				t.Error("what was stored through the other view is not seen")
			}
		}
		copy(data, []byte{9, 9, 9, 1})
		want(t, f.SetSize(ctx, 0), zarrcore.ErrFixedSize)
		must(t, h.Flush(ctx, false))
		g, _ := openArray(t, reopened(t, d), "a").Transposed()
		if !bytes.Equal(whole(t, g), data) {
			t.Error("the stored array differs")
		}
	}
}

// TestFractions: an incomplete row at the end is dropped, and the rest stays.
func TestFractions(t *testing.T) {
	h := writable(t, 3, memstore.New())
	ctx := t.Context()
	a, err := h.CreateArray(ctx, "a", []int64{2, 3}, descr(t, "'<i4'"), false)
	must(t, err)
	_, err = a.WriteAt(ctx, counting(8), 0) // two elements of row 2
	must(t, err)
	if got := a.Live().Size(); got != 32 {
		t.Errorf("size %d while the row is being written, expected 32", got)
	}
	want(t, a.Flush(ctx, true), zarrcore.ErrFraction)
	must(t, a.Flush(ctx, true))
	if got := whole(t, a.Live()); !bytes.Equal(got, counting(6)) {
		t.Errorf("%v, expected the whole rows", got)
	}
	want(t, a.SetSize(ctx, 13), zarrcore.ErrFraction)
	zero, err := h.CreateArray(ctx, "zero", nil, descr(t, "'<i4'"), false)
	must(t, err)
	_, err = zero.WriteAt(ctx, counting(2), 0)
	want(t, err, zarrcore.ErrFixedSize)
	_, err = zero.WriteAt(ctx, counting(1), 0)
	must(t, err)
	must(t, zero.Flush(ctx, true))
}

// TestSlowWriter: what is stored by itself does not take the beginning of a row for a fraction.
func TestSlowWriter(t *testing.T) {
	d := memstore.New()
	h := writable(t, 3, d)
	a, err := h.CreateArray(t.Context(), "a", []int64{2, 3}, descr(t, "'<i4'"), false)
	must(t, err)
	_, err = a.WriteAt(t.Context(), counting(11)[:41], 0) // a part of row 3
	must(t, err)
	for other := reopened(t, d); openArray(t, other, "a").Size() < 36; {
		time.Sleep(50 * time.Millisecond)
	}
	if got := a.Live().Size(); got != 41 {
		t.Errorf("the array has %d bytes after it was stored by itself, expected 41", got)
	}
	_, err = a.WriteAt(t.Context(), counting(12)[41:], 41)
	must(t, err)
	must(t, a.Flush(t.Context(), false))
	if got := whole(t, openArray(t, reopened(t, d), "a")); !bytes.Equal(got, counting(12)) {
		t.Errorf("%v, expected %v", got, counting(12))
	}
	_, err = a.WriteAt(t.Context(), counting(1), 48)
	must(t, err)
	want(t, a.Flush(t.Context(), false), zarrcore.ErrFraction)
	must(t, a.SetSize(t.Context(), 60))
	must(t, a.Flush(t.Context(), false))
	if got := whole(t, openArray(t, reopened(t, d), "a")); !bytes.Equal(got,
		append(counting(12), make([]byte, 12)...)) {
		t.Errorf("%v, expected %v and fill", got, counting(12))
	}
}

// full is a store that is out of space while it is set so.
type full struct {
	store.Driver
	mu  sync.Mutex
	err error
}

func newFull() *full {
	f := &full{}
	f.Driver = storetest.Faulty(memstore.New(),
		storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
			f.mu.Lock()
			defer f.mu.Unlock()
			if op.Kind == storetest.OpStage {
				return storetest.Fault{Err: f.err}
			}
			return storetest.Fault{}
		}))
	return f
}

func (f *full) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// TestAcceptedBehindTheEnd: a page that the kernel writes after the array was truncated does not
// make it longer again. What is inside of the array arrives.
func TestAcceptedBehindTheEnd(t *testing.T) {
	ctx := t.Context()
	h := writable(t, 3, memstore.New())
	a, err := h.CreateArray(ctx, "a", []int64{100}, descr(t, "'<i4'"), false)
	must(t, err)
	must(t, a.SetSize(ctx, 200))
	for _, off := range []int64{196, 200, 300} {
		n, err := a.Accept(ctx, []byte("12345678"), off)
		if n != 8 || err != nil || a.Live().Size() != 200 {
			t.Errorf("at %d: %d bytes, %v; the array has %d bytes", off, n, err, a.Live().Size())
		}
	}
	if got := whole(t, a.Live()); string(got[196:]) != "1234" {
		t.Errorf("the last element is %q", got[196:])
	}
}

// TestErrorsStay: what cannot be stored is reported by every write and flush,
// is read all the same, and arrives once there is room.
func TestErrorsStay(t *testing.T) {
	d := newFull()
	h := writable(t, 3, d.Driver)
	ctx := t.Context()
	a, err := h.CreateArray(ctx, "a", []int64{1000}, descr(t, "'<i4'"), false)
	must(t, err)
	data := counting(1000)
	_, err = a.WriteAt(ctx, data, 0)
	must(t, err)
	d.set(syscall.ENOSPC)
	for range 3 {
		want(t, a.Flush(ctx, false), syscall.ENOSPC)
		_, err = a.WriteAt(ctx, []byte{1}, 0)
		want(t, err, syscall.ENOSPC)
	}
	_, err = a.Accept(ctx, []byte{9}, 0)
	must(t, err)
	data[0] = 9
	if n, err := a.Dirty(); n != 4000 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%d dirty bytes, %v", n, err)
	}
	if !bytes.Equal(whole(t, a), data) {
		t.Error("what could not be stored is not read")
	}
	d.set(nil)
	must(t, a.Flush(ctx, true))
	if !bytes.Equal(whole(t, openArray(t, reopened(t, d), "a")), data) {
		t.Error("it did not arrive")
	}
	_, err = a.WriteAt(ctx, []byte{1}, 0)
	must(t, err)
}

// TestStoredByItself: what nobody flushes is stored after a while, and so is
// what could not be stored before.
func TestStoredByItself(t *testing.T) {
	d := newFull()
	h := writable(t, 3, d.Driver)
	a, err := h.CreateArray(t.Context(), "a", []int64{10}, descr(t, "'<i4'"), false)
	must(t, err)
	_, err = a.WriteAt(t.Context(), counting(10), 0)
	must(t, err)
	d.set(syscall.ENOSPC)
	want(t, a.Flush(t.Context(), false), syscall.ENOSPC)
	d.set(nil)
	for a.IsUnsaved() {
		time.Sleep(50 * time.Millisecond)
	}
	if !bytes.Equal(whole(t, openArray(t, reopened(t, d), "a")), counting(10)) {
		t.Error("it did not arrive")
	}
}

// TestRescue: what cannot be stored ends in a file that has it in its place.
func TestRescue(t *testing.T) {
	d := newFull()
	h := writable(t, 3, d.Driver)
	a, err := h.CreateArray(t.Context(), "a", []int64{50, 30}, descr(t, "'<i4'"), false)
	must(t, err)
	data := counting(1500)
	_, err = a.WriteAt(t.Context(), data[1000:5000], 1000)
	must(t, err)
	d.set(syscall.ENOSPC)
	want(t, h.Flush(t.Context(), true), syscall.ENOSPC)
	files, err := h.Rescue(t.TempDir())
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("%d files, expected 1", len(files))
	}
	got, err := os.ReadFile(files[0])
	must(t, err)
	clear(data[:1000])
	clear(data[5000:])
	if !bytes.Equal(got, data) {
		t.Error("the file has not what was written")
	}
	d.set(nil)
	other := writable(t, 3, d.Driver)
	b := openArray(t, other, "a")
	copy(data[996:], "abcd") // the file has zeros there
	_, err = b.WriteAt(t.Context(), data[996:1000], 996)
	must(t, err)
	must(t, b.Flush(t.Context(), true))
	r, err := rescue.Open(files[0])
	must(t, err)
	defer r.Close()
	n, err := other.Restore(t.Context(), r, r.Array())
	must(t, err)
	if n != 4000 || !bytes.Equal(whole(t, openArray(t, reopened(t, d.Driver), "a")), data) {
		t.Errorf("%d bytes are restored, or the array has others", n)
	}
}

// TestTwoWriters: two hierarchies of one store write disjoint elements of the
// same chunks, and nothing is lost.
func TestTwoWriters(t *testing.T) {
	d := memstore.New()
	h := writable(t, 3, d)
	must(t, h.CreateFromDocument(t.Context(), "a", []byte(`{"zarr_format": 3, "node_type": "array",
		"shape": [64], "data_type": "uint32",
		"fill_value": 0, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [32]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "sharding_indexed",
		"configuration": {"chunk_shape": [8],
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]}`)))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			a := openArray(t, reopened(t, d), "a")
			for round := range 5 {
				for i := w; i < 64; i += 4 {
					value := binary.LittleEndian.AppendUint32(nil, uint32(i*100+round))
					if _, err := a.WriteAt(t.Context(), value, int64(4*i)); err != nil {
						t.Error(err)
					}
				}
				if err := a.Flush(t.Context(), false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := whole(t, openArray(t, reopened(t, d), "a"))
	for i := range 64 {
		if v := binary.LittleEndian.Uint32(got[4*i:]); v != uint32(i*100+4) {
			t.Errorf("element %d is %d, expected %d", i, v, i*100+4)
		}
	}
}

// TestReplacedUnderneath: bytes for an array that somebody replaced by another
// are not stored in that one, nor forgotten.
func TestReplacedUnderneath(t *testing.T) {
	d := memstore.New()
	h := writable(t, 3, d)
	a, err := h.CreateArray(t.Context(), "a", []int64{10}, descr(t, "'<i4'"), false)
	must(t, err)
	_, err = a.WriteAt(t.Context(), counting(10), 0)
	must(t, err)
	other := reopened(t, d)
	must(t, other.Remove(t.Context(), "a"))
	want(t, a.Flush(t.Context(), false), store.ErrConflict)
	_, err = other.CreateArray(t.Context(), "a", []int64{5, 5}, descr(t, "'<f8'"), false)
	must(t, err)
	want(t, a.Flush(t.Context(), false), store.ErrConflict)
	if n, _ := a.Dirty(); n != 40 {
		t.Errorf("%d dirty bytes, expected 40", n)
	}
}

// TestOrphans: bytes for an array that somebody removed or replaced are kept in a
// file, once nobody has that array open. To remove what is in its place drops them.
func TestOrphans(t *testing.T) {
	for _, tc := range []struct {
		name            string
		replaced, inUse bool
		remove          bool // what is in its place
		kept            int
	}{
		{name: "removed", kept: 1},
		{name: "replaced", replaced: true, kept: 1},
		{name: "open", replaced: true, inUse: true},
		{name: "dropped", replaced: true, inUse: true, remove: true},
	} {
		d := memstore.New()
		h := writable(t, 3, d)
		a, err := h.CreateArray(t.Context(), "a", []int64{10}, descr(t, "'<i4'"), false)
		must(t, err)
		_, err = a.WriteAt(t.Context(), counting(10), 0)
		must(t, err)
		if tc.inUse {
			defer a.NewReader().Close()
		}
		other := reopened(t, d)
		must(t, other.Remove(t.Context(), "a"))
		if tc.replaced {
			_, err = other.CreateArray(t.Context(), "a", []int64{5, 5}, descr(t, "'<f8'"), false)
			must(t, err)
		}
		want(t, a.Flush(t.Context(), false), store.ErrConflict)
		if tc.replaced {
			b := openArray(t, h, "a")
			_, err := b.WriteAt(t.Context(), counting(2), 0)
			must(t, err)
			must(t, b.Flush(t.Context(), false))
		}
		if tc.remove {
			must(t, h.Remove(t.Context(), "a"))
		}
		zarrcore.ExpireOrphans(t.Context(), h)
		if err := h.Flush(t.Context(), false); (err == nil) != (tc.kept > 0 || tc.remove) {
			t.Errorf("%s: flush: %v", tc.name, err)
		}
		kept := h.Status().Write.Kept
		if len(kept) != tc.kept {
			t.Errorf("%s: kept in %q, expected %d files", tc.name, kept, tc.kept)
		}
		for _, file := range kept {
			if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, counting(10)) {
				t.Errorf("%s: kept %d bytes, %v", tc.name, len(got), err)
			}
		}
		if tc.replaced && !tc.remove &&
			!bytes.HasPrefix(whole(t, openArray(t, reopened(t, d), "a")), counting(2)) {
			t.Errorf("%s: the array in its place is not as it was written", tc.name)
		}
	}
}

// TestVacate: another program removes an array, and its name can be had again at once. That is
// refused if the removed array, or the bytes written to it, may still be of use.
func TestVacate(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault map[string]error // of reading keys
		inUse bool
		back  bool // the same array is there again
		want  error
		dirty int64 // left
		kept  int   // files
	}{
		{name: "removed", kept: 1},
		{name: "open", inUse: true, want: zarrcore.ErrInUse, dirty: 40},
		{name: "recreated by another program", back: true, want: iofs.ErrExist, dirty: 40},
		{name: "store away", fault: map[string]error{"zarr.json": iofs.ErrNotExist},
			want: iofs.ErrNotExist, dirty: 40},
		{name: "store unreadable", fault: map[string]error{"zarr.json": syscall.EIO},
			want: syscall.EIO, dirty: 40},
		{name: "document unreadable", fault: map[string]error{"a/zarr.json": syscall.EACCES},
			want: syscall.EACCES, dirty: 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, faults := memstore.New(), false
			writable(t, 3, d)
			h := reopened(t,
				storetest.Faulty(d, storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
					if !faults {
						return storetest.Fault{}
					}
					return storetest.Fault{Err: tc.fault[op.Key]}
				})))
			a, err := h.CreateArray(t.Context(), "a", []int64{10}, descr(t, "'<i4'"), false)
			must(t, err)
			_, err = a.WriteAt(t.Context(), counting(10), 0)
			must(t, err)
			other := reopened(t, d)
			must(t, other.Remove(t.Context(), "a"))
			if tc.inUse {
				defer a.NewReader().Close()
			}
			if tc.back {
				_, err := other.CreateArray(t.Context(), "a", []int64{10}, descr(t, "'<i4'"), false)
				must(t, err)
			}
			faults = true
			b, err := h.CreateArray(t.Context(), "a", []int64{10}, descr(t, "'<i4'"), false)
			faults = false
			want(t, err, tc.want)
			if n, _ := a.Dirty(); n != tc.dirty {
				t.Errorf("%d dirty bytes, expected %d", n, tc.dirty)
			}
			if kept := h.Status().Write.Kept; len(kept) != tc.kept {
				t.Errorf("kept in %q, expected %d files", kept, tc.kept)
			}
			if err == nil {
				// by a handle of the array that is no more
				_, err := a.WriteAt(t.Context(), counting(10), 0)
				must(t, err)
				must(t, h.Flush(t.Context(), false))
				if got := whole(t, b); !bytes.Equal(got, make([]byte, 40)) {
					t.Errorf("the new array has %v", got)
				}
			}
			if tc.back {
				must(t, a.Flush(t.Context(), false))
				if got := whole(t, openArray(t, other, "a")); !bytes.Equal(got, counting(10)) {
					t.Errorf("the array that is there again has %v", got)
				}
			}
		})
	}
}

// TestVacateBelow: another program has removed, or emptied, the group of an array that was written
// to. What was written does not reach the array of that path in a group which is moved there.
func TestVacateBelow(t *testing.T) {
	for _, empty := range []bool{false, true} {
		d := memstore.New()
		h := writable(t, 3, d)
		var arrays []*zarrcore.Array
		for _, group := range []string{"g", "h"} {
			must(t, h.CreateGroup(t.Context(), group))
			a, err := h.CreateArray(t.Context(), group+"/a", []int64{10}, descr(t, "'<i4'"), false)
			must(t, err)
			arrays = append(arrays, a)
		}
		_, err := arrays[0].WriteAt(t.Context(), counting(10), 0)
		must(t, err)
		other := reopened(t, d)
		must(t, other.Remove(t.Context(), "g/a"))
		if !empty {
			must(t, other.Remove(t.Context(), "g"))
		}
		reader := arrays[0].NewReader()
		want(t, h.Rename(t.Context(), "h", "g", true), zarrcore.ErrInUse)
		reader.Close()
		must(t, h.Rename(t.Context(), "h", "g", true))
		must(t, h.Flush(t.Context(), false))
		if got := whole(t, openArray(t, other, "g/a")); !bytes.Equal(got, make([]byte, 40)) {
			t.Errorf("empty=%t: the array that was moved has %v", empty, got)
		}
		if kept := h.Status().Write.Kept; len(kept) != 1 {
			t.Errorf("empty=%t: kept in %q, expected one file", empty, kept)
		}
	}
}

// TestFullChunksAreNotRead, and each is encoded once, in bounded memory, also
// where all chunks of the array are written at the same time.
func TestFullChunksAreNotRead(t *testing.T) {
	d := memstore.New()
	h := writable(t, 3, d)
	must(t, h.CreateFromDocument(t.Context(), "a", []byte(`{"zarr_format": 3, "node_type": "array",
		"shape": [512, 512], "data_type": "uint32",
		"fill_value": 0,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [512, 8]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
		{"name": "zstd", "configuration": {"level": 1, "checksum": false}}]}`)))
	small, err := zarrcore.Open(t.Context(), store.New(d, "test"),
		&zarrcore.Options{ScratchDir: t.TempDir(), DirtySize: 100_000})
	must(t, err)
	defer small.Close()
	a := openArray(t, small, "a")
	data := counting(512 * 512)
	for off := 0; off < len(data); off += 5000 {
		_, err := a.WriteAt(t.Context(), data[off:min(len(data), off+5000)], int64(off))
		must(t, err)
	}
	must(t, a.Flush(t.Context(), false))
	s := small.Status()
	if s.Write.ChunksEncoded != 64 || s.ChunksDecoded != 0 || s.Write.Spilled == 0 ||
		s.Write.MemoryPeak > 150_000 {
		t.Errorf("%d chunks encoded, %d decoded, %d bytes spilled, %d bytes of memory",
			s.Write.ChunksEncoded, s.ChunksDecoded, s.Write.Spilled, s.Write.MemoryPeak)
	}
	if !bytes.Equal(whole(t, openArray(t, reopened(t, d), "a")), data) {
		t.Error("the stored array differs")
	}
}

// TestFillIsNotStored: chunks of fill value have no object, byte for byte.
func TestFillIsNotStored(t *testing.T) {
	for _, keep := range []bool{false, true} {
		d := memstore.New()
		writable(t, 3, d)
		h, err := zarrcore.Open(t.Context(), store.New(d, "test"),
			&zarrcore.Options{KeepFill: keep})
		must(t, err)
		defer h.Close()
		a, err := h.CreateArray(t.Context(), "a", []int64{4}, descr(t, "'<f8'"), false)
		must(t, err)
		write := func(b []byte) bool {
			_, err := a.WriteAt(t.Context(), b, 0)
			must(t, err)
			must(t, a.Flush(t.Context(), false))
			_, err = store.New(d, "").Stat(t.Context(), "a/c/0")
			return err == nil
		}
		minus := bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0x80}, 4)
		if !write(counting(8)) || write(make([]byte, 32)) != keep || !write(minus) {
			t.Errorf("keep %v: stored what is fill value, or not what is -0.0", keep)
		}
	}
}

// TestAppendersAtOnce lets several programs open an array, append a row and store it, all the
// time. A document that this process has replaced itself is not a change of others.
func TestAppendersAtOnce(t *testing.T) {
	const appenders, rows, cols = 8, 25, 32
	h := writable(t, 3, memstore.New())
	must(t, h.CreateFromDocument(t.Context(), "a", []byte(`{"zarr_format": 3, "node_type": "array",
		"shape": [0, 32], "data_type": "uint8",
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10, 8]}},
		"chunk_key_encoding": {"name": "default"},
 "fill_value": 0, "codecs": [{"name": "bytes"}]}`)))
	var end sync.Mutex // from asking for the size until the row is there
	var wg sync.WaitGroup
	for i := range appenders {
		wg.Go(func() {
			for range rows {
				a, err := h.OpenArray(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				end.Lock()
				_, err = a.WriteAt(t.Context(), bytes.Repeat([]byte{byte(i + 1)}, cols),
					a.Live().Size())
				end.Unlock()
				if err := errors.Join(err, a.Flush(t.Context(), false)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	a, err := h.OpenArray(t.Context(), "a")
	must(t, err)
	var found [appenders + 1]int
	for row := range slices.Chunk(whole(t, a), cols) {
		if row[0] > appenders || !bytes.Equal(row, bytes.Repeat(row[:1], cols)) {
			t.Fatalf("a row is %v", row)
		}
		found[row[0]]++
	}
	for i := 1; i <= appenders; i++ {
		if found[i] != rows {
			t.Errorf("of appender %d: %d rows, expected %d", i, found[i], rows)
		}
	}
}
