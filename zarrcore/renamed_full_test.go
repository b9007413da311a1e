package zarrcore_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file is about arrays that are renamed while there is no room in the store for what was
// written to them.

// eachKind runs a test on a folder and on a store in memory. Only the folder tells directories
// apart.
func eachKind(t *testing.T, test func(t *testing.T, d store.Driver)) {
	t.Run("folder", func(t *testing.T) {
		d, err := dirstore.Open(t.TempDir(), nil)
		must(t, err)
		t.Cleanup(func() { d.Close() })
		test(t, d)
	})
	t.Run("memory", func(t *testing.T) { test(t, memstore.New()) })
}

// TestOpenedLateOnAFullDisk: an array is opened and written to just while its group is renamed, and
// there is no room for what was written. No flush succeeds without it. Once there is room, it is
// stored, and what is written later is newer.
func TestOpenedLateOnAFullDisk(t *testing.T) {
	eachKind(t, func(t *testing.T, d store.Driver) {
		k := &hook{}
		h := writable(t, 3, storetest.Faulty(d, k))
		late := openLate(t, h, k, func() error { return h.Rename(t.Context(), "g", "h", false) })
		for range 2 {
			want(t, late.Flush(t.Context(), false), syscall.ENOSPC)
		}
		if b, err := h.OpenArray(t.Context(), latest("h")); err == nil {
			want(t, b.Flush(t.Context(), false), syscall.ENOSPC)
		}
		k.set(nil)
		must(t, late.Flush(t.Context(), false))
		b := openArray(t, h, latest("h"))
		write(t, b, 1, []byte{9})
		write(t, late, 2, []byte{8})
		must(t, b.Flush(t.Context(), false))
		must(t, late.Flush(t.Context(), false))
		must(t, h.Flush(t.Context(), false))
		for _, reader := range []*zarrcore.Hierarchy{h, reopened(t, d)} {
			if got := whole(t, openArray(t, reader, latest("h"))); !bytes.Equal(got,
				[]byte{1, 9, 8, 0}) {
				t.Errorf("%v, expected %v", got, []byte{1, 9, 8, 0})
			}
		}
	})
}

// TestRenamedByOthersOnAFullDisk: an array has bytes that cannot be stored, and another program
// renames it. A program that opens it by its new name is refused, and no flush of the first program
// succeeds without those bytes. Once there is room, they are stored before what is written later.
func TestRenamedByOthersOnAFullDisk(t *testing.T) {
	r := newRenamedFull(t)
	r.set(func(op storetest.Op) error {
		if op.Kind == storetest.OpStage {
			return syscall.ENOSPC
		}
		return nil
	})
	for range 2 {
		_, err := r.OpenArray(t.Context(), "h/a")
		want(t, err, syscall.ENOSPC)
		if err := r.a.Flush(t.Context(), false); err == nil {
			t.Fatal("a flush succeeds without the bytes")
		}
	}
	r.set(nil)
	b := openArray(t, r.Hierarchy, "h/a")
	write(t, b, 1, []byte{9})
	must(t, r.a.Flush(t.Context(), false))
	must(t, r.Flush(t.Context(), false))
	r.wantStored(t, "h/a", 1, 9, 3, 0)
}

// TestRenamedWhileOpened: an array has bytes that cannot be stored yet. Another program renames its
// group away while a program opens the array by the new name, and back later. What was written by
// the old name is stored before what is written then.
func TestRenamedWhileOpened(t *testing.T) {
	document := storetest.Op{Kind: storetest.OpOpen, Key: "h/a/zarr.json"}
	tests := []struct {
		name    string
		renames [][2]string  // they are undone later
		at      storetest.Op // when they are done
		undo    storetest.Op // when they are undone
	}{
		{"found", [][2]string{{"h", "g"}}, storetest.Op{Kind: storetest.OpRead, Key: document.Key},
			document},
		{"to be stored", [][2]string{{"h", "y"}}, storetest.Op{Kind: storetest.OpHold, Key: "h/a"},
			storetest.Op{Kind: storetest.OpOpen, Key: "zarr.json"}},
		{"to be stored, another is there", [][2]string{{"h", "x"}, {"twin", "h"}},
			storetest.Op{Kind: storetest.OpHold, Key: "h/a"},
			storetest.Op{Kind: storetest.OpStat, Key: document.Key}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRenamedFull(t)
			must(t, r.CreateGroup(t.Context(), "twin"))
			described(t, r.Hierarchy, "twin/a", numbers("[4]", "[4]", plainBytes))
			done, undone := false, false
			r.set(func(op storetest.Op) error {
				is := func(o storetest.Op) bool { return op.Kind == o.Kind && op.Key == o.Key }
				switch {
				case !done && is(test.at):
					done = true
					for _, names := range test.renames {
						r.rename(t, names[0], names[1])
					}
				case done && !undone && is(test.undo):
					undone = true
					for _, names := range slices.Backward(test.renames) {
						r.rename(t, names[1], names[0])
					}
				}
				return nil
			})
			b := openArray(t, r.Hierarchy, "h/a")
			r.set(nil)
			if !undone {
				t.Fatal("the renames were not done and undone")
			}
			write(t, b, 0, []byte{9})
			must(t, b.Flush(t.Context(), false))
			r.rename(t, "h", "g")
			r.a.Flush(t.Context(), false)
			r.Flush(t.Context(), false)
			r.wantStored(t, "g/a", 9, 2, 3, 0)
		})
	}
}

