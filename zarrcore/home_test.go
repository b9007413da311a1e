package zarrcore_test

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file is about other programs that rename or remove an array, or a group above it, just while
// the array is stored.

// overturned is a hierarchy in memory with the array g/a, and the store as another program has it.
// Each of the four chunks of the array is partly dirty.
func overturned(
	t *testing.T,
) (h *zarrcore.Hierarchy, k *hook, other *store.Store, a *zarrcore.Array) {
	t.Helper()
	return overturnedIn(t, memstore.New())
}

// overturnedIn is overturned in a store of that driver.
func overturnedIn(t *testing.T, d store.Driver) (
	h *zarrcore.Hierarchy, k *hook, other *store.Store, a *zarrcore.Array,
) {
	t.Helper()
	k = &hook{}
	h = writable(t, 3, storetest.Faulty(d, k))
	must(t, h.CreateGroup(t.Context(), "g"))
	a = described(t, h, "g/a", numbers("[16]", "[4]", plainBytes))
	for _, off := range []int64{0, 4, 8, 12} {
		write(t, a, off, []byte{1, 2, 3})
	}
	return h, k, store.New(d, "other"), a
}

// writtenThere is what overturned writes.
var writtenThere = bytes.Repeat([]byte{1, 2, 3, 0}, 4)

// TestStoredWhereTheArrayIs: an array that is renamed while it is stored takes all of it along.
// Nothing is made again under its old name, and an array that has that name by then is left alone.
func TestStoredWhereTheArrayIs(t *testing.T) {
	for _, kind := range []storetest.OpKind{storetest.OpOpen, storetest.OpStage, storetest.OpSync,
		storetest.OpCommit} {
		for _, rename := range [][2]string{{"g/a", "g/b"}, {"g", "h"}} {
			h, k, other, a := overturned(t)
			k.once(kind, "g/a/c/2", func() error {
				return other.Dirs().Rename(t.Context(), rename[0], rename[1])
			})
			must(t, a.Flush(t.Context(), true))
			if _, err := other.Stat(t.Context(), rename[0]); !errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("renamed at operation %d: %q is there again: %v", kind, rename[0], err)
			}
			at := map[string]string{"g/a": "g/b", "g": "h/a"}[rename[0]]
			if got := whole(t, openArray(t, h, at)); !bytes.Equal(got, writtenThere) {
				t.Errorf("renamed at operation %d: %v, expected %v", kind, got, writtenThere)
			}
		}
	}
}

// TestRowsStoredWhereTheArrayIs: so does its new length.
func TestRowsStoredWhereTheArrayIs(t *testing.T) {
	h, k, other, a := overturned(t)
	write(t, a, 16, []byte{4, 5, 6})
	k.once(storetest.OpCommit, "g/a/c/2", func() error {
		return other.Dirs().Rename(t.Context(), "g/a", "g/b")
	})
	must(t, a.Flush(t.Context(), true))
	if got := whole(t, openArray(t, h, "g/b")); !bytes.Equal(got,
		append(bytes.Clone(writtenThere), 4, 5, 6)) {
		t.Errorf("%v", got)
	}
	if _, err := other.Stat(t.Context(), "g/a"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("it is there again: %v", err)
	}
}

// TestRemovedWhileStored: an array is removed while it is stored. Neither the array nor its chunks
// are there again, and each written byte is kept.
func TestRemovedWhileStored(t *testing.T) {
	removals := map[string]func(other *store.Store) error{
		"all": func(other *store.Store) error {
			return other.Dirs().RemoveAll(t.Context(), "g/a")
		},
		"its document": func(other *store.Store) error {
			return other.Delete(t.Context(), "g/a/zarr.json", store.If{})
		},
		"its group": func(other *store.Store) error {
			return other.Dirs().RemoveAll(t.Context(), "g")
		},
	}
	for name, remove := range removals {
		for _, kind := range []storetest.OpKind{storetest.OpStage, storetest.OpCommit} {
			h, k, other, a := overturned(t)
			k.once(kind, "g/a/c/2", func() error { return remove(other) })
			want(t, a.Flush(t.Context(), true), store.ErrConflict)
			if _, err := other.Stat(t.Context(), "g/a"); !errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("%s removed at operation %d: something is there again: %v", name, kind,
					err)
			}
			files, err := h.Rescue(t.TempDir())
			must(t, err)
			got, err := os.ReadFile(files[0])
			must(t, err)
			if !bytes.Equal(got, writtenThere) {
				t.Errorf("%s removed at operation %d: kept is %v, expected %v", name, kind, got,
					writtenThere)
			}
		}
	}
}

