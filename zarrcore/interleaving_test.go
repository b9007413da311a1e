package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file is about operations at the same time, and operations that fail half-way: each test
// arranges one order of events.

// A hook is an injector that is set while the store is in use.
type hook struct {
	mu sync.Mutex
	f  func(op storetest.Op) error
}

func (k *hook) set(f func(op storetest.Op) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.f = f
}

// once calls f at the first operation of that kind on a key that ends so.
func (k *hook) once(kind storetest.OpKind, suffix string, f func() error) {
	var done atomic.Bool
	k.set(func(op storetest.Op) error {
		if op.Kind == kind && strings.HasSuffix(op.Key, suffix) && !done.Swap(true) {
			return f()
		}
		return nil
	})
}

// endAfter lets so many operations succeed and no other, as if the process ended then.
func (k *hook) endAfter(calls int) {
	var made atomic.Int64
	k.set(func(storetest.Op) error {
		if made.Add(1) > int64(calls) {
			return syscall.EIO
		}
		return nil
	})
}

func (k *hook) Inject(op storetest.Op) storetest.Fault {
	k.mu.Lock()
	f := k.f
	k.mu.Unlock()
	if f == nil {
		return storetest.Fault{}
	}
	return storetest.Fault{Err: f(op)}
}

// hooked is writable of a store in memory with a hook.
func hooked(t *testing.T) (*zarrcore.Hierarchy, *hook, store.Driver) {
	k := &hook{}
	d := storetest.Faulty(memstore.New(), k)
	return writable(t, 3, d), k, d
}

