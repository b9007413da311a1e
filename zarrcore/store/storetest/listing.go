package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// listing tests that directories are listed.
type listing struct{ *suite }

// list: direct children only; directories need no object; a missing directory, or an object, is
// fs.ErrNotExist.
func (s listing) list() {
	d := s.listed(map[string][]byte{
		"zarr.json": nil, "a/zarr.json": nil, "a/c/0/0": nil, "a/c/0/1": nil, "a/c/1/0": nil,
		"ab/x": nil, "deep/er/and/deeper": nil,
	})
	s.wantList(d, "", "zarr.json", "a/", "ab/", "deep/")
	s.wantList(d, "a", "zarr.json", "c/")
	s.wantList(d, "a/c", "0/", "1/")
	s.wantList(d, "a/c/0", "0", "1")
	s.wantList(d, "deep/er", "and/")
	for _, dir := range []string{"none", "a/none", "a/c/0/0", "zarr.json", "b", "aa",
		"deep/er/an"} {
		err := d.List(s.Context(), dir, func(e store.Entry) error {
			s.Errorf("List(%q) yields %+v", dir, e)
			return nil
		})
		if !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("List(%q): %v, want fs.ErrNotExist", dir, err)
		}
	}
}

// listEmptyRoot: the root is there even in an empty store.
func (s listing) listEmptyRoot() {
	d := s.listed(nil)
	s.wantList(d, "")
	if info, err := d.Stat(s.Context(), ""); err != nil || !info.Dir {
		s.Errorf("Stat of the root: %+v, %v", info, err)
	}
}

// listStops: an error of yield ends the listing and is returned as it is; so does a cancelled
// context.
func (s listing) listStops() {
	objects := map[string][]byte{}
	for i := range s.many(3000) {
		objects[fmt.Sprintf("d/%d", i)] = nil
	}
	d := s.listed(objects)
	stop, calls := errors.New("stop"), 0
	err := d.List(s.Context(), "d", func(store.Entry) error {
		if calls++; calls == 3 {
			return stop
		}
		return nil
	})
	if err != stop || calls != 3 {
		s.Errorf("List with a yield that fails: error %v after %d calls, want its own after 3", err,
			calls)
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	err = d.List(ctx, "d", func(store.Entry) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		s.Errorf("List cancelled on its way: %v, want context.Canceled", err)
	}
	if err := store.New(d, "test").List(s.Context(), "d", func(store.Entry) error {
		return stop
	}); err != stop {
		s.Errorf("Store.List with a yield that fails: %v, want its own error", err)
	}
}

// many returns n, or of a store behind a network a part of it that still is more than the usual
// page of a listing: to store each object takes a request.
func (s listing) many(n int) int {
	if store.TraitsOf(s.with(nil)).Remote {
		return min(n, 1200)
	}
	return n
}

// listMany: all of 10,000 children, each once, and yield may use the driver meanwhile.
func (s listing) listMany() {
	objects, want := map[string][]byte{}, []string{}
	for i := range s.many(10_000) {
		name := fmt.Sprintf("%d.%d", i/100, i%100)
		objects["many/"+name] = nil
		want = append(want, name)
	}
	d := s.listed(objects)
	s.wantList(d, "many", want...)
	asked := 0
	err := d.List(s.Context(), "many", func(e store.Entry) error {
		if asked++; asked%1000 != 1 {
			return nil
		}
		_, err := d.Stat(s.Context(), "many/"+e.Name)
		return err
	})
	if err != nil {
		s.Errorf("List with a yield that calls Stat: %v", err)
	}
}

// survey: the children of List, described as by Stat but without rights, whether the driver is a
// store.Surveyor or Store does it. Of a directory it may be the name alone.
func (s listing) survey() {
	d := s.listed(map[string][]byte{"a/zarr.json": []byte("{}"), "a/empty": nil, "a/c/0": {1, 2, 3},
		"b": {4}})
	st := store.New(d, "test")
	s.describes(st, d)
	s.describes(store.New(struct{ store.Driver }{d}, "test"), d) // by a Stat of each
	stop := errors.New("stop")
	if err := st.Survey(s.Context(), "a", func(store.Entry, store.Info) error {
		return stop
	}); err != stop {
		s.Errorf("Survey with a yield that fails: %v, want its own error", err)
	}
	if err := st.Survey(s.Context(), "none", nil); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Survey of a missing directory: %v, want fs.ErrNotExist", err)
	}
}

// describes holds that a survey of each directory has the children that d lists, and says of each
// what Stat of d says.
func (s listing) describes(st *store.Store, d store.Driver) {
	for _, dir := range []string{"", "a", "a/c"} {
		listed, surveyed := map[store.Entry]bool{}, map[store.Entry]bool{}
		err := d.List(s.Context(), dir, func(e store.Entry) error { listed[e] = true; return nil })
		if err != nil {
			s.Fatal(err)
		}
		err = st.Survey(s.Context(), dir, func(e store.Entry, got store.Info) error {
			surveyed[e] = true
			key := strings.TrimPrefix(dir+"/"+e.Name, "/")
			want, err := d.Stat(s.Context(), key)
			want.Rights = store.Rights{}
			isName := e.Dir && got == store.Info{Name: e.Name, Dir: true}
			if err != nil || got != want && !isName {
				s.Errorf("Survey(%q): %+v, Stat reports %+v, %v", dir, got, want, err)
			}
			return nil
		})
		if err != nil || !maps.Equal(listed, surveyed) {
			s.Errorf("Survey(%q): %v, %v; List has %v", dir, surveyed, err, listed)
		}
	}
}
