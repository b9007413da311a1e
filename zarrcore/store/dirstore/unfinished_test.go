package dirstore

import (
	"context"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// TestCleanUnfinished: a directory that a dead program has noted is removed if it is still the one
// that was meant. What others have made of that name stays.
func TestCleanUnfinished(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{
		"a~0/zarr.json": nil, "a~0/" + store.UnfinishedMark: nil, // unfinished
		"a~1/zarr.json": nil,                                     // finished
		"b/zarr.json":   nil,                                     // replaced
		"c/zarr.json":   nil,                                     // another one in its place
		"d~0/zarr.json": nil, "d~0/" + store.UnfinishedMark: nil, // not noted
		"e/x": nil,
	})
	d := open(t, dir, ways["beneath"])
	st := store.New(d, "")
	for _, name := range []string{"a~0", "a~1", "e", "none"} {
		if _, err := st.NoteUnfinished(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	r := d.root.Load()
	b := birthOf(t, r, "b")
	for name, born := range map[string]string{"b": b, "c": b, "e": ""} {
		if err := r.staged.note(name + "/" + replacedPrefix + born); err != nil {
			t.Fatal(err)
		}
	}
	die(d)
	if err := open(t, dir, ways["beneath"]).Clean(context.Background()); err != nil {
		t.Error(err)
	}
	wantNames(t, dir, "a~1", "c", "d~0", "e")
}

// birthOf returns the birth of a directory of the store.
func birthOf(t *testing.T, r *root, key string) string {
	t.Helper()
	p, birth, err := r.directory(key)
	if err != nil {
		t.Fatal(err)
	}
	p.close()
	if birth == "" {
		t.Skip("SKIPPED: the file system does not tell when directories were created")
	}
	return birth
}
