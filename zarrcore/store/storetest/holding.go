package storetest

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// holding tests directories that are held open, made at once, and told apart.
type holding struct{ *suite }

// failedCommit: where an object cannot be put in its place, the directories that were made for it
// are removed.
func (s holding) failedCommit() {
	w, st := s.writer(map[string][]byte{"g/a": nil})
	for _, key := range []string{"new/a", "g/new/deep/a"} {
		if _, err := s.stage(st, key, nil).Commit(s.Context(),
			store.If{Version: "never"}); !errors.Is(err, store.ErrConflict) {
			s.Errorf("Commit(%q) over a version that is not there: %v, want store.ErrConflict", key,
				err)
		}
	}
	s.wantList(w, "", "g/")
	s.wantList(w, "g", "a")
}

// held holds a directory, or skips the test; the test's end closes it.
func (s holding) held(
	w store.Writer, st *store.Store, dir, as string,
) (store.Driver, *store.Store) {
	s.Helper()
	if _, ok := w.(store.Holder); !ok {
		s.Skip("the backend cannot hold directories")
	}
	h, err := st.Hold(s.Context(), dir, as)
	if err != nil {
		s.Fatalf("Hold(%q): %v", dir, err)
	}
	s.Cleanup(func() { h.Close() })
	return stored{h}, h
}

// hold: a directory is a store of its own; keys are written as they are outside of it.
func (s holding) hold() {
	w, st := s.writer(map[string][]byte{"x": nil, "g/zarr.json": []byte("g"),
		"g/a/zarr.json": []byte("a"), "g/a/c/0": []byte("0")})
	d, h := s.held(w, st, "g/a", "g/a")
	for _, dir := range []string{"none", "g/none/none", "x", "g/zarr.json"} {
		if _, err := st.Hold(s.Context(), dir, dir); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("Hold(%q): %v, want fs.ErrNotExist", dir, err)
		}
	}
	s.put(h, "g/a/c/1", []byte("1"))
	s.wantContent(d, "g/a/c/0", []byte("0"))
	s.wantContent(w, "g/a/c/1", []byte("1"))
	s.wantList(d, "g/a", "zarr.json", "c/")
	s.wantList(d, "g/a/c", "0", "1")
	for _, key := range []string{"x", "g/zarr.json", "g/ab/c", "g/a", "c/0"} {
		if err := h.Put(s.Context(), key, nil); !errors.Is(err, store.ErrInvalidKey) {
			s.Errorf("Put(%q) into g/a: %v, want store.ErrInvalidKey", key, err)
		}
	}
	if err := h.Delete(s.Context(), "g/a/c/0", store.If{}); err != nil {
		s.Error(err)
	}
	if err := h.SyncDirs(s.Context(), []string{"g/a/c/0", "g/a/c/1"}); err != nil {
		s.Error(err)
	}
	s.wantList(w, "g/a/c", "1")
	_, as := s.held(w, st, "g/a", "before")
	s.put(as, "before/c/2", []byte("2"))
	s.wantContent(w, "g/a/c/2", []byte("2"))
}

// holdRenamed: what is written goes where the directory is by then, also if another one has its
// name.
func (s holding) holdRenamed() {
	w, st := s.writer(map[string][]byte{"g/a/zarr.json": []byte("a")})
	d, h := s.held(w, st, "g/a", "g/a")
	before := s.stage(h, "g/a/c/0", []byte("0"))
	for _, r := range [][2]string{{"g/a", "g/b"}, {"g", "f"}} {
		if err := st.Dirs().Rename(s.Context(), r[0], r[1]); err != nil {
			s.Fatal(err)
		}
	}
	s.put(st, "g/a/zarr.json", []byte("another"))
	if _, err := before.Commit(s.Context(), store.If{}); err != nil {
		s.Error(err)
	}
	s.put(h, "g/a/c/1", []byte("1"))
	s.wantContent(w, "f/b/c/0", []byte("0"))
	s.wantContent(w, "f/b/c/1", []byte("1"))
	s.wantContent(d, "g/a/zarr.json", []byte("a"))
	s.wantList(w, "g/a", "zarr.json")
}

