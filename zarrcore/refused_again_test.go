package zarrcore_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestRefusedRowsAreTakenBackLater: appended rows are stored, and another program cuts the array.
// Taking them back fails at first. They are not forgotten: each flush tries again, and reports that
// the rows were refused.
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
	k.set(nil)
	if !a.Unsaved() {
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
}

// TestRowsLostToACutInBetween: appended rows are stored, and not counted yet. Another program makes
// the array longer and cuts it again. Then these rows are gone, though the array is as long as
// before, or longer. The flush does not succeed, also if the array was opened in between.
func TestRowsLostToACutInBetween(t *testing.T) {
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
				a := described(t, h, "a", numbers(fmt.Sprintf("[8, %d]", row), "[4, 4096]", plainBytes))
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
				if got := whole(t, openArray(t, reopened(t, mem), "a")); int64(len(got)) != rows*row {
					t.Errorf("the array has %d bytes, expected %d", len(got), rows*row)
				}
			})
		}
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
