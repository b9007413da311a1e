package object

import (
	"context"
	"errors"
	iofs "io/fs"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// DirLooks is how many looks it takes to go through another directory.
const DirLooks = 8

// A walker goes through the directories that hold an array's objects.
type walker struct {
	keys  *Keys
	in    *store.Store
	visit func(object int64, info store.Info) error
	look  func(looks int) error // may be nil
}

// Walk calls visit with every object that is stored, in any order. If there is a look, it
// is called before for all that is found, with how many looks that took. An error of
// either ends the walk and is returned.
func (k *Keys) Walk(ctx context.Context, st *store.Store,
	visit func(object int64, info store.Info) error, look func(looks int) error) error {
	w := walker{keys: k, in: st, visit: visit, look: look}
	if st.Traits().List == store.ListDear {
		return w.flat(ctx, strings.TrimSuffix(k.prefix, "/"))
	}
	return w.dir(ctx, strings.TrimSuffix(k.prefix, "/"), "")
}

// flat goes through all objects below the array at once.
func (w *walker) flat(ctx context.Context, dir string) error {
	return w.in.Walk(ctx, dir, func(key string, info store.Info) error {
		if err := w.count(false); err != nil {
			return err
		}
		if n, ok := w.keys.Parse(strings.TrimPrefix(key, w.keys.prefix)); ok {
			return w.visit(n, info)
		}
		return nil
	})
}

// dir looks at the directory at key; rel is its key relative to the array.
func (w *walker) dir(ctx context.Context, key, rel string) error {
	var dirs []string
	err := w.in.Survey(ctx, key, func(e store.Entry, info store.Info) error {
		name := rel + e.Name
		leads := e.Dir && w.keys.leads(name)
		if err := w.count(leads); err != nil {
			return err
		}
		if e.Dir {
			if leads {
				dirs = append(dirs, e.Name)
			}
			return nil
		}
		if n, ok := w.keys.Parse(name); ok {
			return w.visit(n, info)
		}
		return nil
	})
	for i := 0; err == nil && i < len(dirs); i++ {
		err = w.dir(ctx, store.Join(key, dirs[i]), rel+dirs[i]+"/")
	}
	return err
}

// count counts the look at one entry of a directory, which may be a directory to go
// through.
func (w *walker) count(dir bool) error {
	switch {
	case w.look == nil:
		return nil
	case dir:
		return w.look(DirLooks)
	}
	return w.look(1)
}

// Folders calls visit with each directory that may hold objects of the array, and with the rights
// to it, before those in it. It looks at no object. An error of visit ends it and is returned. If
// the array's own directory is not there, or has been renamed meanwhile, that is fs.ErrNotExist.
func (k *Keys) Folders(
	ctx context.Context, st *store.Store, visit func(key string, to store.Rights) error,
) error {
	err := k.foldersIn(ctx, st, "", visit)
	if err == nil {
		_, err = st.Stat(ctx, strings.TrimSuffix(k.prefix, "/"))
	}
	return err
}

// foldersIn is Folders of those in the directory rel, which is relative to the array.
func (k *Keys) foldersIn(
	ctx context.Context, st *store.Store, rel string, visit func(key string, to store.Rights) error,
) error {
	const first, index = "c", "0" // as the names of such directories begin
	if !k.leads(rel+first) && !k.leads(rel+index) {
		return nil // it holds only objects
	}
	var names []string
	err := st.List(ctx, strings.TrimSuffix(k.prefix+rel, "/"), func(e store.Entry) error {
		if e.Dir && k.leads(rel+e.Name) {
			names = append(names, rel+e.Name)
		}
		return nil
	})
	for i := 0; err == nil && i < len(names); i++ {
		err = k.folder(ctx, st, names[i], visit)
		if errors.Is(err, iofs.ErrNotExist) {
			err = nil // it was removed meanwhile
		}
	}
	return err
}

// folder is Folders of the directory rel and of those in it.
func (k *Keys) folder(
	ctx context.Context, st *store.Store, rel string, visit func(key string, to store.Rights) error,
) error {
	info, err := st.Stat(ctx, k.prefix+rel)
	if err == nil {
		err = visit(k.prefix+rel, info.Rights)
	}
	if err == nil {
		err = k.foldersIn(ctx, st, rel+"/", visit)
	}
	return err
}

// leads reports whether a directory, named relative to the array, may hold objects.
func (k *Keys) leads(rel string) bool { return k.meta.Keys.Leads(rel, k.Rank()) }