// holdRemoved: a program that holds a directory never recreates it after its removal.
func (s holding) holdRemoved() {
	w, st := s.writer(map[string][]byte{"keep": nil, "g/a/zarr.json": []byte("a")})
	d, h := s.held(w, st, "g/a", "g/a")
	before := s.stage(h, "g/a/c/0", []byte("0"))
	if err := st.Dirs().RemoveAll(s.Context(), "g"); err != nil {
		s.Fatal(err)
	}
	if _, err := before.Commit(s.Context(), store.If{}); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Commit into a directory that was removed: %v, want fs.ErrNotExist", err)
	}
	s.wantList(w, "", "keep")
	s.put(st, "g/a/zarr.json", []byte("another"))
	if err := h.Put(s.Context(), "g/a/c/1", nil); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Put into a directory that was removed: %v, want fs.ErrNotExist", err)
	}
	s.wantMissing(d, "g/a/zarr.json")
	s.wantList(w, "g/a", "zarr.json")
}

// holdRace: while a directory is renamed to and fro each object is put into it, and none is lost.
func (s holding) holdRace() {
	w, st := s.writer(map[string][]byte{"g/a/zarr.json": nil})
	_, h := s.held(w, st, "g/a", "g/a")
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			st.Dirs().Rename(s.Context(), "g/a", "g/b")
			st.Dirs().Rename(s.Context(), "g/b", "g/a")
		}
	})
	for i := range 300 {
		s.put(h, fmt.Sprintf("g/a/c/%d/%d", i%50, i), pattern(uint64(i), 10))
	}
	done.Store(true)
	wg.Wait()
	for i := range 300 {
		s.wantContent(w, fmt.Sprintf("g/a/c/%d/%d", i%50, i), pattern(uint64(i), 10))
	}
	s.wantList(w, "g", "a/")
}

// stored is a Store as a Driver to read from.
type stored struct{ *store.Store }

// making: a directory and all its objects, or nothing.
func (s holding) making() {
	w, st := s.writer(map[string][]byte{"g/zarr.json": nil, "x": nil})
	objects := map[string][]byte{".zarray": []byte("array"), ".zattrs": []byte("attrs")}
	if err := st.Make(s.Context(), "g/a", "", objects); err != nil {
		s.Fatal(err)
	}
	s.wantList(w, "g", "zarr.json", "a/")
	s.wantList(w, "g/a", ".zarray", ".zattrs")
	s.wantContent(w, "g/a/.zarray", []byte("array"))
	s.wantContent(w, "g/a/.zattrs", []byte("attrs"))
	if err := st.Make(s.Context(), "g/a", "", objects); !errors.Is(err, fs.ErrExist) {
		s.Errorf("Make where there is a directory: %v, want fs.ErrExist", err)
	}
	if _, ok := w.(store.Maker); !ok {
		return
	}
	if err := st.Make(s.Context(), "x", "", objects); !errors.Is(err, fs.ErrExist) {
		s.Errorf("Make where there is an object: %v, want fs.ErrExist", err)
	}
	if err := st.Make(s.Context(), "none/a", "", objects); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Make in a directory that is missing: %v, want fs.ErrNotExist", err)
	}
	s.wantList(w, "", "g/", "x")
}

// identity: that of a directory stays when the directory is renamed or changed. One that is
// recreated under its name has another.
func (s holding) identity() {
	_, st := s.writer(map[string][]byte{"g/a/zarr.json": []byte("a"), "b/zarr.json": []byte("b")})
	of := func(dir string) string {
		s.Helper()
		identity, err := st.Dirs().Identity(s.Context(), dir)
		if err != nil {
			s.Fatalf("Identity(%q): %v", dir, err)
		}
		return identity
	}
	was := of("g/a")
	if was == "" {
		s.Skip("the backend does not know directories apart")
	}
	s.put(st, "g/a/c/0", []byte("0"))
	if err := st.Dirs().Rename(s.Context(), "g", "f"); err != nil {
		s.Fatal(err)
	}
	if now := of("f/a"); now != was {
		s.Errorf("after a rename it is %q, expected %q", now, was)
	}
	if err := st.Dirs().RemoveAll(s.Context(), "f/a"); err != nil {
		s.Fatal(err)
	}
	if _, err := st.Dirs().Identity(s.Context(), "f/a"); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("after a removal: %v, want fs.ErrNotExist", err)
	}
	time.Sleep(20 * time.Millisecond) // file systems note times by ticks of a few milliseconds
	s.put(st, "f/a/zarr.json", []byte("a"))
	if now := of("f/a"); now == was || now == of("b") || now == of("") {
		s.Errorf("a recreated directory has %q, others %q, %q, %q", now, was, of("b"), of(""))
	}
}
