package live

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

// unsaved are the drafts with something to store. Its lock is held over nothing that waits. All
// methods may be called concurrently.
type unsaved struct {
	mu     sync.Mutex
	drafts map[*draft]struct{}
	ager   *time.Timer // of flushOld, until close; nil while there are none
	closed bool

	flushOld func() // called a while after something has become unsaved; it calls again
}

// add adds d.
func (u *unsaved) add(d *draft) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drafts[d] = struct{}{}
	if u.ager == nil && !u.closed {
		u.ager = time.AfterFunc(age/4, u.flushOld)
	}
}

// remove removes d.
func (u *unsaved) remove(d *draft) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.drafts, d)
}

// all returns all of them.
func (u *unsaved) all() []*draft {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.drafts))
}

// again lets flushOld be called once more, if there are any.
func (u *unsaved) again() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ager = nil
	if len(u.drafts) > 0 && !u.closed {
		u.ager = time.AfterFunc(age/4, u.flushOld)
	}
}

// close ends the calls of flushOld.
func (u *unsaved) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	if u.ager != nil {
		u.ager.Stop()
	}
}

// Rescue writes what is not stored to files in the folder dir, for a program that must end: one for
// each array, named after it, as long as the array and with holes where nothing is to be stored.
// Beside each is a note that says which bytes count. Where nothing of an array can be kept, there
// is no file. It returns the names of the files.
func (u *unsaved) Rescue(dir string) (files []string, err error) {
	var all []error
	for _, d := range u.all() {
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

// Unstored returns the paths of the arrays with writes that are not stored.
func (u *unsaved) Unstored() (paths []string) {
	for _, d := range u.all() {
		d.mu.Lock()
		paths = append(paths, d.path)
		d.mu.Unlock()
	}
	return paths
}

// Failures returns for each array that could not be stored why; nil if there are none.
func (u *unsaved) Failures() (errors map[string]string) {
	for _, d := range u.all() {
		d.mu.Lock()
		if d.failed.Err != nil {
			if errors == nil {
				errors = map[string]string{}
			}
			errors[d.path] = d.failed.Err.Error()
		}
		d.mu.Unlock()
	}
	return errors
}

// orphansAt returns the drafts of former arrays at path, without the one that is there now.
func (u *unsaved) orphansAt(path string) (orphans []*draft) {
	for _, d := range u.all() {
		d.mu.Lock()
		if d.path == path && errors.Is(d.failed.Err, catalog.ErrOrphan) {
			orphans = append(orphans, d)
		}
		d.mu.Unlock()
	}
	return orphans
}

// unstored returns what is dirty of the array.
func (d *draft) unstored() *rescue.Unstored {
	a := d.live.Load()
	return &rescue.Unstored{
		Store: d.h.of.Store.Name(), Path: d.path, Meta: a.gen.Meta,
		Fortran: d.order == fortranOrder, Size: a.Size(), Grid: a.gen.Grid, Dirty: d.set,
	}
}
