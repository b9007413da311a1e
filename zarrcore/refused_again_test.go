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
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) { // stored in the background
		if left, err := a.Dirty(); left == 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%d bytes are still dirty: %v", left, err)
		}
	}
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