// TestDocumentAsideWhileStored: the document of an array is put aside while the array is stored, as
// some editors do. When the document is back, so are the bytes stored before and the bytes written
// since.
func TestDocumentAsideWhileStored(t *testing.T) {
	for _, kind := range []storetest.OpKind{storetest.OpStage, storetest.OpSync,
		storetest.OpCommit} {
		_, k, other, a := overturned(t)
		write(t, a, 0, bytes.Repeat([]byte{7}, 12)) // the last chunk is stored the first time
		must(t, a.Flush(t.Context(), true))
		must(t, other.Delete(t.Context(), "g/a/c/3", store.If{}))
		for _, off := range []int64{1, 5, 9, 13} {
			write(t, a, off, []byte{8})
		}
		doc, _, err := other.ReadAll(t.Context(), "g/a/zarr.json", 1<<20)
		must(t, err)
		k.once(kind, "g/a/c/2", func() error {
			return other.Delete(t.Context(), "g/a/zarr.json", store.If{})
		})
		want(t, a.Flush(t.Context(), true), store.ErrConflict)
		if _, err := other.Stat(t.Context(), "g/a/c/3"); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("operation %d: an object is left that was not there before: %v", kind, err)
		}
		must(t, other.Put(t.Context(), "g/a/zarr.json", doc))
		must(t, a.Flush(t.Context(), true))
		expected := []byte{7, 8, 7, 7, 7, 8, 7, 7, 7, 8, 7, 7, 0, 8, 0, 0}
		if got := whole(t, a); !bytes.Equal(got, expected) {
			t.Errorf("operation %d: %v, expected %v", kind, got, expected)
		}
	}
}

// TestOverwrittenWhileRenamed: an array is renamed while another one is made in its place, and a
// third one gets its name. The third one stays as it is.
func TestOverwrittenWhileRenamed(t *testing.T) {
	for _, op := range []struct {
		kind storetest.OpKind
		key  string
	}{{storetest.OpDelete, "g/a/c/0"}, {storetest.OpDelete, "g/a/c/2"},
		{storetest.OpCommit, "g/a/zarr.json"}} {
		d, err := dirstore.Open(t.TempDir(), nil)
		must(t, err)
		h, k, other, a := overturnedIn(t, d)
		must(t, a.Flush(t.Context(), true))
		c := described(t, h, "g/c", numbers("[16]", "[4]", plainBytes))
		third := bytes.Repeat([]byte{9}, 16)
		write(t, c, 0, third)
		must(t, c.Flush(t.Context(), true))
		k.once(op.kind, op.key, func() error {
			must(t, other.Dirs().Rename(t.Context(), "g/a", "g/b"))
			return other.Dirs().Rename(t.Context(), "g/c", "g/a")
		})
		_, err = h.Overwrite(t.Context(), "g/a", []int64{4}, descr(t, "'<f8'"), false)
		want(t, err, store.ErrConflict)
		if got := whole(t, openArray(t, h, "g/a")); !bytes.Equal(got, third) {
			t.Errorf("renamed at operation %d of %s: the third array is %v", op.kind, op.key, got)
		}
		if got := openArray(t, h, "g/b").Meta().Shape; !slices.Equal(got, []int64{4}) {
			t.Errorf("renamed at operation %d of %s: the shape is %v", op.kind, op.key, got)
		}
		write(t, a, 0, []byte{1}) // by a handle of the array that was overwritten
		a.Flush(t.Context(), true)
		if got := whole(t, openArray(t, h, "g/a")); !bytes.Equal(got, third) {
			t.Errorf("written to what was at its place: the third array is %v", got)
		}
	}
}

// TestOpenReaderBesideOthers: another program renames, removes, replaces or truncates an array that
// is open here. What is not there any more is an error, and not the fill value.
func TestOpenReaderBesideOthers(t *testing.T) {
	document := func(rows string) []byte { return numbers(rows, "[4]", plainBytes) }
	for name, change := range map[string]func(other *store.Store) error{
		"renamed": func(other *store.Store) error {
			return other.Dirs().Rename(t.Context(), "g/a", "g/b")
		},
		"its group renamed": func(other *store.Store) error {
			return other.Dirs().Rename(t.Context(), "g", "h")
		},
		"removed": func(other *store.Store) error {
			return other.Dirs().RemoveAll(t.Context(), "g/a")
		},
		"replaced": func(other *store.Store) error {
			must(t, other.Dirs().Rename(t.Context(), "g/a", "g/b"))
			return other.Put(t.Context(), "g/a/zarr.json", document("[16]"))
		},
		"truncated": func(other *store.Store) error {
			must(t, other.Delete(t.Context(), "g/a/c/2", store.If{}))
			must(t, other.Delete(t.Context(), "g/a/c/3", store.If{}))
			return other.Put(t.Context(), "g/a/zarr.json", document("[8]"))
		},
	} {
		d, err := dirstore.Open(t.TempDir(), nil)
		must(t, err)
		_, _, other, a := overturnedIn(t, d)
		must(t, a.Flush(t.Context(), true))
		must(t, other.Delete(t.Context(), "g/a/c/0", store.If{}))
		must(t, other.Delete(t.Context(), "g/a/c/1", store.If{}))
		a.Watch().Forget()
		if _, err := a.ReadAt(t.Context(), make([]byte, 4), 4); err != nil {
			t.Errorf("an object that is not stored: %v", err)
		}
		must(t, change(other))
		_, err = a.ReadAt(t.Context(), make([]byte, 4), 0) // rows that are there, if any are
		if is := errors.Is(err, store.ErrConflict); is == (name == "truncated") {
			t.Errorf("%s: of a row that is not stored: error %v", name, err)
		}
		_, err = a.ReadAt(t.Context(), make([]byte, 4), 12)
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: error %v, expected %v", name, err, store.ErrConflict)
		}
	}
}

