package zarrcore_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// TestSupplant: a copy takes the place of its array only if nobody has changed the array since.
// Programs that have the array open go on with the copy.
func TestSupplant(t *testing.T) {
	ctx := t.Context()
	none := func(*zarrcore.Hierarchy, *zarrcore.Array) {}
	for name, c := range map[string]struct {
		between  func(h *zarrcore.Hierarchy, a *zarrcore.Array)
		outdated bool
	}{
		"unchanged": {none, false},
		"stored": {func(_ *zarrcore.Hierarchy, a *zarrcore.Array) {
			write(t, a, 0, []byte{7})
			must(t, a.Flush(ctx, false))
		}, true},
		"written": {func(_ *zarrcore.Hierarchy, a *zarrcore.Array) {
			write(t, a, 0, []byte{7})
		}, true},
		"described": {func(h *zarrcore.Hierarchy, _ *zarrcore.Array) {
			must(t, h.SetAttribute(ctx, "a", "units", []byte("1")))
		}, true},
		"renamed": {func(h *zarrcore.Hierarchy, _ *zarrcore.Array) {
			must(t, h.Rename(ctx, "a", "b", false))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := dirstore.Open(t.TempDir(), nil)
			must(t, err)
			h := writable(t, 3, d)
			described(t, h, "a", numbers("[4]", "[4]", plainBytes))
			a := openArray(t, h, "a")
			write(t, a, 0, []byte{1, 2, 3, 4})
			must(t, a.Flush(ctx, false))
			copied := h.Fingerprint(ctx, "a")
			described(t, h, "a~0", numbers("[4]", "[2]", plainBytes))
			beside := openArray(t, h, "a~0")
			write(t, beside, 0, []byte{5, 6, 7, 8})
			must(t, beside.Flush(ctx, false))
			c.between(h, a)
			err = h.Supplant(ctx, "a~0", "a", copied)
			if errors.Is(err, zarrcore.ErrOutdated) != c.outdated || !c.outdated && err != nil {
				t.Fatalf("Supplant: %v", err)
			}
			_, err = h.Node(ctx, "a~0")
			if left := err == nil; left != c.outdated {
				t.Errorf("the copy is still there: %t", left)
			}
			if c.outdated {
				return
			}
			got := make([]byte, 4)
			if _, err := a.ReadAt(ctx, got, 0); err != nil ||
				!bytes.Equal(got, []byte{5, 6, 7, 8}) {
				t.Errorf("read through the array that was open: %v, %v", got, err)
			}
		})
	}
}
