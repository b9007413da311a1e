package durable

import (
	"context"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestDirs: a directory that has changed is remembered until it is synced, also under the new name
// of its array.
func TestDirs(t *testing.T) {
	var d Dirs
	d.Note("a", "a/c/0")
	d.Note("a", "a/c/1")
	d.Note("a/b", "a/b/zarr.json")
	if d.count != 2 {
		t.Errorf("%d directories are remembered, expected 2", d.count)
	}
	d.Move("a", "x/y")
	if d.HasAny("a") || !d.HasAny("x/y") || !d.HasAny("x/y/b") {
		t.Errorf("after a rename of \"a\" to \"x/y\" %v are remembered", d.Paths())
	}
	st := store.New(memstore.New(), "mem")
	if err := d.Sync(context.Background(), st, "x/y"); err != nil {
		t.Fatal(err)
	}
	if d.HasAny("x/y") || !d.HasAny("x/y/b") || d.count != 1 {
		t.Errorf("after a sync of \"x/y\" %v are remembered", d.Paths())
	}
}

// TestNotedMeanwhile: what changes again while it is synced is still remembered.
func TestNotedMeanwhile(t *testing.T) {
	var d Dirs
	d.Note("a", "a/c/0")
	synced := d.of("a")
	d.Note("a", "a/c/1")
	d.forget("a", synced)
	if !d.HasAny("a") {
		t.Error("a directory that has changed since it was synced is forgotten")
	}
}