// numbers is the document of an array of bytes; codecs are more than its bytes.
func numbers(shape, chunk, codecs string) []byte {
	return []byte(fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": %s,
		"data_type": "uint8", "fill_value": 0,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": %s}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [%s]}`, shape, chunk, codecs))
}

const (
	plainBytes = `{"name": "bytes"}`
	inFortran  = `{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes"}`
	inShards   = `{"name": "sharding_indexed",
		"configuration": {"chunk_shape": [2], "codecs": [{"name": "bytes"}],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}`
)

func described(t *testing.T, h *zarrcore.Hierarchy, path string, doc []byte) *zarrcore.Array {
	t.Helper()
	must(t, h.CreateFromDocument(t.Context(), path, doc))
	return openArray(t, h, path)
}

func write(t *testing.T, a *zarrcore.Array, off int64, p []byte) {
	t.Helper()
	if n, err := a.WriteAt(t.Context(), p, off); err != nil || n != len(p) {
		t.Fatalf("write %d+%d: %d, %v", off, len(p), n, err)
	}
}

func upTo(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// sameStored compares the stored array with data.
func sameStored(t *testing.T, d store.Driver, path string, data []byte) {
	t.Helper()
	if got := whole(t, openArray(t, reopened(t, d), path)); !bytes.Equal(got, data) {
		t.Fatalf("stored is %v, expected %v", got, data)
	}
}

// TestWriteWhileTruncationIsStored: what is written while a flush stores a truncation goes where it
// belongs. Appended rows go to objects of their own. What is written into an object does not keep
// its truncated rows. They are the fill value when they come back.
func TestWriteWhileTruncationIsStored(t *testing.T) {
	for _, codecs := range []string{plainBytes, inShards} {
		for _, c := range []struct {
			rows, cut int64
			off       int64 // of what is written
			written   []byte
			want      []byte // when there are as many rows again
		}{
			{40, 8, 8, upTo(30)[8:], append(upTo(30), make([]byte, 10)...)},
			{12, 6, 4, []byte{99}, append([]byte{1, 2, 3, 4, 99, 6}, make([]byte, 6)...)},
		} {
			h, k, d := hooked(t)
			a := described(t, h, "a", numbers(fmt.Sprintf("[%d]", c.rows), "[4]", codecs))
			write(t, a, 0, upTo(int(c.rows)))
			must(t, a.Flush(t.Context(), false))
			must(t, a.SetSize(t.Context(), c.cut))
			k.once(storetest.OpStage, "a/zarr.json", func() error {
				write(t, a, c.off, c.written)
				return nil
			})
			must(t, a.Flush(t.Context(), false))
			must(t, a.Flush(t.Context(), false))
			sameStored(t, d, "a", c.want[:max(c.cut, c.off+int64(len(c.written)))])
			must(t, a.SetSize(t.Context(), c.rows))
			must(t, a.Flush(t.Context(), false))
			sameStored(t, d, "a", c.want)
		}
	}
}

// TestUnfinishedRow: a row that is written in pieces is not truncated by what the hierarchy stores
// of its own accord: for want of memory, or to show it through the array in Fortran order.
func TestUnfinishedRow(t *testing.T) {
	d := memstore.New()
	writable(t, 3, d)
	h, err := zarrcore.Open(t.Context(), store.New(d, ""),
		&zarrcore.Options{ScratchSize: -1, DirtySize: 10})
	must(t, err)
	defer h.Close()
	a := described(t, h, "a", numbers("[0, 40]", "[2, 4]", plainBytes))
	data := upTo(200)
	for off := 0; off < len(data); off += 5 {
		write(t, a, int64(off), data[off:off+5])
	}
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", data)
	f := described(t, h, "f", numbers("[1, 4]", "[2, 4]", inFortran))
	reversed, ok := f.Transposed()
	if !ok {
		t.Fatal("not in Fortran order")
	}
	write(t, f, 0, data[:6])
	whole(t, reversed)
	write(t, f, 6, data[6:8])
	must(t, f.Flush(t.Context(), false))
	sameStored(t, d, "f", data[:8])
}

// TestFortranViewIsNotStale: what was written and stored through one way to see an array is seen
// through the other. A reader that has read it before sees it too.
func TestFortranViewIsNotStale(t *testing.T) {
	h, _, _ := hooked(t)
	a := described(t, h, "a", numbers("[3, 2]", "[3, 2]", inFortran))
	f, _ := a.Transposed()
	for i, w := range []*zarrcore.Array{f, a, f} {
		whole(t, a)
		whole(t, f)
		write(t, w, 0, []byte{byte(i + 7)})
		must(t, w.Flush(t.Context(), false))
		for _, r := range []*zarrcore.Array{a, f} {
			if got := whole(t, r); got[0] != byte(i+7) {
				t.Errorf("write %d is not seen: %v", i, got)
			}
		}
	}
}

// TestSyncsWhatWasStored: fsync makes durable also what was stored before it, by
// whatever way, and after the array was moved or nobody has it open any more.
func TestSyncsWhatWasStored(t *testing.T) {
	var synced []string
	h, k, _ := hooked(t)
	k.set(func(op storetest.Op) error {
		if op.Kind == storetest.OpSyncDir {
			synced = append(synced, op.Key)
		}
		return nil
	})
	expect := func(key string, err error) {
		t.Helper()
		must(t, err)
		if !slices.Contains(synced, key) {
			t.Errorf("synced %v, expected %s", synced, key)
		}
		synced = nil
	}
	ctx := t.Context()
	a := described(t, h, "a", numbers("[3, 2]", "[3, 2]", inFortran))
	f, _ := a.Transposed()
	write(t, f, 0, []byte{1})
	expect("a/c/0/-", a.Flush(ctx, true))
	write(t, a, 0, []byte{2})
	must(t, a.Flush(ctx, false))
	expect("a/c/0/-", h.Flush(ctx, true))
	r := a.NewReader() // or nobody would care where it went
	defer r.Close()
	write(t, a, 0, []byte{3})
	must(t, h.Rename(ctx, "a", "b", false))
	expect("b/c/0/-", openArray(t, h, "b").Flush(ctx, true))
	write(t, a, 0, []byte{4})
	must(t, a.Flush(ctx, false))
	k.set(func(op storetest.Op) error {
		if op.Kind == storetest.OpSyncDir {
			return syscall.EIO
		}
		return nil
	})
	want(t, h.Flush(ctx, true), syscall.EIO)
	want(t, h.Flush(ctx, true), syscall.EIO) // it is not durable by being tried
}

// TestOverwriteFails: an array that could not be overwritten by another one still
// takes what is written to it, also through handles from before.
func TestOverwriteFails(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, upTo(4))
	k.once(storetest.OpStage, "a/zarr.json", func() error { return syscall.ENOSPC })
	_, err := h.Overwrite(t.Context(), "a", []int64{4}, descr(t, "'<f8'"), false)
	want(t, err, syscall.ENOSPC)
	write(t, a, 0, []byte{9, 8})
	write(t, openArray(t, h, "a"), 2, []byte{7, 6})
	must(t, h.Flush(t.Context(), true))
	sameStored(t, d, "a", []byte{9, 8, 7, 6})
	b, err := h.Overwrite(t.Context(), "a", []int64{3}, descr(t, "'|u1'"), false)
	must(t, err)
	if b.Size() != 3 || !bytes.Equal(whole(t, b), make([]byte, 3)) {
		t.Errorf("an array of %d bytes, expected 3", b.Size())
	}
}

// TestRemoveFails: an array that could not be removed has lost nothing.
func TestRemoveFails(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, upTo(4))
	k.once(storetest.OpRemoveAll, "a", func() error { return syscall.EIO })
	want(t, h.Remove(t.Context(), "a"), syscall.EIO)
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", upTo(4))
}

