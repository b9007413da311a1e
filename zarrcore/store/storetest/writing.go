package storetest

import (
	"bytes"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// put: makes what it needs, replaces what is there, and leaves no other name behind.
func (s *suite) put() {
	w := s.writer(nil)
	for _, key := range []string{"a", "x/y/z", "x/y/w", "x/v"} {
		for _, data := range [][]byte{[]byte("first of " + key), pattern(7, 100_000), nil, []byte("last")} {
			if err := w.Put(s.Context(), key, data); err != nil {
				s.Fatalf("Put(%q): %v", key, err)
			}
			s.wantContent(w, key, data)
		}
	}
	s.wantList(w, "", "a", "x/")
	s.wantList(w, "x", "y/", "v")
	s.wantList(w, "x/y", "z", "w")
}

// putKeepsNothing: data belongs to the caller again after Put.
func (s *suite) putKeepsNothing() {
	w := s.writer(nil)
	data := []byte("as it was")
	if err := w.Put(s.Context(), "a", data); err != nil {
		s.Fatal(err)
	}
	copy(data, "overwritten")
	s.wantContent(w, "a", []byte("as it was"))
}

// delete: the object and nothing else; a missing one, or a directory, is fs.ErrNotExist.
func (s *suite) delete() {
	w := s.writer(map[string][]byte{"a": nil, "dir/b": nil, "dir/c": nil})
	o := s.must(w, "dir/b")
	if err := w.Delete(s.Context(), "dir/b"); err != nil {
		s.Errorf("Delete: %v", err)
	}
	s.wantMissing(w, "dir/b")
	if o.Size() != 0 {
		s.Errorf("an open object changed its size when it was deleted")
	}
	for _, key := range []string{"dir/b", "none", "none/none", "a/none", "dir"} {
		if err := w.Delete(s.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("Delete(%q): %v, want fs.ErrNotExist", key, err)
		}
	}
	s.wantList(w, "", "a", "dir/")
	s.wantList(w, "dir", "c")
}

// replace: an object opened before shows the whole old content, or the new one, or fails; its version differs from the new one's,
// also if size and content are the same.
func (s *suite) replace() {
	old, fresh := pattern(1, 300_000), pattern(2, 300_000)
	w := s.writer(map[string][]byte{"a": old})
	seen := map[string]bool{}
	for i, data := range [][]byte{fresh, old, old, fresh[:10], nil, nil} {
		o := s.must(w, "a")
		if v := o.Info().Version; seen[v] {
			s.Errorf("replacement %d has a version %q that was there before", i, v)
		} else {
			seen[v] = true
		}
		before, _ := content(s.Context(), w, "a")
		if err := w.Put(s.Context(), "a", data); err != nil {
			s.Fatal(err)
		}
		s.wantContent(w, "a", data)
		p := make([]byte, o.Size())
		n, err := o.ReadAt(p, 0)
		if n == len(p) && !bytes.Equal(p, before) && !bytes.Equal(p, data) {
			s.Errorf("replacement %d: an object opened before shows %s (%v): neither old nor new", i, brief(p[:n]), err)
		}
	}
}

// replaceRace: readers never see a mix while an object is being replaced, and never miss it.
func (s *suite) replaceRace() {
	const size = 64 << 10
	w := s.writer(map[string][]byte{"dir/a": bytes.Repeat([]byte{0}, size)})
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !done.Load() {
				s.wantUniform(w, "dir/a")
			}
		})
	}
	for i := range 100 {
		// Sizes differ too, so that a mix of one's size and another's bytes shows.
		if err := w.Put(s.Context(), "dir/a", bytes.Repeat([]byte{byte(i)}, size-i*100)); err != nil {
			s.Errorf("Put: %v", err)
		}
	}
	done.Store(true)
	wg.Wait()
}

// wantUniform expects an object as replaceRace puts them: all bytes i, and size-i*100 of them.
func (s *suite) wantUniform(d store.Driver, key string) {
	data, err := content(s.Context(), d, key)
	if err != nil {
		s.Errorf("while it is being replaced: %v", err)
		return
	}
	if len(data) == 0 || len(data) != 64<<10-int(data[0])*100 || bytes.Count(data, data[:1]) != len(data) {
		s.Errorf("while it is being replaced: a mix of two versions, %s", brief(data))
	}
}
