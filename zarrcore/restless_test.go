package zarrcore_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// restless is a store in which other programs rename directories all the time. Until they stop,
// each look at a directory finds another one.
type restless struct {
	*dirstore.Driver
	left atomic.Int64 // looks until then
}

func (r *restless) Identity(ctx context.Context, dir string) (string, error) {
	if left := r.left.Add(-1); left > 0 {
		return strconv.FormatInt(left, 10), nil
	}
	return r.Driver.Identity(ctx, dir)
}

// TestOpenedWhileNeverAtRest: an array that other programs rename all the time is opened once they
// stop. If they never do, that is an error.
func TestOpenedWhileNeverAtRest(t *testing.T) {
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	driver := &restless{Driver: d}
	h := writable(t, 3, driver)
	must(t, h.CreateFromDocument(t.Context(), "a", numbers("[4]", "[4]", plainBytes)))
	driver.left.Store(1000)
	if _, err := h.OpenArray(t.Context(), "a"); err != nil || driver.left.Load() > 0 {
		t.Errorf("%v, %d looks before they stop", err, driver.left.Load())
	}
	must(t, h.CreateFromDocument(t.Context(), "b", numbers("[4]", "[4]", plainBytes)))
	driver.left.Store(1 << 60)
	if _, err := h.OpenArray(t.Context(), "b"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("%v, expected that they rename it again and again", err)
	}
}