// TestWriteWhileMoving: bytes that are written while the array gets another path or
// shape arrive in it.
func TestWriteWhileMoving(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[2, 2]", "[2, 2]", plainBytes))
	r := a.NewReader()
	defer r.Close()
	var writer sync.WaitGroup
	writes := func(p byte) func() error {
		return func() error {
			writer.Go(func() { write(t, a, 0, []byte{p, p}) })
			return nil
		}
	}
	k.once(storetest.OpRename, "a", writes(1))
	must(t, h.Rename(t.Context(), "a", "b", false))
	writer.Wait()
	must(t, h.Flush(t.Context(), true))
	sameStored(t, d, "b", []byte{1, 1, 0, 0})
	k.once(storetest.OpStage, "b/zarr.json", writes(2))
	must(t, h.SetDocument(t.Context(), "b", []byte(`{"shape": [2, 3]}`)))
	writer.Wait()
	must(t, h.Flush(t.Context(), true))
	sameStored(t, d, "b", []byte{2, 2, 0, 0, 0, 0})
}

// TestInterruptedFlush: a flush that its program gave up is not an error of the array.
func TestInterruptedFlush(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, upTo(4))
	ctx, cancel := context.WithCancel(t.Context())
	k.once(storetest.OpStage, "a/c/0", func() error {
		cancel()
		return ctx.Err()
	})
	want(t, a.Flush(ctx, false), context.Canceled)
	write(t, a, 3, []byte{9})
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", []byte{1, 2, 3, 9})
}

// TestBothAppend: two hierarchies append to one array, of which neither knows that the other does:
// the longer shape stays, and no byte that only one wrote is lost.
func TestBothAppend(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[2]", "[4]", plainBytes))
	b := openArray(t, reopened(t, d), "a")
	write(t, a, 2, []byte{1, 1})
	write(t, b, 5, []byte{2})
	must(t, b.Flush(t.Context(), false))
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", []byte{0, 0, 1, 1, 0, 2})
	if got := whole(t, a.Live()); len(got) != 6 {
		t.Errorf("the array has %d bytes here, expected 6", len(got))
	}
	c := openArray(t, reopened(t, d), "a")
	write(t, c, 9, []byte{3})
	write(t, a, 6, []byte{4})
	k.once(storetest.OpStage, "a/zarr.json", func() error { return c.Flush(t.Context(), false) })
	must(t, a.Flush(t.Context(), false)) // while c does
	sameStored(t, d, "a", []byte{0, 0, 1, 1, 0, 2, 4, 0, 0, 3})
	e := openArray(t, reopened(t, d), "a")
	must(t, e.SetSize(t.Context(), 1))
	must(t, e.Flush(t.Context(), false))
	write(t, a, 11, []byte{5})
	want(t, a.Flush(t.Context(), false), store.ErrConflict)
}

// TestOutsideGrowth: another program makes an array longer. A program that opens it then sees what
// is written to it here and not stored. So does a program that had it open.
func TestOutsideGrowth(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, []byte{1})
	other := openArray(t, reopened(t, d), "a")
	write(t, other, 4, []byte{2, 2})
	must(t, other.Flush(t.Context(), false))
	b := openArray(t, h, "a")
	expect := []byte{1, 0, 0, 0, 2, 2}
	for who, x := range map[string]*zarrcore.Array{"the one opened since": b,
		"the older one": a.Live()} {
		if got := whole(t, x); !bytes.Equal(got, expect) {
			t.Errorf("%s has %v, expected %v", who, got, expect)
		}
	}
	write(t, b, 3, []byte{3})
	write(t, a, 6, []byte{4})
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", []byte{1, 0, 0, 3, 2, 2, 4})
}

