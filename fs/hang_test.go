package fs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// hangs is an injector that makes operations wait, once it has begun, until it ends. These are all
// operations on keys below some directories, or only those that change something, or read objects.
type hangs struct {
	below   []string
	changes bool
	reads   bool
	begun   atomic.Bool
	ended   chan struct{}
	waiting atomic.Int64
}

// Inject implements storetest.Injector.
func (h *hangs) Inject(op storetest.Op) storetest.Fault {
	if h.changes && op.Kind < storetest.OpStage || h.reads && op.Kind != storetest.OpOpen {
		return storetest.Fault{}
	}
	for _, dir := range h.below {
		if h.begun.Load() && (op.Key == dir || strings.HasPrefix(op.Key, dir+"/")) {
			h.waiting.Add(1)
			<-h.ended
		}
	}
	return storetest.Fault{}
}

// await waits until something waits for the store, and for some time no more begins to.
func (h *hangs) await() {
	for before := int64(-1); h.waiting.Load() != before ||
		before == 0; time.Sleep(100 * time.Millisecond) {
		before = h.waiting.Load()
	}
}

const hangBytes = 4 << 20 // of an array that is read in order, by bands

// hangingMount returns a mount of a store with the same arrays in the root and in the group "g",
// where those may hang.
func hangingMount(t *testing.T, in *hangs) (dir string) {
	t.Helper()
	s := store.New(storetest.Faulty(memstore.New(), in), "test")
	put := func(key string, data []byte) {
		if err := s.Put(context.Background(), key, data); err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range []string{"", "g/"} {
		put(group+"zarr.json", []byte(groupDoc))
		for _, array := range []string{"a", "new"} {
			put(group+array+"/zarr.json", fmt.Appendf(nil, arrayDoc, "64, 65536", "uint8",
				"1, 65536", `{"name": "bytes"}`))
			for i := range hangBytes >> 16 {
				put(fmt.Sprintf("%s%s/c/%d/0", group, array, i),
					bytes.Repeat([]byte{byte(i)}, 1<<16))
			}
		}
		for key, data := range stringObjects() {
			if strings.HasPrefix(key, "s/") {
				put(group+key, []byte(data))
			}
		}
	}
	return mounted(t, s)
}

// users are what programs do with the arrays at dir, all at once.
func users(dir string) map[string]func() error {
	at := func(name string) string { return filepath.Join(dir, name) }
	return map[string]func() error{
		"read in order": func() error {
			got, err := os.ReadFile(at("a.raw"))
			if err == nil && len(got) != hangBytes {
				err = fmt.Errorf("%d bytes", len(got))
			}
			return err
		},
		"read at random": func() error { return readAtOf(at("a.npy"), 3<<20) },
		"write": func() error {
			return changed(at("a.raw"), os.O_WRONLY, func(f *os.File) error {
				_, err := f.WriteAt([]byte("hello"), 77)
				return err
			})
		},
		"edit":         func() error { return edit(at("a.json")) },
		"edit as well": func() error { return edit(at("a.json")) },
		"append a line": func() error {
			return changed(at("s.jsonl"), os.O_WRONLY|os.O_APPEND, func(f *os.File) error {
				_, err := f.WriteString("\"more\"\n")
				return err
			})
		},
		"stat": func() error { _, err := os.Stat(at("a.npy")); return err },
		"see":  func() error { return readAtOf(at("a.png"), 0) },
		"create": func() error {
			if err := os.WriteFile(at("made.npy"), newNpy(), 0o666); err != nil {
				return err
			}
			return os.Remove(at("made.npy"))
		},
	}
}

func readAtOf(name string, off int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(make([]byte, 100), off)
	return err
}

// sizesIn lists a folder with the sizes of its files, as ls -l does.
func sizesIn(dir string) (map[string]int64, error) {
	entries, err := os.ReadDir(dir)
	sizes := make(map[string]int64)
	for _, e := range entries {
		info, failed := e.Info()
		if err = cmp.Or(err, failed); err != nil {
			return nil, err
		}
		sizes[e.Name()] = info.Size()
	}
	return sizes, err
}

func openedFile(t *testing.T, name string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// changed opens a file, changes it, and makes sure that this is stored.
func changed(name string, flags int, do func(f *os.File) error) error {
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return err
	}
	if err = do(f); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// edits counts what edit has written, which is something else each time.
var (
	edits atomic.Int64
	units = regexp.MustCompile(`"units": *"[^"]*"`)
)

// edited returns a document with another attribute.
func edited(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	return units.ReplaceAll(text, fmt.Appendf(nil, `"units": "%04d"`, edits.Add(1))), err
}

func edit(name string) error {
	text, err := edited(name)
	if err != nil {
		return err
	}
	return changed(name, os.O_WRONLY|os.O_TRUNC, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}

// newNpy is a .npy file of numbers.
func newNpy() []byte {
	head := "{'descr': '|u1', 'fortran_order': False, 'shape': (100,), }"
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return append(append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"),
		uint16(len(head))), head...), make([]byte, 100)...)
}

// TestStoreHangsOnOneArray: while the store hangs on the arrays of one group, all other arrays go
// on, whatever programs do with the former. So does all that concerns the mount. When the store
// goes on, the programs do.
func TestStoreHangsOnOneArray(t *testing.T) {
	t.Run("all", func(t *testing.T) { hangOnOneArray(t, false) })
	t.Run("changes", func(t *testing.T) { hangOnOneArray(t, true) })
}

func hangOnOneArray(t *testing.T, changes bool) {
	in := &hangs{below: []string{"g/a", "g/new", "g/s", "g/made"}, changes: changes,
		ended: make(chan struct{})}
	dir := hangingMount(t, in)
	// what they use is open, cached and known
	for name, do := range users(filepath.Join(dir, "g")) {
		if err := do(); err != nil {
			t.Fatalf("%s, before the store hangs: %v", name, err)
		}
	}
	array := openedFile(t, filepath.Join(dir, "g", "new.raw"), os.O_RDONLY)
	first := openedFile(t, filepath.Join(dir, "g", "a.json"), os.O_WRONLY)
	text, err := edited(filepath.Join(dir, "g", "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	var hung sync.WaitGroup
	in.begun.Store(true)
	hung.Go(func() {
		first.Write(text)
		first.Close() // the document is stored now
	})
	in.await()
	for name, do := range users(filepath.Join(dir, "g")) {
		hung.Go(func() {
			if err := do(); err != nil {
				t.Errorf("%s, when the store goes on: %v", name, err)
			}
		})
	}
	hung.Go(func() { // all who decode ahead of it wait for the store
		if _, err := io.ReadFull(array, make([]byte, hangBytes)); err != nil {
			t.Error(err)
		}
		array.Close()
	})
	in.await()
	others := users(dir)
	others["read what is new in order"] = func() error {
		got, err := os.ReadFile(filepath.Join(dir, "new.raw"))
		if err == nil && len(got) != hangBytes {
			err = fmt.Errorf("%d bytes", len(got))
		}
		return err
	}
	others["list"] = func() error { _, err := os.ReadDir(dir); return err }
	others["status"] = func() error {
		_, err := os.ReadFile(filepath.Join(dir, ".zarrfs", "status.json"))
		return err
	}
	others["rename"] = func() error {
		name := filepath.Join(dir, "one.npy")
		if err := os.WriteFile(name, newNpy(), 0o666); err != nil {
			return err
		}
		if err := os.Rename(name, filepath.Join(dir, "other.npy")); err != nil {
			return err
		}
		return os.Remove(filepath.Join(dir, "other.npy"))
	}
	goOn(t, in, others)
	hung.Wait()
}

// goOn does all of this at once while the store hangs. None of it may hang, too. Then the store
// goes on.
func goOn(t *testing.T, in *hangs, all map[string]func() error) {
	t.Helper()
	var undone sync.Map
	var rest sync.WaitGroup
	for name, do := range all {
		undone.Store(name, true)
		rest.Go(func() {
			if err := do(); err != nil {
				t.Errorf("%s, while the store hangs elsewhere: %v", name, err)
			}
			undone.Delete(name)
		})
	}
	done := make(chan struct{})
	go func() { rest.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		undone.Range(func(name, _ any) bool { t.Errorf("%s hangs as well", name); return true })
	}
	close(in.ended)
	<-done
}

// TestStoreHangsOnRename: the store hangs while an array is renamed. Arrays are created and removed
// in other folders, also in the one above. (In its own folder the kernel lets nobody do so.)
func TestStoreHangsOnRename(t *testing.T) {
	in := &hangs{below: []string{"g/a"}, changes: true, ended: make(chan struct{})}
	dir := hangingMount(t, in)
	in.begun.Store(true)
	var hung sync.WaitGroup
	hung.Go(func() {
		err := os.Rename(filepath.Join(dir, "g", "a.npy"), filepath.Join(dir, "g", "moved.npy"))
		if err != nil {
			t.Errorf("when the store goes on: %v", err)
		}
	})
	in.await()
	others := users(dir)
	goOn(t, in, map[string]func() error{"create": others["create"], "write": others["write"]})
	hung.Wait()
}

// TestStoreHangsOnDocument: the store hangs on a document that a program has written. The folder is
// listed with the attributes of all files, and what was written shows its size.
func TestStoreHangsOnDocument(t *testing.T) {
	in := &hangs{below: []string{"g/a"}, changes: true, ended: make(chan struct{})}
	group := filepath.Join(hangingMount(t, in), "g")
	name := filepath.Join(group, "a.json")
	text, err := edited(name)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "      "...)
	f := openedFile(t, name, os.O_WRONLY|os.O_TRUNC)
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	in.begun.Store(true)
	var hung sync.WaitGroup
	hung.Go(func() {
		if err := f.Close(); err != nil {
			t.Errorf("when the store goes on: %v", err)
		}
	})
	in.await()
	goOn(t, in, map[string]func() error{"ls -l": func() error {
		sizes, err := sizesIn(group)
		if found := sizes["a.json"]; err == nil && found != int64(len(text)) {
			err = fmt.Errorf("a.json has %d bytes, expected %d", found, len(text))
		}
		return err
	}})
	hung.Wait()
}

// TestStoreHangsOnHeader: the store hangs on an array that the header of a .npy makes, or
// recreates. The folder is listed with the attributes of all files.
func TestStoreHangsOnHeader(t *testing.T) {
	for _, array := range []string{"a", "made"} {
		t.Run(array, func(t *testing.T) {
			in := &hangs{below: []string{"g/" + array}, changes: true, ended: make(chan struct{})}
			group := filepath.Join(hangingMount(t, in), "g")
			in.begun.Store(true)
			var hung sync.WaitGroup
			hung.Go(func() {
				err := os.WriteFile(filepath.Join(group, array+".npy"), newNpy(), 0o666)
				if err != nil {
					t.Errorf("when the store goes on: %v", err)
				}
			})
			in.await()
			goOn(t, in, map[string]func() error{"ls -l": func() error {
				_, err := sizesIn(group)
				return err
			}})
			hung.Wait()
		})
	}
}

// TestStoreHangsOnCopyOfView: a file came before its array, and the store hangs on the array. The
// status is shown, which says what is left of such files.
func TestStoreHangsOnCopyOfView(t *testing.T) {
	in := &hangs{below: []string{"g/late"}, ended: make(chan struct{})}
	s := memstore.New()
	put := func(key, doc string) {
		if err := store.New(s, "").Put(t.Context(), key, []byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	put("zarr.json", groupDoc)
	put("g/zarr.json", groupDoc)
	dir := mounted(t, store.New(storetest.Faulty(s, in), "test"))
	if err := os.WriteFile(filepath.Join(dir, "g", "late.h5"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	put("g/late/zarr.json", fmt.Sprintf(arrayDoc, "64, 64", "uint8", "64, 64", `{"name": "bytes"}`))
	in.begun.Store(true)
	goOn(t, in, map[string]func() error{"status": func() error {
		text, err := os.ReadFile(filepath.Join(dir, ".zarrfs", "status.json"))
		if err == nil && !bytes.Contains(text, []byte("late.h5")) {
			err = fmt.Errorf("late.h5 is not in %s", text)
		}
		return err
	}})
	if in.waiting.Load() == 0 {
		t.Error("the store was not asked")
	}
}

// TestStoreHangsOnPictures: the store hangs on a chunk of several pictures, and others are drawn.
func TestStoreHangsOnPictures(t *testing.T) {
	in := &hangs{below: []string{"g/a/c"}, reads: true, ended: make(chan struct{})}
	dir := hangingMount(t, in)
	in.begun.Store(true)
	var hung sync.WaitGroup
	for i := range 4 {
		hung.Go(func() {
			part := fmt.Sprintf("a@{0=%d:}.png", i)
			if err := readAtOf(filepath.Join(dir, "g", part), 0); err != nil {
				t.Errorf("when the store goes on: %v", err)
			}
		})
	}
	in.await()
	goOn(t, in, map[string]func() error{
		"see": func() error { return readAtOf(filepath.Join(dir, "a.png"), 0) },
	})
	hung.Wait()
}

// TestStoreHangsOnCoordinates: the header of b.nrrd says what the array of coordinates says, on
// which the store hangs. Programs that have b.nrrd open go on. So do those that change the array.
func TestStoreHangsOnCoordinates(t *testing.T) {
	const rows, row = 64, 4096
	s, in := memstore.New(), &hangs{below: []string{"c"}, ended: make(chan struct{})}
	put := func(key, doc string) {
		if err := store.New(s, "").Put(t.Context(), key, []byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	put("zarr.json", groupDoc)
	array := func(shape, chunks, axes string) string {
		doc := fmt.Sprintf(arrayDoc, shape, "uint8", chunks, `{"name": "bytes"}`)
		return strings.Replace(doc, `"y", "x"`, axes, 1)
	}
	put("b/zarr.json", array("64, 4096", "1, 4096", `"c", "x"`))
	put("c/zarr.json", array("64", "64", `"c"`))
	put("c/c/0", string(make([]byte, rows)))
	dir := mounted(t, store.New(storetest.Faulty(s, in), "test"))
	nrrd := openedFile(t, filepath.Join(dir, "b.nrrd"), os.O_RDONLY)
	defer nrrd.Close()
	before, err := io.ReadAll(nrrd)
	if err != nil || len(before) < rows*row {
		t.Fatalf("%d bytes, %v", len(before), err)
	}
	time.Sleep(1100 * time.Millisecond) // what was known of the axes is asked for again
	in.begun.Store(true)
	raw := openedFile(t, filepath.Join(dir, "b.raw"), os.O_RDWR)
	defer raw.Close()
	goOn(t, in, map[string]func() error{"all": func() error {
		if _, err := raw.WriteAt([]byte("hello"), 10*row); err != nil {
			return err
		}
		found := make([]byte, 5)
		if _, err := nrrd.ReadAt(found, int64(len(before)-(rows-10)*row)); err != nil {
			return err
		}
		if string(found) != "hello" {
			return fmt.Errorf("b.nrrd has %q", found)
		}
		if err := raw.Truncate(20 * row); err != nil {
			return err
		}
		_, err := nrrd.Stat()
		return cmp.Or(err, raw.Sync())
	}})
	after, err := os.ReadFile(filepath.Join(dir, "b.nrrd"))
	if err != nil || !bytes.HasSuffix(after, append([]byte("hello"), make([]byte, 10*row-5)...)) {
		t.Errorf("b.nrrd has %d bytes, %v", len(after), err)
	}
}

// TestRenamedOntoArrayJustMade renames a file to the .npy of an array that another program makes in
// the store at that moment. The file becomes its content.
func TestRenamedOntoArrayJustMade(t *testing.T) {
	other := memstore.New()
	put := func(key, doc string) {
		err := store.New(other, "other").Put(context.Background(), key, []byte(doc))
		if err != nil {
			t.Error(err)
		}
	}
	put("zarr.json", groupDoc)
	var armed atomic.Bool
	meanwhile := storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		if op.Kind == storetest.OpStage && op.Key == "n/zarr.json" && armed.Swap(false) {
			put("n/zarr.json", fmt.Sprintf(arrayDoc, "100", "uint8", "10", `{"name": "bytes"}`))
		}
		return storetest.Fault{}
	})
	dir := mounted(t, store.New(storetest.Faulty(other, meanwhile), "test"))
	tmp, npy := filepath.Join(dir, ".n.npy.tmp"), newNpy()
	npy[len(npy)-1] = 7
	if err := os.WriteFile(tmp, npy, 0o666); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	if err := os.Rename(tmp, filepath.Join(dir, "n.npy")); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "n.npy"))
	if !bytes.Equal(got, npy) || armed.Load() {
		t.Errorf("found %q, %v; raced: %t", got, err, !armed.Load())
	}
}
