package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

// Rescue writes what is not stored to files in the folder dir, for a program that must end: one for
// each array, named after it, as long as the array and with holes where nothing is to be stored.
// Beside each is a note that says which bytes count. Where nothing of an array can be kept, there is
// no file. It returns the names of the files.
func (h *Arrays) Rescue(dir string) (files []string, err error) {
	var all []error
	for _, d := range h.unsaved.all() {
		name, noted, err := d.unstored().Write(dir)
		switch {
		case noted:
			files = append(files, name)
		case name != "":
			err = errors.Join(err, rescue.Remove(name))
		}
		if err != nil {
			all = append(all, d.fail("rescue", err))
		}
	}
	return files, errors.Join(all...)
}

// unstored returns what is dirty of the array.
func (d *draft) unstored() *rescue.Unstored {
	a := d.live.Load()
	return &rescue.Unstored{
		Store: d.h.of.Store.Name(), Path: d.path, Meta: a.gen.Meta, Fortran: a.gen.Source != nil, Size: a.Size(),
		Grid: a.gen.Grid, Dirty: d.set,
	}
}

// Restore writes the bytes of a rescued file to the array at path, and stores them. All others of the array stay. It
// returns how many it has written.
func (h *Hierarchy) Restore(ctx context.Context, r *rescue.File, path string) (count int64, err error) {
	a, err := h.OpenArray(ctx, path)
	if err != nil {
		return 0, err
	}
	if r.Fortran() {
		reversed, ok := a.Transposed()
		if !ok {
			return 0, fmt.Errorf("%w: the file is in Fortran order, and array %q is not", iofs.ErrInvalid, path)
		}
		a = reversed
	}
	if err := r.Fits(a.gen.Meta); err != nil {
		return 0, fmt.Errorf("array %q: %w", path, err)
	}
	err = r.Each(func(p []byte, at int64) error {
		n, err := a.WriteAt(ctx, p, at)
		count += int64(n)
		return err
	})
	if err != nil {
		return count, err
	}
	return count, a.Flush(ctx, true)
}