// TestClearHoles: to clear what is a hole already takes no time, also for exbibytes.
func TestClearHoles(t *testing.T) {
	for _, codecs := range []string{plainBytes, inFortran} {
		h, _, d := hooked(t)
		a := described(t, h, "a", numbers("[1073741824, 1073741824]", "[8, 1024]", codecs))
		last := a.Size() - 5
		write(t, a, 1<<50, upTo(10))
		must(t, a.Flush(t.Context(), false))
		write(t, a, last, upTo(5))
		must(t, a.Clear(t.Context(), 1<<50+4, last-1<<50-2))
		if got, expect := readAt(t, a, 1<<50, 10),
			[]byte{1, 2, 3, 4, 0, 0, 0, 0, 0, 0}; !bytes.Equal(got, expect) {
			t.Errorf("%v, expected %v", got, expect)
		}
		if got, expect := readAt(t, a, last, 5), []byte{0, 0, 3, 4, 5}; !bytes.Equal(got, expect) {
			t.Errorf("%v, expected %v", got, expect)
		}
		must(t, a.Clear(t.Context(), 0, a.Size()))
		must(t, a.SetSize(t.Context(), 1<<59))
		must(t, a.Flush(t.Context(), false))
		if _, err := store.New(d, "").Stat(t.Context(), "a/c"); err == nil {
			if s := storedOf(t, h, "a"); s.Bytes != 0 || s.Objects != 0 {
				t.Errorf("%+v is stored; expected nothing", s)
			}
		}
	}
}

// TestNothingWritten: to write nothing beyond the end does not make it longer.
func TestNothingWritten(t *testing.T) {
	h, _, _ := hooked(t)
	a := described(t, h, "a", numbers("[2]", "[4]", plainBytes))
	write(t, a, 7, nil)
	if a.Live().Size() != 2 {
		t.Errorf("%d bytes, expected 2", a.Live().Size())
	}
}

