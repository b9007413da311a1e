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

// TestCleanForgotten: a note that is not true any more removes nothing. Where a replacement was
// undone, both directories stay, whatever names they are given before the program dies.
func TestCleanForgotten(t *testing.T) {
	undone := 0
	for left := 0; ; left++ {
		dir := t.TempDir()
		writeFiles(t, dir, map[string][]byte{"t/zarr.json": []byte("t"), "a/zarr.json": []byte("a")})
		d := open(t, dir, ways["beneath"])
		err := d.Replace(&lateCancel{t.Context(), left}, "t", "a")
		if err == nil {
			break
		}
		for _, names := range [][2]string{{"t", "x"}, {"a", "t"}} {
			if err := d.Rename(t.Context(), names[0], names[1]); err != nil {
				t.Fatal(err)
			}
		}
		if d.root.Load().staged == nil {
			continue
		}
		undone++
		die(d)
		if err := open(t, dir, ways["beneath"]).Clean(t.Context()); err != nil {
			t.Error(err)
		}
		wantNames(t, dir, "t", "x")
	}
	if undone == 0 {
		t.Error("no replacement was undone")
	}
}

// A lateCancel is cancelled once it has been asked a number of times.
type lateCancel struct {
	context.Context
	left int
}

func (c *lateCancel) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
