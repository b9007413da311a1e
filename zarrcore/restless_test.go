package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	away atomic.Int64 // looks until a directory is found
}

func (r *restless) Identity(ctx context.Context, dir string) (string, error) {
	if r.away.Add(-1) > 0 {
		return "", fs.ErrNotExist
	}
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

// TestOpenedWhileAway: another program renames an array to and fro. It is opened by its new name:
// the array is away when its directory is looked for, and there when its document is read. What was
// written to it by its old name is stored before the array goes on.
func TestOpenedWhileAway(t *testing.T) {
	dir := t.TempDir()
	d, err := dirstore.Open(dir, nil)
	must(t, err)
	driver := &restless{Driver: d}
	h := writable(t, 3, driver)
	must(t, h.CreateFromDocument(t.Context(), "a", numbers("[4]", "[4]", plainBytes)))
	a := openArray(t, h, "a")
	old := bytes.Repeat([]byte{1}, int(a.Size()))
	if _, err := a.WriteAt(t.Context(), old, 0); err != nil {
		t.Fatal(err)
	}
	must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	driver.away.Store(100)
	b := openArray(t, h, "b")
	if found := readAt(t, b, 0, b.Size()); !bytes.Equal(found, old) {
		t.Errorf("found %v, expected what was written by the old name", found)
	}
	renewed := bytes.Repeat([]byte{2}, int(b.Size()))
	if _, err := b.WriteAt(t.Context(), renewed, 0); err != nil {
		t.Fatal(err)
	}
	must(t, b.Flush(t.Context(), false))
	must(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")))
	must(t, h.Flush(t.Context(), false))
	a = openArray(t, h, "a")
	if found := readAt(t, a, 0, a.Size()); !bytes.Equal(found, renewed) {
		t.Errorf("found %v, expected what was written last", found)
	}
}