// TestLockedFromReadToCommit: four hierarchies write disjoint bytes of the same
// objects of a folder under zarr-python 2's locks, in C and in Fortran order.
// Conflicts would show that the locks are not held, and it must come to an end.
func TestLockedFromReadToCommit(t *testing.T) {
	dir, locks := t.TempDir(), t.TempDir()
	driver := func() store.Driver {
		d, err := dirstore.Open(dir, &dirstore.Options{NoSync: true, SyncDir: locks})
		must(t, err)
		t.Cleanup(func() { d.Close() })
		return d
	}
	h := writable(t, 3, driver())
	described(t, h, "a", numbers("[16, 16]", "[4, 4]", inFortran))
	commits, reads := 0, 0
	var mu sync.Mutex
	counted := storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(op.Key, "a/c/") {
			switch op.Kind {
			case storetest.OpCommit:
				commits++
			case storetest.OpStage:
				reads++
			}
		}
		return storetest.Fault{}
	})
	var wg sync.WaitGroup
	for w := range 4 {
		a := openArray(t, reopened(t, storetest.Faulty(driver(), counted)), "a")
		if w%2 == 1 {
			a, _ = a.Transposed()
		}
		wg.Go(func() {
			for round := range 6 {
				var all []error
				for i := range 256 {
					x, y := i/16, i%16
					if w%2 == 1 {
						x, y = y, x
					}
					if (x+y)%4 == w {
						_, err := a.WriteAt(t.Context(), []byte{byte(w*10 + round + 1)}, int64(i))
						all = append(all, err)
					}
				}
				if err := errors.Join(append(all, a.Flush(t.Context(), false))...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i, got := range whole(t, openArray(t, reopened(t, driver()), "a")) {
		if expect := byte((i/16+i%16)%4*10 + 6); got != expect {
			t.Fatalf("element %d is %d, expected %d", i, got, expect)
		}
	}
	if commits != 4*6*16 || reads != commits {
		t.Errorf("%d objects staged, %d committed, expected %d of each: no conflicts", reads,
			commits, 4*6*16)
	}
}

// TestChunksBeyondDirtySize: chunks that are larger than what may be dirty in memory
// are encoded once all the same, in whatever order they are written.
func TestChunksBeyondDirtySize(t *testing.T) {
	d := memstore.New()
	writable(t, 3, d)
	h, err := zarrcore.Open(t.Context(), store.New(d, ""),
		&zarrcore.Options{ScratchDir: t.TempDir(), DirtySize: 10})
	must(t, err)
	defer h.Close()
	a := described(t, h, "a", numbers("[1000]", "[200]", plainBytes))
	data := bytes.Repeat(upTo(100), 10)
	for i := range data {
		at := i * 377 % len(data)
		write(t, a, int64(at), data[at:at+1])
	}
	must(t, a.Flush(t.Context(), false))
	if n := h.Status().Write.ChunksEncoded; n != 5 {
		t.Errorf("%d chunks encoded, expected 5", n)
	}
	sameStored(t, d, "a", data)
}

// TestStoredWhileListing: an object may be stored while another goroutine lists the array's
// objects. It is not a hole afterwards, however the array is seen.
func TestStoredWhileListing(t *testing.T) {
	h, k, _ := hooked(t)
	a := described(t, h, "a", numbers("[8, 8]", "[4, 8]", inFortran))
	f, _ := a.Transposed()
	write(t, a, 0, []byte{1})
	must(t, a.Flush(t.Context(), false))
	data := func(a *zarrcore.Array, off int64) {
		t.Helper()
		if start, _, err := a.NextData(t.Context(), off); err != nil || start != off {
			t.Errorf("data from byte %d on, %v; expected from %d on", start, err, off)
		}
	}
	data(f, 0)
	k.once(storetest.OpEntry, "a/c/0", func() error {
		write(t, a, 40, []byte{2})
		return a.Flush(t.Context(), false)
	})
	openArray(t, h, "a")
	data(a, 40)
	data(f, 40)
}

// TestReplacedOnlyByWhatIsStored: an array that could not be stored replaces none.
func TestReplacedOnlyByWhatIsStored(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	b := described(t, h, "b", numbers("[4]", "[4]", plainBytes))
	write(t, b, 0, upTo(4))
	must(t, b.Flush(t.Context(), false))
	write(t, a, 0, []byte{9, 9, 9, 9})
	k.once(storetest.OpStage, "a/c/0", func() error { return syscall.ENOSPC })
	want(t, h.Rename(t.Context(), "a", "b", true), syscall.ENOSPC)
	sameStored(t, d, "b", upTo(4))
	must(t, h.Rename(t.Context(), "a", "b", true))
	sameStored(t, d, "b", []byte{9, 9, 9, 9})
}

// TestOthersChangeAttributes: what another program makes of an array's attributes
// neither hinders a flush nor is undone by it, also while the shape changes.
func TestOthersChangeAttributes(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	other := reopened(t, d)
	for i, when := range []string{"before", "while"} {
		write(t, a, a.Live().Size(), upTo(4))
		change := func() error { return other.SetAttribute(t.Context(), "a", when, []byte("1")) }
		if i == 0 {
			must(t, change())
			if b := openArray(t, h, "a"); b.Size() != 8 {
				t.Errorf("%d bytes, expected what was appended too", b.Size())
			}
		} else {
			k.once(storetest.OpStage, "a/zarr.json", change)
		}
		must(t, a.Flush(t.Context(), false))
	}
	n, err := other.Node(t.Context(), "a")
	must(t, err)
	if !n.Attributes.Get("before").Exists() || !n.Attributes.Get("while").Exists() ||
		n.Meta.Shape[0] != 12 {
		t.Errorf("%s", n.Document)
	}
	sameStored(t, d, "a", append(append(make([]byte, 4), upTo(4)...), upTo(4)...))
}

// TestNoBytes: an array of empty rows is written, cleared, truncated and stored like any other, to
// no effect.
func TestNoBytes(t *testing.T) {
	h, _, _ := hooked(t)
	a := described(t, h, "a", numbers("[3, 0]", "[2, 2]", inFortran))
	write(t, a, 0, nil)
	_, err := a.WriteAt(t.Context(), []byte{1}, 0)
	want(t, err, zarrcore.ErrFixedSize)
	must(t, a.Clear(t.Context(), 0, 1<<40))
	must(t, a.SetSize(t.Context(), 0))
	want(t, a.SetSize(t.Context(), 1), zarrcore.ErrFixedSize)
	must(t, a.Flush(t.Context(), true))
	if f, ok := a.Transposed(); !ok || f.Size() != 0 {
		t.Error("not in Fortran order, or not empty")
	}
	_, err = h.Overwrite(t.Context(), "a", []int64{3, 0}, descr(t, "'|u1'"), true)
	must(t, err)
}

// TestHandlesWithoutReaders: a program that has opened an array, and has not read it yet, still
// has it after it was moved. What is written to an array that cannot be followed is an error.
func TestHandlesWithoutReaders(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a", numbers("[2, 2]", "[2, 2]", inFortran))
	f, _ := a.Transposed()
	must(t, h.Rename(t.Context(), "a", "b", false))
	write(t, f, 0, []byte{1})
	write(t, a, 1, []byte{2})
	must(t, a.SetSize(t.Context(), 6))
	must(t, h.Flush(t.Context(), false))
	sameStored(t, d, "b", []byte{1, 2, 0, 0, 0, 0})
	c := described(t, h, "c", numbers("[2]", "[2]", plainBytes))
	must(t, h.Rename(t.Context(), "c", "d", false))
	must(t, h.Remove(t.Context(), "d"))
	_, err := c.WriteAt(t.Context(), []byte{1}, 0)
	want(t, err, store.ErrConflict)
}

// TestKilledWhileTruncationIsStored: if the process is killed while it stores that rows were
// truncated, those rows do not come back when another lets the array grow again.
func TestKilledWhileTruncationIsStored(t *testing.T) {
	for _, codecs := range []string{plainBytes, inShards} {
		for calls, ended := 0, false; !ended; calls++ {
			mem, k := memstore.New(), &hook{}
			h := writable(t, 3, storetest.Faulty(mem, k))
			a := described(t, h, "a", numbers("[40]", "[4]", codecs))
			write(t, a, 0, upTo(40))
			must(t, a.Flush(t.Context(), false))
			must(t, a.SetSize(t.Context(), 6))
			k.endAfter(calls)
			ended = a.Flush(t.Context(), false) == nil
			b := openArray(t, reopened(t, mem), "a")
			switch size := b.Size(); {
			case size != 6 && size != 40 || ended && size != 6:
				t.Fatalf("after %d calls there are %d rows", calls, size)
			case size == 40: // truncated rows are there or fill
				for i, found := range whole(t, b) {
					if found != byte(i+1) && (i < 6 || found != 0) {
						t.Fatalf("after %d calls row %d is %d", calls, i, found)
					}
				}
				continue
			}
			must(t, b.SetSize(t.Context(), 40))
			must(t, b.Flush(t.Context(), false))
			sameStored(t, mem, "a", append(upTo(6), make([]byte, 34)...))
		}
	}
}

// TestReadThroughPastGeneration: a read that began before the array was truncated or made longer
// sees everything written before it, also what was stored since. What it has cached under the
// number of a past generation is compared with the store. No band of that generation is used any
// more.
func TestReadThroughPastGeneration(t *testing.T) {
	const rows, row = 8, 512 << 10
	for _, c := range []struct {
		name string
		past func(a *zarrcore.Array) error // lets another generation take a's place
	}{
		{"truncate", func(a *zarrcore.Array) error { return a.SetSize(t.Context(), (rows-1)*row) }},
		{"longer", func(a *zarrcore.Array) error { return a.SetSize(t.Context(), (rows+1)*row) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _, _ := hooked(t)
			a := described(t, h, "a",
				numbers(fmt.Sprintf("[%d, %d]", rows, row), fmt.Sprintf("[4, %d]", row/2),
					`{"name": "bytes"}, {"name": "crc32c"}`))
			write(t, a, 0, bytes.Repeat([]byte{1}, rows*row))
			must(t, a.Flush(t.Context(), false))
			a = a.Live()
			r := a.NewReader()
			defer r.Close()
			inOrder := func() (got []byte) { // through bands
				for off := int64(0); off < 4*row; off += row {
					p, err := r.Read(t.Context(), off, row)
					must(t, err)
					got = append(got, slices.Concat(p.Bufs...)...)
					p.Release()
				}
				return got
			}
			write(t, a, 0, []byte{2})
			must(t, c.past(a))
			readAt(t, a, 0, rows*row/2)
			must(t, a.Flush(t.Context(), false))
			if got := readAt(t, a, 0, 2); !bytes.Equal(got, []byte{2, 1}) {
				t.Errorf("read %v, expected the 2 that was written, and the 1 behind it", got)
			}
			if got := inOrder(); got[0] != 2 || got[1] != 1 {
				t.Errorf("read %v in order, expected the 2 that was written, and the 1 behind it",
					got[:2])
			}
			write(t, a, 1, []byte{3})
			must(t, a.Flush(t.Context(), false))
			if got := inOrder(); got[1] != 3 {
				t.Errorf("read %v in order, expected the 3 that was written second", got[:2])
			}
			if got := readAt(t, a, 0, 2); !bytes.Equal(got, []byte{2, 3}) {
				t.Errorf("read %v, expected 2 and 3", got)
			}
		})
	}
}

// afterRemoveAll is a driver that calls then once something was removed, before it says so.
type afterRemoveAll struct {
	store.Writer
	then func()
}

func (d *afterRemoveAll) RemoveAll(ctx context.Context, dir string) error {
	err := d.Writer.RemoveAll(ctx, dir)
	d.then()
	return err
}

// TestRecreatedWhileRemoved: one program removes an array. In that moment another program of the
// same process creates an array in its place. The removed array is open, and has bytes that are not
// stored. The creator gets no error about a removal by another program.
func TestRecreatedWhileRemoved(t *testing.T) {
	d := &afterRemoveAll{Writer: memstore.New(), then: func() {}}
	h := writable(t, 3, d)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	defer a.NewReader().Close()
	write(t, a, 0, upTo(4))
	created := make(chan error)
	d.then = func() {
		go func() {
			_, err := h.CreateArray(t.Context(), "a", []int64{3}, descr(t, "'|u1'"), false)
			created <- err
		}()
		time.Sleep(20 * time.Millisecond) // so that it would be too early, if it did not wait
	}
	must(t, h.Remove(t.Context(), "a"))
	must(t, <-created)
	write(t, openArray(t, h, "a"), 0, []byte{7, 8, 9})
	must(t, h.Flush(t.Context(), true))
	sameStored(t, d.Writer, "a", []byte{7, 8, 9})
	if kept := h.Status().Write.Kept; len(kept) > 0 {
		t.Errorf("what was removed is kept in %q", kept)
	}
}

// TestAppendedBehindWhatIsWritten: a program writes all rows that the last chunk has. It keeps
// those that another program appends to it meanwhile, before the document counts them.
func TestAppendedBehindWhatIsWritten(t *testing.T) {
	for _, codecs := range []string{plainBytes, inShards, plainBytes + `, {"name": "crc32c"}`} {
		h, k, d := hooked(t)
		a := described(t, h, "a", numbers("[5]", "[4]", codecs))
		write(t, a, 0, upTo(5))
		must(t, a.Flush(t.Context(), false))
		other := openArray(t, reopened(t, d), "a")
		write(t, a, 4, []byte{9})
		write(t, other, 5, []byte{6, 7})
		k.once(storetest.OpLock, "a/c/1", func() error { return other.Flush(t.Context(), false) })
		must(t, a.Flush(t.Context(), false))
		sameStored(t, d, "a", []byte{1, 2, 3, 4, 9, 6, 7})
	}
}

// TestCorruptLastChunk: a last chunk that cannot be read is as good as new once all its rows were
// written.
func TestCorruptLastChunk(t *testing.T) {
	for _, codecs := range []string{plainBytes + `, {"name": "crc32c"}`, inShards} {
		h, _, d := hooked(t)
		a := described(t, h, "a", numbers("[5]", "[4]", codecs))
		put(t, d.(store.Writer), "a/c/1", []byte("no chunk"))
		write(t, a, 3, []byte{4, 5})
		must(t, a.Flush(t.Context(), false))
		sameStored(t, d, "a", []byte{0, 0, 0, 4, 5})
	}
}

// TestRenamedAgain: a program that has an array open follows it through any number of renames,
// whether it is used in between or not.
func TestRenamedAgain(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	r := a.NewReader()
	defer r.Close()
	write(t, a, 0, upTo(4))
	for _, n := range []string{"ab", "bc", "cd"} {
		must(t, h.Rename(t.Context(), n[:1], n[1:], false))
	}
	if got := readAt(t, a.Live(), 0, 4); !bytes.Equal(got, upTo(4)) {
		t.Errorf("read %v, expected %v", got, upTo(4))
	}
	if n, err := a.WriteAt(t.Context(), []byte{7}, 0); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	must(t, h.Flush(t.Context(), true))
	sameStored(t, d, "d", []byte{7, 2, 3, 4})
}

// TestRenamedAgainBesideOthers: a handle does not come to show another array that got a name which
// its own once had.
func TestRenamedAgainBesideOthers(t *testing.T) {
	h, _, _ := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, upTo(4))
	r := a.NewReader()
	defer r.Close()
	for _, n := range []string{"ab", "bc", "cd"} {
		must(t, h.Rename(t.Context(), n[:1], n[1:], false))
	}
	for _, n := range []string{"b", "c"} {
		b := described(t, h, n, numbers("[4]", "[4]", plainBytes))
		write(t, b, 0, []byte{9, 9, 9, 9})
		must(t, b.Flush(t.Context(), false))
	}
	if got := readAt(t, a.Live(), 0, 4); !bytes.Equal(got, upTo(4)) {
		t.Errorf("read %v, expected %v", got, upTo(4))
	}
	if _, err := a.WriteAt(t.Context(), []byte{7}, 0); err != nil {
		t.Errorf("write: %v", err)
	}
	must(t, h.Flush(t.Context(), true))
	for n, want := range map[string]byte{"b": 9, "c": 9, "d": 7} {
		if got := readAt(t, openArray(t, h, n), 0, 1); got[0] != want {
			t.Errorf("%s: %v, expected %d", n, got, want)
		}
	}
}

// TestReadWhileRenamed: a read that has begun when its array is renamed finds the elements, and not
// the fill value.
func TestReadWhileRenamed(t *testing.T) {
	h, k, _ := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, upTo(4))
	must(t, a.Flush(t.Context(), false))
	r := a.NewReader()
	defer r.Close()
	k.once(storetest.OpOpen, "a/c/0", func() error {
		return h.Rename(t.Context(), "a", "b", false)
	})
	if got := readAt(t, a.Live(), 0, 4); !bytes.Equal(got, upTo(4)) {
		t.Errorf("read %v, expected %v", got, upTo(4))
	}
}

// TestFortranWrittenAfterResize: the array was resized in C order. Bytes are written through the
// old Fortran-order handle, before anybody asks for the new one. They are not lost.
func TestFortranWrittenAfterResize(t *testing.T) {
	for _, rows := range []int64{6, 2} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			h, _, _ := hooked(t)
			a := described(t, h, "a", numbers("[4, 4]", "[2, 2]", inFortran))
			f, _ := a.Transposed()
			must(t, a.SetSize(t.Context(), rows*4))
			write(t, f, 0, []byte{7})
			g, _ := a.Live().Transposed()
			if got := readAt(t, g, 0, 1); got[0] != 7 {
				t.Errorf("new twin: %v, expected 7", got)
			}
			if got := readAt(t, a.Live(), 0, 1); got[0] != 7 {
				t.Errorf("C order: %v, expected 7", got)
			}
			if err := h.Flush(t.Context(), true); err != nil {
				t.Errorf("flush: %v", err)
			}
			if got := readAt(t, a.Live(), 0, 1); got[0] != 7 {
				t.Errorf("C order after flush: %v, expected 7", got)
			}
		})
	}
}

