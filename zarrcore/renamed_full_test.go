package zarrcore_test

import (
	"bytes"
	"fmt"
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

// eachKind runs a test on a store that tells directories apart, and on one that does not.
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
			if got := whole(t, openArray(t, reader, latest("h"))); !bytes.Equal(got, []byte{1, 9, 8, 0}) {
				t.Errorf("%v, expected %v", got, []byte{1, 9, 8, 0})
			}
		}
	})
}

// TestRenamedByOthersOnAFullDisk: another program renames an array that has bytes which cannot be
// stored. A program that opens it by its new name is refused, and no flush of the first program
// succeeds without those bytes. Once there is room, they are stored before what is written later.
func TestRenamedByOthersOnAFullDisk(t *testing.T) {
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	k := &hook{}
	h := writable(t, 3, storetest.Faulty(d, k))
	must(t, h.CreateGroup(t.Context(), "g"))
	a := described(t, h, "g/a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, []byte{1, 2, 3})
	k.set(func(op storetest.Op) error {
		if op.Kind == storetest.OpStage {
			return syscall.ENOSPC
		}
		return nil
	})
	must(t, store.New(d, "other").Rename(t.Context(), "g", "h"))
	for range 2 {
		_, err = h.OpenArray(t.Context(), "h/a")
		want(t, err, syscall.ENOSPC)
		if err := a.Flush(t.Context(), false); err == nil {
			t.Fatal("a flush succeeds without the bytes")
		}
	}
	k.set(nil)
	b := openArray(t, h, "h/a")
	write(t, b, 1, []byte{9})
	must(t, a.Flush(t.Context(), false))
	must(t, h.Flush(t.Context(), false))
	if got := whole(t, openArray(t, reopened(t, d), "h/a")); !bytes.Equal(got, []byte{1, 9, 3, 0}) {
		t.Errorf("%v, expected %v", got, []byte{1, 9, 3, 0})
	}
}

// TestRenamedWhileOpened: an array has bytes that cannot be stored yet. Another program renames its
// group to and fro while a program opens the array by the new name. What was written by the old
// name is stored before what is written then.
func TestRenamedWhileOpened(t *testing.T) {
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	k := &hook{}
	h := writable(t, 3, storetest.Faulty(d, k))
	must(t, h.CreateGroup(t.Context(), "g"))
	a := described(t, h, "g/a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 0, []byte{1, 2, 3})
	k.once(storetest.OpStage, "c/0", func() error { return syscall.ENOSPC })
	want(t, a.Flush(t.Context(), false), syscall.ENOSPC)
	other := store.New(d, "other")
	must(t, other.Rename(t.Context(), "g", "h"))
	reads, away := 0, false
	k.set(func(op storetest.Op) error {
		switch {
		case op.Key != "h/a/zarr.json":
		case op.Kind == storetest.OpRead && reads == 0: // the array is found
			reads, away = 1, true
			return other.Rename(t.Context(), "h", "g")
		case op.Kind == storetest.OpOpen && away:
			away = false
			return other.Rename(t.Context(), "g", "h")
		}
		return nil
	})
	b := openArray(t, h, "h/a")
	k.set(nil)
	write(t, b, 0, []byte{9})
	must(t, b.Flush(t.Context(), false))
	must(t, other.Rename(t.Context(), "h", "g"))
	h.Flush(t.Context(), false)
	if got := whole(t, openArray(t, reopened(t, d), "g/a")); !bytes.Equal(got, []byte{9, 2, 3, 0}) {
		t.Errorf("%v, expected %v", got, []byte{9, 2, 3, 0})
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
