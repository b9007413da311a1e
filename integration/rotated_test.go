package integration

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A rotation is what other programs do while a program has a file of an array open. They rename the
// array's group, and make a group of the same name with an array of the same layout. Programs that
// keep their last runs do so.
type rotation struct {
	what    string
	byMount bool // through another mount; otherwise in the store
	removed bool // the group is removed and not renamed
	inMount bool // it is renamed in the store, and made through the mount itself
	before  bool // the program has written before that, not stored; otherwise it writes then
	opened  bool // another program writes to the new array
	read    bool // another program reads it
}

// TestNameOfAnotherArray: what a program writes to an array that has lost its name reaches no other
// array. It reaches its own array, or the program gets ESTALE. What is lost without an error is
// kept in a file.
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
		{what: "written after, the new one is made in the mount", inMount: true},
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
	if r.inMount {
		rotate = func(bool) error {
			err := os.Rename(filepath.Join(base, "g0"), filepath.Join(base, "g9"))
			return errors.Join(err, madeAgain(d.path("g0")))
		}
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
	// without starting a program, which would close the file
	if err := rotate(r.removed); err != nil {
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
		return errors.Join(os.Rename(g0, filepath.Join(dir, "g9")), madeAgain(g0))
	}
}

// madeAgain makes a group in a mount, and its array. The kernel may know a former group of that
// name for a second.
func madeAgain(group string) error {
	err := os.Mkdir(group, 0o777)
	for end := time.Now().Add(patience); os.IsExist(err) && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		err = os.Mkdir(group, 0o777)
	}
	return errors.Join(err, writeFile(filepath.Join(group, "a.npy"), npyOf(1)))
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

// TestFoundUnderItsNewName: a program writes to an array, and another one renames its group in the
// store. Then a third one opens the array by its new name. It finds what the first one wrote, and
// what it writes itself is newer. Nothing older comes back when the group has its name again.
func TestFoundUnderItsNewName(t *testing.T) {
	for _, format := range raceFormats {
		for _, told := range []bool{false, true} {
			for _, known := range []bool{false, true} {
				name := fmt.Sprintf("%s/closed before %t/both names known %t", format, told, known)
				t.Run(name, func(t *testing.T) { foundUnderItsNewName(t, format, told, known) })
			}
		}
	}
}

// foundUnderItsNewName is one case. If told is set, the first program closes its file before the
// array is found. If known is set, the array was open in the mount by either name before.
func foundUnderItsNewName(t *testing.T, format string, told, known bool) {
	base, _, flags := raceStore(t, format)
	d := started(t, base, flags...)
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(filepath.Join(base, from), filepath.Join(base, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeFile(d.path("g0/a.npy"), npyOf(1)); err != nil {
		t.Fatal(err)
	}
	if known {
		rename("g0", "g1")
		read(t, d.path("g1/a.raw"))
		rename("g1", "g0")
	}
	file, err := os.OpenFile(d.path("g0/a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(elements(5, 30), 0); err != nil {
		t.Fatal(err)
	}
	rename("g0", "g1")
	expected := npyOf(1)[128:]
	copy(expected, elements(5, 30))
	if told {
		if err := file.Close(); !errors.Is(err, syscall.ESTALE) {
			t.Errorf("close: %v, expected ESTALE", err)
		}
	}
	if got := read(t, d.path("g1/a.raw")); string(got) != string(expected) {
		t.Errorf("by its new name the array is read as %v", got[:8*32])
	}
	if err := writeAgain(d.path("g1/a.raw")); err != nil {
		t.Errorf("by its new name: %v", err)
	}
	copy(expected[8*20:], elements(8, 3))
	if !told {
		_, err := file.WriteAt(elements(6, 2), 0)
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			t.Errorf("the first program was told: %v", err)
		}
		copy(expected, elements(6, 2))
	}
	rename("g1", "g0")
	if got := read(t, d.path("g0/a.raw")); string(got) != string(expected) {
		t.Errorf("by its old name the array is read as %v", got[:8*32])
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	got := run(t, zarrfs(t), "cat", "--view", "raw", base, "g0/a")
	if got != string(expected) {
		t.Errorf("the array is stored as %v", []byte(got[:8*32]))
	}
}
