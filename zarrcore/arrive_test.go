package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestAccessorsAskNoStore: what is called while a lock is held asks no store, also of an array that
// was moved while nobody seemed to have it open. What reads it finds it where it is.
func TestAccessorsAskNoStore(t *testing.T) {
	ctx := context.Background()
	var asked looked
	h := open(t, storetest.Faulty(largeArray(t, ".", 3, 3), &asked), nil)
	a := openArray(t, h, "a")
	if err := h.Rename(ctx, "a", "b", false); err != nil {
		t.Fatal(err)
	}
	asked.all()
	a.Live()
	a.Dirty()
	if a.IsUnsaved() {
		t.Error("it is not stored")
	}
	if n := asked.all(); n > 0 {
		t.Errorf("the store was asked %d times", n)
	}
	if got := string(readAt(t, a, 2, 5)); got != "*****" {
		t.Errorf("read %q", got)
	}
	if live := a.Live(); live.Path() != "b" {
		t.Errorf("after a read it is at %q", live.Path())
	}
}

// TestMovedIsWritten: an array that was moved while nobody seemed to have it open is resized,
// written and stored where it is.
func TestMovedIsWritten(t *testing.T) {
	ctx := context.Background()
	h := open(t, largeArray(t, ".", 3, 3), nil)
	for step, do := range map[string]func() error{
		"resize": func() error {
			a := openArray(t, h, "a")
			h.Rename(ctx, "a", "b", false)
			return a.SetSize(ctx, 12)
		},
		"write": func() error {
			a := openArray(t, h, "a")
			h.Rename(ctx, "a", "b", false)
			_, err := a.WriteAt(ctx, []byte("hello, world"), 0)
			return err
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", step, err)
		}
		b := openArray(t, h, "b")
		if err := b.Flush(ctx, false); err != nil || b.Live().Size() != 12 {
			t.Errorf("%s: %d bytes, %v", step, b.Live().Size(), err)
		}
		if err := h.Rename(ctx, "b", "a", false); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(readAt(t, openArray(t, h, "a"), 0, 3)); got != "hel" && got != "***" {
		t.Errorf("read %q", got)
	}
}

// TestMovedOnIsWritten: an array that was moved while nobody seemed to have it open, and moved on
// and back since, is written and stored where it is.
func TestMovedOnIsWritten(t *testing.T) {
	ctx := context.Background()
	h := open(t, largeArray(t, ".", 3, 3), nil)
	a := openArray(t, h, "a")
	for _, r := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"a", "d"}} {
		if err := h.Rename(ctx, r[0], r[1], false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.WriteAt(ctx, []byte("hello"), 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Live().Flush(ctx, false); err != nil {
		t.Fatal(err)
	}
	if got := string(readAt(t, openArray(t, h, "d"), 0, 5)); got != "hello" {
		t.Errorf("found %q where the array is", got)
	}
}

// TestMovedAndRemovedIsNotWritten: what is written to an array reaches no other one. The array was
// moved while nobody seemed to have it open, and then removed or replaced.
func TestMovedAndRemovedIsNotWritten(t *testing.T) {
	ctx := context.Background()
	for name, remove := range map[string]func(h *zarrcore.Hierarchy) error{
		"removed":  func(h *zarrcore.Hierarchy) error { return h.Remove(ctx, "b") },
		"replaced": func(h *zarrcore.Hierarchy) error { return h.Rename(ctx, "other", "b", true) },
		"moved away too long ago": func(h *zarrcore.Hierarchy) error {
			err := h.Rename(ctx, "b", "mine", false)
			for range 2100 {
				there := h.Rename(ctx, "other", "x", false)
				err = errors.Join(err, there, h.Rename(ctx, "x", "other", false))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, largeArray(t, ".", 3, 3), nil)
			a := openArray(t, h, "a")
			create := func(path string) {
				_, err := h.CreateArray(ctx, path, []int64{9}, a.Meta().Type, false)
				if err != nil {
					t.Fatal(err)
				}
			}
			create("other")
			err := h.Rename(ctx, "a", "b", false)
			if err = errors.Join(err, remove(h)); err != nil {
				t.Fatal(err)
			}
			if name != "replaced" {
				create("b")
			}
			if err := h.Rename(ctx, "b", "z", false); err != nil {
				t.Fatal(err)
			}
			before := readAt(t, openArray(t, h, "z"), 0, 5)
			_, err = a.WriteAt(ctx, []byte("wrong"), 0)
			err = errors.Join(err, a.Live().Flush(ctx, false))
			if after := readAt(t, openArray(t, h, "z"), 0, 5); !bytes.Equal(after, before) {
				t.Errorf("another array has %q", after)
			}
			if err == nil {
				t.Error("the writer is told nothing")
			}
		})
	}
}

// TestMovedIsWrittenInFortranOrder: an array that was moved while nobody seemed to have it open is
// written where it is. That holds, too, if it is seen in Fortran order only after the move.
func TestMovedIsWrittenInFortranOrder(t *testing.T) {
	h := writable(t, 3, memstore.New())
	a := described(t, h, "a", numbers("[7, 5]", "[4, 4]", inFortran))
	must(t, h.Rename(t.Context(), "a", "b", false))
	f, ok := a.Transposed()
	if !ok {
		t.Fatal("it has no Fortran order")
	}
	data := upTo(35)
	write(t, f, 0, data)
	must(t, h.Flush(t.Context(), false))
	if got := whole(t, openArray(t, h, "b")); !bytes.Equal(got, reordered(data, 5, 7)) {
		t.Errorf("% x is there", got)
	}
	if now := f.Live(); now.Path() != "b" {
		t.Errorf("it is at %q", now.Path())
	}
}