// TestCreatedInRenamedGroup: what is created in a group that is renamed, or removed, at that moment
// makes no group of that name again.
func TestCreatedInRenamedGroup(t *testing.T) {
	for name, change := range map[string]func(other *store.Store) error{
		"renamed": func(other *store.Store) error {
			return other.Dirs().Rename(t.Context(), "g", "h")
		},
		"removed": func(other *store.Store) error {
			return other.Dirs().RemoveAll(t.Context(), "g")
		},
	} {
		for _, kind := range []storetest.OpKind{storetest.OpStage, storetest.OpSync,
			storetest.OpCommit} {
			h, k, other, _ := overturned(t)
			k.once(kind, "g/new/zarr.json", func() error { return change(other) })
			_, err := h.CreateArray(t.Context(), "g/new", []int64{4}, descr(t, "'<i4'"), false)
			want(t, err, iofs.ErrNotExist)
			if _, err := other.Stat(t.Context(), "g"); !errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("%s at operation %d: the group is there again: %v", name, kind, err)
			}
		}
	}
}

// TestFailedCreateLeavesNothing: where a node cannot be stored nothing of it is there, and it can
// be created again.
func TestFailedCreateLeavesNothing(t *testing.T) {
	for _, format := range []int{2, 3} {
		for _, kind := range []storetest.OpKind{storetest.OpStage, storetest.OpSync,
			storetest.OpCommit} {
			k := &hook{}
			h := writable(t, format, storetest.Faulty(memstore.New(), k))
			name := map[int]string{2: ".zarray", 3: "zarr.json"}[format]
			k.once(kind, "a/"+name, func() error { return errFull })
			_, err := h.CreateArray(t.Context(), "a", []int64{4}, descr(t, "'<i4'"), false)
			want(t, err, errFull)
			if _, err := h.Node(t.Context(), "a"); !errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("format %d, operation %d: something is left: %v", format, kind, err)
			}
			_, err = h.CreateArray(t.Context(), "a", []int64{4}, descr(t, "'<i4'"), false)
			must(t, err)
		}
	}
}

var errFull = errors.New("no room")

// TestEmptyFolderBecomesArray: a directory that holds nothing, as a killed program leaves it, does
// not stand against a new array.
func TestEmptyFolderBecomesArray(t *testing.T) {
	dir := t.TempDir()
	d, err := dirstore.Open(dir, nil)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	h := writable(t, 3, d)
	must(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o777))
	must(t, os.MkdirAll(filepath.Join(dir, "full/sub"), 0o777))
	_, err = h.CreateArray(t.Context(), "empty", []int64{4}, descr(t, "'<i4'"), false)
	must(t, err)
	_, err = h.CreateArray(t.Context(), "full", []int64{4}, descr(t, "'<i4'"), false)
	want(t, err, iofs.ErrExist)
}

// TestCreatedAtOnce: a program that looks at the store all the time never sees half of a node.
func TestCreatedAtOnce(t *testing.T) {
	dir := t.TempDir()
	d, err := dirstore.Open(dir, nil)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	h := writable(t, 2, d)
	var now atomic.Int64
	var seen int
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := now.Load(); n < 200; n = now.Load() {
			if entries, err := os.ReadDir(filepath.Join(dir, fmt.Sprint("a", n))); err == nil {
				seen++
				if len(entries) < 2 { // .zattrs and .zarray
					t.Errorf("there is half of a node: %v", entries)
				}
			}
		}
	})
	for n := range int64(200) {
		must(t, h.CreateFromDocument(t.Context(), fmt.Sprint("a", n), []byte(`{"zarr_format": 2,
			"shape": [4], "chunks": [4], "dtype": "|u1",
			"fill_value": 0, "order": "C", "compressor": null, "filters": null,
			"attributes": {"units": "K"}}`)))
		now.Store(n + 1)
	}
	wg.Wait()
	t.Logf("looked at new nodes %d times", seen)
}
