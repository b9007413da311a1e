package zarrcore_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestRefusedRowsAreTakenBackLater: appended rows are stored, and another program truncates the
// array. Taking them back fails at first. They are not forgotten: each flush tries again, and
// reports that the rows were refused.
func TestRefusedRowsAreTakenBackLater(t *testing.T) {
	const row = 4096
	mem, k := memstore.New(), &hook{}
	writable(t, 3, mem)
	h, err := zarrcore.Open(t.Context(), store.New(storetest.Faulty(mem, k), "test"),
		&zarrcore.Options{ScratchDir: t.TempDir(), DirtySize: 2 << 20})
	must(t, err)
	t.Cleanup(func() { h.Close() })
	a := described(t, h, "a", numbers(fmt.Sprintf("[8, %d]", row), "[4, 4096]", plainBytes))
	write(t, a, 0, bytes.Repeat([]byte{1}, 8*row))
	must(t, a.Flush(t.Context(), false))
	cutter := openArray(t, reopened(t, mem), "a")
	must(t, cutter.SetSize(t.Context(), 6*row))
	write(t, a, 8*row, bytes.Repeat([]byte{77}, 160*row))
	awaitStored(t, a)
	must(t, cutter.Flush(t.Context(), false))

	k.set(func(op storetest.Op) error {
		if op.Kind == storetest.OpOpen && strings.HasPrefix(op.Key, "a/c/") {
			return syscall.EIO
		}
		return nil
	})
	if err := h.Flush(t.Context(), false); err == nil {
		t.Error("a flush that cannot take rows back succeeds")
	}
	zarrcore.ExpireOrphans(t.Context(), h)
	k.set(nil)
	if !a.IsUnsaved() {
		t.Error("the refused rows are forgotten")
	}
	if err := a.Flush(t.Context(), true); !errors.Is(err, store.ErrConflict) {
		t.Errorf("fsync of refused rows: %v", err)
	}

	grown := openArray(t, reopened(t, mem), "a")
	must(t, grown.SetSize(t.Context(), 100*row))
	must(t, grown.Flush(t.Context(), false))
	if n := bytes.Count(whole(t, openArray(t, reopened(t, mem), "a")), []byte{77}); n > 0 {
		t.Errorf("%d bytes of refused rows are in the array after it grew", n)
	}
	zarrcore.ExpireOrphans(t.Context(), h)
	if a.IsUnsaved() {
		t.Error("the refused rows are not given up, though all of them are taken back")
	}
	kept := h.Status().Write.Kept
	if len(kept) != 1 {
		t.Fatalf("files: %q", kept)
	}
	b, err := os.ReadFile(kept[0])
	must(t, err)
	if n := bytes.Count(b, []byte{77}); n != 160*row {
		t.Errorf("%d bytes of refused rows are kept, expected %d", n, 160*row)
	}
}

// TestRowsLostToATruncationInBetween: appended rows are stored, and not counted yet. Another
// program makes the array longer and truncates it again. Then these rows are gone, though the array
// is as long as before, or longer. The flush does not succeed, also if the array was opened in
// between.
func TestRowsLostToATruncationInBetween(t *testing.T) {
	const row = 4096
	for _, rows := range []int64{8, 10, 12, 200} {
		for _, opened := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d rows, opened %v", rows, opened), func(t *testing.T) {
				mem := memstore.New()
				writable(t, 3, mem)
				h, err := zarrcore.Open(t.Context(), store.New(mem, "test"),
					&zarrcore.Options{ScratchDir: t.TempDir(), DirtySize: 2 << 20})
				must(t, err)
				t.Cleanup(func() { h.Close() })
				a := described(t, h, "a", numbers(fmt.Sprintf("[8, %d]", row), "[4, 4096]",
					plainBytes))
				write(t, a, 8*row, bytes.Repeat([]byte{77}, 160*row))
				awaitStored(t, a)
				other := openArray(t, reopened(t, mem), "a")
				for _, size := range []int64{168, 8, rows} {
					must(t, other.SetSize(t.Context(), size*row))
					must(t, other.Flush(t.Context(), false))
				}
				if opened {
					openArray(t, h, "a")
				}
				if err := a.Flush(t.Context(), true); !errors.Is(err, store.ErrConflict) {
					t.Errorf("fsync of rows that are gone: %v", err)
				}
				if got := whole(t, openArray(t, reopened(t, mem), "a")); int64(
					len(got)) != rows*row {
					t.Errorf("the array has %d bytes, expected %d", len(got), rows*row)
				}
			})
		}
	}
}

// TestRowsReplacedInBetween: so it is where another program that was killed while it appended has
// left objects in their place. They are not taken for ours, and they stay. If the array was not
// truncated, but made longer over the rows, both have appended: bytes that only one has written
// count.
func TestRowsReplacedInBetween(t *testing.T) {
	const row = 4096
	for _, c := range []struct {
		name    string
		sizes   []int64 // that another program gives the array
		refused bool
	}{
		{"truncated", []int64{168, 8}, true}, {"truncated, then longer", []int64{168, 8, 12}, true},
		{"appended", []int64{168}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := memstore.New()
			writable(t, 3, mem)
			h, err := zarrcore.Open(t.Context(), store.New(mem, "test"),
				&zarrcore.Options{ScratchDir: t.TempDir(), DirtySize: 2 << 20})
			must(t, err)
			t.Cleanup(func() { h.Close() })
			a := described(t, h, "a", numbers(fmt.Sprintf("[8, %d]", row), "[4, 4096]", plainBytes))
			write(t, a, 8*row, bytes.Repeat([]byte{77}, 160*row))
			awaitStored(t, a)
			other, st := openArray(t, reopened(t, mem), "a"), store.New(mem, "test")
			for _, size := range c.sizes {
				must(t, other.SetSize(t.Context(), size*row))
				must(t, other.Flush(t.Context(), false))
			}
			foreign := bytes.Repeat([]byte{5}, 4*row)
			for n := 2; n < 42; n++ {
				must(t, st.Put(t.Context(), fmt.Sprintf("a/c/%d/0", n), foreign))
			}
			if err := a.Flush(t.Context(), true); errors.Is(err, store.ErrConflict) != c.refused {
				t.Errorf("fsync: %v, expected a conflict: %v", err, c.refused)
			}
			for n := 2; n < 42; n++ {
				b, _, err := st.ReadAll(t.Context(), fmt.Sprintf("a/c/%d/0", n), 1<<20)
				if err != nil || !bytes.Equal(b, foreign) {
					t.Errorf("object %d of the other program: %d bytes, %v", n, len(b), err)
				}
			}
		})
	}
}

// awaitStored waits until nothing of an array is dirty, as it is stored in the background.
func awaitStored(t *testing.T, a *zarrcore.Array) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if left, err := a.Dirty(); left == 0 {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%d bytes are still dirty: %v", left, err)
		}
	}
}
