package zarrcore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// countedDriver counts the calls by which objects are looked at.
type countedDriver struct {
	*dirstore.Driver
	calls atomic.Int64
}

func (d *countedDriver) Open(ctx context.Context, key string) (store.Object, error) {
	d.calls.Add(1)
	return d.Driver.Open(ctx, key)
}

func (d *countedDriver) Stat(ctx context.Context, key string) (store.Info, error) {
	d.calls.Add(1)
	return d.Driver.Stat(ctx, key)
}

func (d *countedDriver) StatAlong(
	ctx context.Context, dir string, names []string, tell func(dir, name string, info store.Info),
) error {
	d.calls.Add(1)
	return d.Driver.StatAlong(ctx, dir, names, tell)
}

// TestDeepTreesTakeFewCalls: to make or remove a group takes as many calls of the store at any
// depth. Consolidated metadata of each group above it would have to go, too.
func TestDeepTreesTakeFewCalls(t *testing.T) {
	const levels, most = 200, 20 // calls for each group
	dir := t.TempDir()
	driver, err := dirstore.Open(dir, nil)
	must(t, err)
	d := &countedDriver{Driver: driver}
	h := writable(t, 3, d)
	group := func(level int) string { return strings.TrimSuffix(strings.Repeat("d/", level), "/") }
	for level := 1; level <= levels; level++ {
		must(t, h.CreateGroup(t.Context(), group(level)))
	}
	if n := d.calls.Load(); n > most*levels {
		t.Errorf("%d calls to make %d groups", n, levels)
	}
	d.calls.Store(0)
	for level := levels; level > 0; level-- {
		must(t, h.Remove(t.Context(), group(level)))
	}
	if n := d.calls.Load(); n > most*levels {
		t.Errorf("%d calls to remove %d groups", n, levels)
	}
}

// TestConsolidatedLater: consolidated metadata that another program has written after groups were
// known to have none go all the same, from all groups above what changes.
func TestConsolidatedLater(t *testing.T) {
	dir := t.TempDir()
	driver, err := dirstore.Open(dir, nil)
	must(t, err)
	document := filepath.Join(dir, "zarr.json")
	h := writable(t, 3, driver)
	must(t, h.CreateGroup(t.Context(), "g"))
	must(t, h.CreateGroup(t.Context(), "g/h"))
	must(t, os.WriteFile(document, []byte(`{"zarr_format": 3, "node_type": "group",
		"consolidated_metadata": {"kind": "inline", "must_understand": false,
		"metadata": {"g": {"zarr_format": 3, "node_type": "group"},
		"g/h": {"zarr_format": 3, "node_type": "group"}}}}`), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "g/.zmetadata"),
		[]byte(`{"zarr_consolidated_format": 1, "metadata": {}}`), 0o666))
	must(t, h.Remove(t.Context(), "g/h"))
	if doc, err := os.ReadFile(document); err != nil || strings.Contains(string(doc), "inline") {
		t.Errorf("the root still has consolidated metadata: %s, %v", doc, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "g/.zmetadata")); !os.IsNotExist(err) {
		t.Errorf("the group still has consolidated metadata: %v", err)
	}
}
