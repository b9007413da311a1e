package object

import (
	"context"
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
		leads := e.Dir && w.keys.meta.Keys.Leads(name, w.keys.Rank())
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
