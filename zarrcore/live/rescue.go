package live

import (
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

// unstored returns what is dirty of the array.
func (d *draft) unstored() *rescue.Unstored {
	a := d.live.Load()
	return &rescue.Unstored{
		Store: d.h.of.Store.Name(), Path: d.path, Meta: a.gen.Meta,
		Fortran: d.order == fortranOrder, Size: a.Size(), Grid: a.gen.Grid, Dirty: d.set,
	}
}
