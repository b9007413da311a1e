package live

import (
	"errors"

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