// TestOpenedTwiceWhileRenamed: another program renames a group to and fro while a program opens an
// array in it. Meanwhile another one opens the array by the other name, and writes to it. The two
// have one array: what is written later is stored later.
func TestOpenedTwiceWhileRenamed(t *testing.T) {
	r := newRenamedFull(t)
	r.rename(t, "h", "g")
	must(t, r.Flush(t.Context(), false))
	h := writable(t, 3, storetest.Faulty(r.d, &r.hook))
	reads := 0
	r.set(func(op storetest.Op) error {
		if op.Kind != storetest.OpRead || op.Key != "g/a/zarr.json" {
			return nil
		}
		if reads++; reads == 2 { // the array was found, and is now opened
			r.rename(t, "g", "h")
			write(t, openArray(t, h, "h/a"), 0, []byte{8, 7})
			r.rename(t, "h", "g")
		}
		return nil
	})
	a := openArray(t, h, "g/a")
	r.set(nil)
	if reads < 2 {
		t.Fatal("nothing was renamed")
	}
	write(t, a, 0, []byte{9})
	must(t, a.Flush(t.Context(), false))
	r.rename(t, "g", "h")
	must(t, h.Flush(t.Context(), false))
	r.wantStored(t, "h/a", 9, 7, 3, 0)
}

// A renamedFull is an array g/a of which bytes could not be stored, since there was no room. There
// is room now, and another program has renamed the group to h.
type renamedFull struct {
	*zarrcore.Hierarchy
	hook
	a     *zarrcore.Array
	d     store.Driver
	other *store.Store // as the other program has it open
}

func newRenamedFull(t *testing.T) *renamedFull {
	t.Helper()
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	r := &renamedFull{d: d, other: store.New(d, "other")}
	r.Hierarchy = writable(t, 3, storetest.Faulty(d, &r.hook))
	must(t, r.CreateGroup(t.Context(), "g"))
	r.a = described(t, r.Hierarchy, "g/a", numbers("[4]", "[4]", plainBytes))
	write(t, r.a, 0, []byte{1, 2, 3})
	r.once(storetest.OpStage, "c/0", func() error { return syscall.ENOSPC })
	want(t, r.a.Flush(t.Context(), false), syscall.ENOSPC)
	r.rename(t, "g", "h")
	return r
}

// rename renames a group as the other program.
func (r *renamedFull) rename(t *testing.T, from, to string) {
	t.Helper()
	must(t, r.other.Dirs().Rename(t.Context(), from, to))
}

// wantStored checks what is stored in an array, as a new process reads it.
func (r *renamedFull) wantStored(t *testing.T, path string, want ...byte) {
	t.Helper()
	if got := whole(t, openArray(t, reopened(t, r.d), path)); !bytes.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}

// passes is how many arrays a late one needs: a rename looks ten times for arrays that were opened
// while it stored others.
const passes = 12

// latest is the path in a group of the array that openLate opens last.
func latest(group string) string { return fmt.Sprintf("%s/a%d", group, passes-1) }

// openLate makes a group g of arrays, opens the first one, and renames the group. While one is
// stored, the next one is opened and written to. It returns the last one, which cannot be stored.
func openLate(
	t *testing.T, h *zarrcore.Hierarchy, k *hook, rename func() error,
) (last *zarrcore.Array) {
	t.Helper()
	must(t, h.CreateGroup(t.Context(), "g"))
	for i := range passes {
		path := fmt.Sprintf("g/a%d", i) // not opened yet: what is renamed waits for that
		must(t, h.CreateFromDocument(t.Context(), path, numbers("[4]", "[4]", plainBytes)))
	}
	var next atomic.Int64
	open := func() {
		last = openArray(t, h, fmt.Sprintf("g/a%d", next.Add(1)-1))
		write(t, last, 0, []byte{1, 2, 3})
	}
	open()
	k.set(func(op storetest.Op) error {
		if op.Kind != storetest.OpStage || !strings.HasSuffix(op.Key, "/c/0") {
			return nil
		}
		switch opened := next.Load(); {
		case strings.Contains(op.Key, latest("")):
			return syscall.ENOSPC
		case strings.Contains(op.Key, fmt.Sprintf("/a%d/", opened-1)):
			open()
		}
		return nil
	})
	must(t, rename())
	if last.Path() != latest("g") {
		t.Fatalf("%s was opened last, expected %s", last.Path(), latest("g"))
	}
	return last
}
