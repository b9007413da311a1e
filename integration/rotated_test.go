package integration

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A rotation is what others do while a program has a file of an array open. They rename the array's
// group, and make a group of the same name with an array of the same layout. Programs that keep
// their last runs do so.
type rotation struct {
	what    string
	byMount bool // it is done through another mount; otherwise in the store
	removed bool // the group is removed and not renamed
	before  bool // the program has written before that, not stored; otherwise it writes then
	opened  bool // another program writes to the new array
	read    bool // another program reads it
}

// TestNameOfAnotherArray: what a program writes to an array that has lost its name reaches no other
// array. It reaches its own, or the program gets ESTALE. What it was not told is kept in a file.
func TestNameOfAnotherArray(t *testing.T) {
	for _, r := range []rotation{
		{what: "written before", before: true},
		{what: "written before, by another mount", before: true, byMount: true},
		{what: "written after"},
		{what: "written after, by another mount", byMount: true},
		{what: "written before, the new one too", before: true, opened: true},
		{what: "written after, the new one too", opened: true},
		{what: "written before, the new one is read", before: true, read: true},
		{what: "written before, removed", before: true, removed: true},
	} {
		for _, format := range raceFormats {
			t.Run(r.what+"/"+format, func(t *testing.T) { r.run(t, format) })
		}
	}
}

func (r rotation) run(t *testing.T, format string) {
	base, scratch, flags := raceStore(t, format)
	d := started(t, base, flags...)
	if err := writeFile(d.path("g0/a.npy"), npyOf(1)); err != nil {
		t.Fatal(err)
	}
	rotate := rotateIn(base)
	if r.byMount {
		rotate = rotateBy(started(t, base, flags...).dir)
	}
	file, err := os.OpenFile(d.path("g0/a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	told := error(nil)
	write := func() {
		_, err := file.WriteAt(elements(5, 10), 0)
		told = cmp.Or(told, err)
	}
	if r.before {
		write()
	}
	if err := rotate(r.removed); err != nil { // no program is started: that would close the file
		t.Fatal(err)
	}
	expected := npyOf(1)[128:]
	if r.opened {
		if err := writeAgain(d.path("g0/a.raw")); err != nil {
			t.Errorf("the new array cannot be written: %v", err)
		}
		copy(expected[8*20:], elements(8, 3))
	}
	check := func(what string, got []byte) {
		if string(got) != string(expected) {
			t.Errorf("the new array %s: %v", what, got[:min(len(got), 8*22)])
		}
	}
	if r.read {
		check("is read before", read(t, d.path("g0/a.raw")))
	}
	if !r.before {
		write()
	}
	told = errors.Join(told, file.Sync(), file.Close())
	if told != nil && !errors.Is(told, syscall.ESTALE) {
		t.Errorf("the writer was told: %v", told)
	}
	check("is read", read(t, d.path("g0/a.raw")))
	if err := d.stop(); err != nil {
		d.stopByForce(t)
	}
	check("is stored", []byte(run(t, zarrfs(t), "cat", "--view", "raw", base, "g0/a")))
	if r.removed || told != nil && !r.before {
		return
	}
	if told != nil {
		kept, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*.unsaved"))
		if len(kept) != 1 {
			t.Fatalf("kept: %v, expected one file", kept)
		}
		run(t, zarrfs(t), "restore", kept[0], base, "g9/a")
	}
	own := run(t, zarrfs(t), "cat", "--view", "raw", base, "g9/a")
	if !strings.HasPrefix(own, string(elements(5, 10))) {
		t.Errorf("the array that was renamed: %v", []byte(own[:80]))
	}
}

// rotateIn renames, or removes, g0 in the store, and copies it.
func rotateIn(base string) func(removed bool) error {
	return func(removed bool) error {
		g0, g9 := filepath.Join(base, "g0"), filepath.Join(base, "g9")
		err := errors.Join(os.Rename(g0, g9), os.CopyFS(g0, os.DirFS(g9)))
		if removed {
			err = errors.Join(err, os.RemoveAll(g9))
		}
		return err
	}
}

// rotateBy renames g0 through a mount, and makes it there again.
func rotateBy(dir string) func(bool) error {
	return func(bool) error {
		g0 := filepath.Join(dir, "g0")
		return errors.Join(os.Rename(g0, filepath.Join(dir, "g9")), os.Mkdir(g0, 0o777),
			writeFile(filepath.Join(g0, "a.npy"), npyOf(1)))
	}
}

// writeAgain writes three elements from the twentieth on.
func writeAgain(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(elements(8, 3), 8*20)
	return errors.Join(err, f.Close())
}
