package zarrcore

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// Rescue writes what is not stored to files in the folder dir, for a program that must end: one for
// each array, named after it, as long as the array and with holes where nothing is to be stored.
// Beside each is a note that says which bytes count. It returns the names of the files.
func (h *Hierarchy) Rescue(dir string) (files []string, err error) {
	var all []error
	for _, d := range h.drafts() {
		name, err := d.rescue(dir)
		if err != nil {
			all = append(all, d.fail("rescue", err))
			continue
		}
		files = append(files, name)
	}
	return files, errors.Join(all...)
}

// rescue writes what is dirty to a file, also while a flush hangs.
func (d *draft) rescue(dir string) (name string, err error) {
	f, err := rescueFile(dir, d.path)
	if err != nil {
		return "", err
	}
	return f.Name(), d.rescueTo(f)
}

// RescuePrefix returns what the names of the files begin with in which a process has kept what was
// not stored.
func RescuePrefix(pid int) string { return fmt.Sprintf("zarrfs-unsaved-%d-", pid) }

// rescueName is how many bytes of an array's path are in a file's name.
const rescueName = 200

// rescueFile creates a file for the bytes of the array at path. There may be one
// already: of an array that was there before, or of the other way to see it.
func rescueFile(dir, path string) (f *os.File, err error) {
	text := url.PathEscape(path)
	text = text[max(0, len(text)-rescueName):]
	name := filepath.Join(dir, RescuePrefix(os.Getpid())+text)
	for i := 1; ; i++ {
		more := ""
		if i > 1 {
			more = fmt.Sprintf("-%d", i)
		}
		if f, err = os.OpenFile(name+more+".unsaved", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, iofs.ErrExist) {
			return f, err
		}
	}
}

// rescueTo writes what is dirty to its place in f, and closes it.
func (d *draft) rescueTo(f *os.File) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	a := d.live.Load()
	if err := f.Truncate(a.Size()); err != nil {
		return err
	}
	note := rescueNote{
		About: "what zarrfs could not store; `zarrfs restore` with the file beside this one puts it back",
		Store: d.h.Name(), Array: d.path, Type: a.meta.Type.Descr(), Shape: a.meta.Shape,
		Fortran: a.source != nil,
	}
	for _, n := range d.set.Numbers() {
		if err := a.rescueChunk(f, n, &note); err != nil {
			return err
		}
	}
	return errors.Join(note.write(f.Name()), f.Sync())
}

// rescueChunk writes the dirty bytes of a chunk to their places in the flat
// array.
func (a *Array) rescueChunk(f *os.File, n int64, note *rescueNote) error {
	box := a.grid.Box(n)
	buf := make([]byte, box.RunLen)
	type gap struct{ lo, hi int64 }
	var gaps []gap
	for flat, off := range box.Runs() {
		gaps = gaps[:0]
		if err := a.draft.set.Read(n, off, buf, func(lo, hi int64) { gaps = append(gaps, gap{lo - off, hi - off}) }); err != nil {
			return err
		}
		from := int64(0)
		for _, g := range append(gaps, gap{box.RunLen, box.RunLen}) {
			if g.lo > from {
				if _, err := f.WriteAt(buf[from:g.lo], flat+from); err != nil {
					return err
				}
				note.add(flat+from, g.lo-from)
			}
			from = g.hi
		}
	}
	return nil
}
