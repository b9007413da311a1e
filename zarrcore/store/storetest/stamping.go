package storetest

import (
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// stamp: a directory, also a held one, has the time that it was given, until a name in it changes.
// The time of that change is later.
func (s holding) stamp() {
	w, st := s.writer(map[string][]byte{"a/zarr.json": []byte("{}"), "a/c/0": {1}, "a/c/1": {2}})
	if _, ok := w.(store.Stamper); !ok {
		return
	}
	_, held := s.held(w, st, "a", "a")
	then := time.Unix(1234567890, 123456789)
	for _, dir := range []string{"a/c", "a", ""} {
		in := held
		if dir == "" {
			in = st
		}
		if err := in.Dirs().Stamp(s.Context(), dir, then); err != nil {
			s.Fatal(err)
		}
		info := s.modified(w, dir)
		if !info.ModTime.Equal(then) || time.Since(info.Changed) > time.Minute {
			s.Errorf("%q is of %v, changed %v, expected %v", dir, info.ModTime, info.Changed, then)
		}
	}
	if err := st.Delete(s.Context(), "a/c/1", store.If{}); err != nil {
		s.Fatal(err)
	}
	if info := s.modified(w, "a/c"); time.Since(info.ModTime) > time.Minute {
		s.Errorf("a directory in which an object was deleted is of %v", info.ModTime)
	}
	if err := st.Dirs().Stamp(s.Context(), "a", time.Time{}); err != nil {
		s.Fatal(err)
	}
	if info := s.modified(w, "a"); time.Since(info.ModTime) > time.Minute {
		s.Errorf("a directory that was stamped with the time of now is of %v", info.ModTime)
	}
}

func (s holding) modified(d store.Driver, dir string) store.Info {
	s.Helper()
	info, err := d.Stat(s.Context(), dir)
	if err != nil {
		s.Fatal(err)
	}
	return info
}