// TestFortranOfPast: the Fortran order of a past generation is that of the one that counts now,
// and nothing takes the place of that.
func TestFortranOfPast(t *testing.T) {
	h, _, _ := hooked(t)
	a := described(t, h, "a", numbers("[4, 4]", "[2, 2]", inFortran))
	must(t, a.SetSize(t.Context(), 24))
	b := a.Live()
	f, _ := b.Transposed()
	write(t, f, 0, []byte{7})
	a.Transposed() // past
	g, _ := b.Transposed()
	if got := readAt(t, g, 0, 1); got[0] != 7 {
		t.Errorf("twin: %v, expected 7", got)
	}
	if got := readAt(t, b, 0, 1); got[0] != 7 {
		t.Errorf("C order: %v, expected 7", got)
	}
	write(t, g, 1, []byte{8})
	if got := readAt(t, f, 1, 1); got[0] != 8 {
		t.Errorf("first twin: %v, expected 8", got)
	}
	must(t, h.Flush(t.Context(), true))
	if got := readAt(t, g, 0, 1); got[0] != 7 {
		t.Errorf("twin after flush: %v, expected 7", got)
	}
}

// TestWrittenAfterOutsideGrowth: one program opened an array before another program made it
// longer, and one afterwards. They see what each other writes.
func TestWrittenAfterOutsideGrowth(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	r := a.NewReader()
	defer r.Close()
	readAt(t, a, 0, 4)
	other := reopened(t, d)
	o := openArray(t, other, "a")
	must(t, o.SetSize(t.Context(), 8))
	must(t, o.Flush(t.Context(), false))
	b := openArray(t, h, "a")
	readAt(t, b, 0, 4)
	write(t, a, 0, []byte{7}) // through the handle from before
	if got := readAt(t, b.Live(), 0, 1); got[0] != 7 {
		t.Errorf("through the one opened later: %v, expected 7", got)
	}
	must(t, a.Flush(t.Context(), false))
	if got := readAt(t, b.Live(), 0, 1); got[0] != 7 {
		t.Errorf("through the one opened later, flushed: %v, expected 7", got)
	}
	write(t, b, 1, []byte{8})
	if got := readAt(t, a.Live(), 1, 1); got[0] != 8 {
		t.Errorf("through the one opened before: %v, expected 8", got)
	}
	must(t, b.Flush(t.Context(), false))
	if got := readAt(t, a.Live(), 1, 1); got[0] != 8 {
		t.Errorf("through the one opened before, flushed: %v, expected 8", got)
	}
}

// TestOtherWritersDocument: tensorstore writes the whole document again when it makes the array
// longer. It is that of the same array, though its members stand in another order.
func TestOtherWritersDocument(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a",
		numbers("[2]", "[4]",
			`{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 0, `+
				`"checksum": false}}`))
	write(t, a, 0, []byte{1, 2})
	put(t, d.(store.Writer), "a/zarr.json",
		numbers("[3]", "[4]",
			`{"name": "bytes"}, {"configuration": {"checksum": false, "level": 0.0}, `+
				`"name": "zstd"}`))
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", []byte{1, 2, 0})
}
