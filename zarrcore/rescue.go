package zarrcore

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Rescue writes what is not stored to files in the folder dir, for a program
// that must end: one for each array, named after it, as long as the array and
// with holes where nothing is to be stored. It returns the names of the files.
func (h *Hierarchy) Rescue(dir string) (files []string, err error) {
	var all []error
	for _, d := range h.drafts() {
		name := filepath.Join(dir, fmt.Sprintf("zarrfs-unsaved-%d-%s.raw", os.Getpid(), url.PathEscape(d.path)))
		if err := d.rescue(name); err != nil {
			all = append(all, d.fail("rescue", err))
			continue
		}
		files = append(files, name)
	}
	return files, errors.Join(all...)
}

func (d *draft) rescue(name string) (err error) {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a := d.live.Load()
	if err := f.Truncate(a.Size()); err != nil {
		return err
	}
	for _, n := range d.set.Numbers() {
		if err := a.rescueChunk(f, n); err != nil {
			return err
		}
	}
	return f.Sync()
}

// rescueChunk writes the dirty bytes of a chunk to their places in the flat
// array.
func (a *Array) rescueChunk(f *os.File, n int64) (err error) {
	frozen, err := a.draft.set.Freeze(n)
	if frozen == nil {
		return err
	}
	defer func() { err = errors.Join(err, frozen.Thaw()) }()
	buf, err := frozen.Open()
	if err != nil {
		return err
	}
	box := a.grid.Box(n)
	for flat, off := range box.Runs() {
		frozen.Dirty(off, off+box.RunLen, func(lo, hi int64) {
			if _, e := f.WriteAt(buf[lo:hi], flat+lo-off); e != nil && err == nil {
				err = e
			}
		})
	}
	return err
}
