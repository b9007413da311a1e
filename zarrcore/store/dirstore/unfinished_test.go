package dirstore

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// TestCleanUnfinished: a directory noted by a dead program is removed if it is still the one that
// was meant. What others have made of that name stays.
func TestCleanUnfinished(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{
		"finished/x": nil, "empty/" + store.UnfinishedMark: nil,
		"mark/" + store.UnfinishedMark + "/x": nil,
		"replaced/x":                          nil, "other/x": nil, "birthless/x": nil,
	})
	d := open(t, dir, ways["beneath"])
	for _, name := range []string{"a~0", "finished", "empty", "mark", "none"} {
		mark := noteUnfinished(t, d, name)
		if name == "a~0" {
			makeUnfinished(t, dir, name, mark)
			makeUnfinished(t, dir, "elsewhere", mark)
		}
	}
	r := d.root.Load()
	b := birthOf(t, r, "replaced")
	for _, note := range []string{"replaced/" + replacedPrefix + b, "other/" + replacedPrefix + b,
		"birthless/" + replacedPrefix, "empty/" + unfinishedPrefix} {
		if _, err := r.area.staged.noteTree(note); err != nil {
			t.Fatal(err)
		}
	}
	die(d)
	if err := open(t, dir, ways["beneath"]).Clean(context.Background()); err != nil {
		t.Error(err)
	}
	wantNames(t, dir, "birthless", "elsewhere", "empty", "finished", "mark", "other")
}

// noteUnfinished notes that a directory is being made, and returns the mark that it is to have.
func noteUnfinished(t *testing.T, d *Driver, name string) (mark []byte) {
	t.Helper()
	mark, _, err := d.NoteUnfinished(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// makeUnfinished makes a directory with a mark.
func makeUnfinished(t *testing.T, dir, name string, mark []byte) {
	t.Helper()
	writeFiles(t, dir, map[string][]byte{
		name + "/zarr.json": nil, name + "/" + store.UnfinishedMark: mark,
	})
}

// TestCleanSparesTheLiving: two programs have noted the same name, and one of them dies. What the
// other one makes there stays.
func TestCleanSparesTheLiving(t *testing.T) {
	dir := t.TempDir()
	dead, living := open(t, dir, ways["beneath"]), open(t, dir, ways["beneath"])
	noteUnfinished(t, dead, "t~0")
	makeUnfinished(t, dir, "t~0", noteUnfinished(t, living, "t~0"))
	die(dead)
	if err := open(t, dir, ways["beneath"]).Clean(t.Context()); err != nil {
		t.Error(err)
	}
	wantNames(t, dir, folders(t, dir)[0], "t~0")
}

// TestCleanMoved: a group is renamed, or replaces another one, while a directory in it is being
// made. After a kill that directory is removed where it is then. After a removal there nothing is
// noted any more.
func TestCleanMoved(t *testing.T) {
	for name, move := range map[string]func(*Driver) error{
		"renamed":  func(d *Driver) error { return d.Rename(t.Context(), "g", "h") },
		"replaced": func(d *Driver) error { return d.Replace(t.Context(), "g", "h") },
	} {
		for _, killed := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", killed ", killed), func(t *testing.T) {
				dir := t.TempDir()
				writeFiles(t, dir, map[string][]byte{"g/x": nil})
				if name == "replaced" {
					writeFiles(t, dir, map[string][]byte{"h/zarr.json": nil})
				}
				d := open(t, dir, ways["beneath"])
				makeUnfinished(t, dir, "g/t~0", noteUnfinished(t, d, "g/t~0"))
				if err := move(d); err != nil {
					t.Fatal(err)
				}
				if killed {
					die(d)
					if err := open(t, dir, ways["beneath"]).Clean(t.Context()); err != nil {
						t.Error(err)
					}
				} else if err := d.RemoveAll(t.Context(), "h/t~0"); err != nil {
					t.Error(err)
				}
				wantNames(t, filepath.Join(dir, "h"), "x")
				if r := d.root.Load(); r != nil && len(r.unfinished.dirs) > 0 && !killed {
					t.Errorf("still noted: %v", r.unfinished.dirs)
				}
			})
		}
	}
}

// birthOf returns the birth of a directory of the store.
func birthOf(t *testing.T, r *root, key string) string {
	t.Helper()
	p, err := r.directory(key)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	birth := p.birth()
	if birth == "" {
		t.Skip("SKIPPED: the file system does not report when directories were created")
	}
	return birth
}

// TestCleanForgotten: a note that is not true any more removes nothing. Where a replacement was
// undone, both directories stay, whatever names they are given before the program dies.
func TestCleanForgotten(t *testing.T) {
	undone := 0
	for left := 0; ; left++ {
		dir := t.TempDir()
		writeFiles(t, dir, map[string][]byte{
			"t/zarr.json": []byte("t"), "a/zarr.json": []byte("a"),
		})
		d, _ := stageIn(t, dir, "a/c/0") // so that the staging folder stays
		err := d.Replace(&lateCancel{t.Context(), left}, "t", "a")
		if err == nil {
			break
		}
		for _, names := range [][2]string{{"t", "x"}, {"a", "t"}} {
			if err := d.Rename(t.Context(), names[0], names[1]); err != nil {
				t.Fatal(err)
			}
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
