package zarrcore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// TestArrayBeside: an array that is made beside another one is not listed before it is renamed,
// and leaves nothing if it fails. An array of that name that a program has made stays.
func TestArrayBeside(t *testing.T) {
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	h := writable(t, 3, d)
	described(t, h, "a", numbers("[2]", "[2]", plainBytes))
	described(t, h, "a~0", numbers("[2]", "[2]", plainBytes))
	n, err := h.Node(t.Context(), "a")
	must(t, err)
	listed := func(when string, want ...string) {
		t.Helper()
		var got []string
		must(t, h.Children(t.Context(), "", func(c zarrcore.Child) error {
			got = append(got, c.Name)
			return nil
		}))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: listed are %q, expected %q", when, got, want)
		}
	}
	failure := errors.New("no room")
	ctx, interrupt := context.WithCancel(t.Context())
	_, err = h.CreateBeside(ctx, "a", n.Document, func(beside string) error {
		listed("unfinished", "a", "a~0")
		write(t, openArray(t, h, beside), 0, []byte{1, 2})
		interrupt()
		return failure
	})
	want(t, err, failure)
	if _, err := h.Node(t.Context(), "a~1"); err == nil {
		t.Error("what has failed is still there")
	}
	beside, err := h.CreateBeside(t.Context(), "a", n.Document, func(beside string) error {
		a := openArray(t, h, beside)
		write(t, a, 0, []byte{1, 2})
		return a.Flush(t.Context(), true)
	})
	must(t, err)
	if beside.Path() != "a~1" {
		t.Errorf("the array is at %q", beside.Path())
	}
	listed("finished", "a", "a~0")
	must(t, h.Rename(t.Context(), beside.Path(), "a", true))
	listed("renamed", "a", "a~0")
	must(t, beside.Remove(t.Context())) // it is not beside another one any more
	listed("not removed", "a", "a~0")
	must(t, h.Rename(t.Context(), "a", "a~1", false))
	listed("renamed again", "a~0", "a~1")
	must(t, store.New(d, "").List(t.Context(), "a~1", func(e store.Entry) error {
		if e.Name != "zarr.json" && e.Name != "c" {
			t.Errorf("left in the array: %q", e.Name)
		}
		return nil
	}))
}

// TestArrayBesideMoves: an array that is made beside another one is removed where it is, after its
// group was renamed.
func TestArrayBesideMoves(t *testing.T) {
	h := writable(t, 3, group(t))
	must(t, h.CreateGroup(t.Context(), "g"))
	described(t, h, "g/a", numbers("[2]", "[2]", plainBytes))
	n, err := h.Node(t.Context(), "g/a")
	must(t, err)
	failure := errors.New("no room")
	_, err = h.CreateBeside(t.Context(), "g/a", n.Document, func(string) error {
		must(t, h.Rename(t.Context(), "g", "g2", false))
		return failure
	})
	want(t, err, failure)
	none := func(string) error { return nil }
	beside, err := h.CreateBeside(t.Context(), "g2/a", n.Document, none)
	must(t, err)
	if beside.Path() != "g2/a~0" {
		t.Errorf("the array is at %q: what has failed is still there", beside.Path())
	}
	must(t, h.Rename(t.Context(), "g2", "g3", false))
	must(t, beside.Remove(t.Context()))
	must(t, h.Remove(t.Context(), "g3/a"))
	must(t, h.Remove(t.Context(), "g3")) // which holds nothing
}

// TestAbandonedArrayIsRemoved: an array that a dead program has left unfinished, where Clean does
// not find it, goes with its group. One that is being made does not.
func TestAbandonedArrayIsRemoved(t *testing.T) {
	dir := t.TempDir()
	d, err := dirstore.Open(dir, nil)
	must(t, err)
	h := writable(t, 3, d)
	must(t, h.CreateGroup(t.Context(), "g"))
	mark, forget, err := d.NoteUnfinished(t.Context(), "g/a~0")
	must(t, err)
	put(t, d, "g/a~0/"+store.UnfinishedMark, mark)
	want(t, h.Remove(t.Context(), "g"), zarrcore.ErrNotEmpty)
	forget()
	must(t, h.Remove(t.Context(), "g"))
}
