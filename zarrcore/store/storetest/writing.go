package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// writing tests that objects are staged, committed and deleted, and directories renamed and
// removed.
type writing struct{ *suite }

// putting: Put makes what it needs, replaces what is there, and leaves no other name behind.
func (s writing) putting() {
	w, st := s.writer(nil)
	for _, key := range []string{"a", "x/y/z", "x/y/w", "x/v"} {
		for _, data := range [][]byte{[]byte("first of " + key), pattern(7, 100_000), nil,
			[]byte("last")} {
			s.put(st, key, data)
			s.wantContent(w, key, data)
		}
	}
	s.wantList(w, "", "a", "x/")
	s.wantList(w, "x", "y/", "v")
	s.wantList(w, "x/y", "z", "w")
	if !st.IsWritable() {
		s.Error("a store that was written to is not Writable")
	}
}

// keepsNothing: data belongs to the caller again after Stage.
func (s writing) keepsNothing() {
	w, st := s.writer(nil)
	data := []byte("as it was")
	o := s.stage(st, "a", data)
	copy(data, "overwritten")
	if _, err := o.Commit(s.Context(), store.If{}); err != nil {
		s.Fatal(err)
	}
	s.wantContent(w, "a", []byte("as it was"))
}

// parts: an object that is written in parts of any size, and over what was written, is one object.
// Where writing fails nothing is staged, and the error comes back as it is.
func (s writing) parts() {
	w, st := s.writer(nil)
	want := pattern(7, 3<<20)
	o, err := st.StageParts(s.Context(), "a/0", func(dst store.Parts) error {
		begin := 0
		for _, end := range []int{5, 1 << 20, 2<<20 + 1<<19, 3<<20 - 1, 3 << 20} {
			if n, err := dst.Write(make([]byte, end-begin)); err != nil || n != end-begin {
				return fmt.Errorf("%d bytes written, %w", n, err)
			}
			begin = end
		}
		for off := 0; off < len(want); off += 1 << 18 {
			if _, err := dst.WriteAt(want[off:off+1<<18], int64(off)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := o.Commit(s.Context(), store.If{}); err != nil {
		s.Fatal(err)
	}
	s.wantContent(w, "a/0", want)

	failure := errors.New("the caller's own")
	o, err = st.StageParts(s.Context(), "a/1", func(dst store.Parts) error {
		_, _ = dst.Write(want)
		return failure
	})
	if o != nil || err != failure {
		s.Errorf("a write that fails: %v, %v; want %v", o, err, failure)
	}
	s.wantList(w, "a", "0")
}

// staged: objects are visible from Commit on, not before, in any order, whatever was committed
// between.
func (s writing) staged() {
	w, st := s.writer(map[string][]byte{"a": []byte("old")})
	var all []*store.Staged
	objects := map[string][]byte{}
	for i, key := range []string{"a", "x/b", "x/y/c", "x/y/d", "e"} {
		objects[key] = pattern(uint64(i), 1000*i)
		all = append(all, s.stage(st, key, objects[key]))
	}
	if err := st.SyncStaged(s.Context(), all); err != nil {
		s.Errorf("SyncStaged: %v", err)
	}
	s.wantList(w, "", "a")
	s.wantContent(w, "a", []byte("old"))
	s.put(st, "a", []byte("between"))
	for _, o := range slices.Backward(all) {
		if _, err := o.Commit(s.Context(), store.If{}); err != nil {
			s.Error(err)
		}
	}
	for key, data := range objects {
		s.wantContent(w, key, data)
	}
	keys := append(slices.Collect(maps.Keys(objects)), "x/y", "x/missing", "no/directory/there")
	if err := st.SyncDirs(s.Context(), keys); err != nil {
		s.Errorf("SyncDirs: %v", err)
	}
	s.wantList(w, "", "a", "x/", "e")
	s.wantList(w, "x", "b", "y/")
}

// discarding: what is discarded was never there, nor what failed; each of them ends a staged
// object.
func (s writing) discarding() {
	w, st := s.writer(map[string][]byte{"a": []byte("old")})
	o := s.stage(st, "a", []byte("new"))
	o.Discard()
	o.Discard()
	if _, err := o.Commit(s.Context(), store.If{}); err == nil {
		s.Error("Commit after Discard: no error")
	}
	o = s.stage(st, "b", []byte("new"))
	_, err := o.Commit(s.Context(), store.If{Version: "none has this"})
	if !errors.Is(err, store.ErrConflict) {
		s.Errorf("Commit over a missing object if it has a version: %v, want store.ErrConflict",
			err)
	}
	if _, err := o.Commit(s.Context(), store.If{}); err == nil {
		s.Error("Commit after Commit: no error")
	}
	if err := st.SyncStaged(s.Context(), []*store.Staged{o}); err != nil {
		s.Errorf("SyncStaged of one that is no more: %v", err)
	}
	s.wantContent(w, "a", []byte("old"))
	s.wantList(w, "", "a")
}

// conditional: Commit replaces only what it was told to replace.
func (s writing) conditional() {
	w, st := s.writer(map[string][]byte{"a": []byte("old")})
	first := s.version(w, "a")
	commit := func(key, data string, version string) error {
		_, err := s.stage(st, key, []byte(data)).Commit(s.Context(), store.If{Version: version})
		return err
	}
	if err := commit("a", "refused", store.Absent); !errors.Is(err, store.ErrConflict) {
		s.Errorf("Commit if absent, over an object: %v, want store.ErrConflict", err)
	}
	if err := commit("x/new", "new", store.Absent); err != nil {
		s.Errorf("Commit if absent: %v", err)
	}
	if err := commit("a", "second", first); err != nil {
		s.Errorf("Commit over the version that is there: %v", err)
	}
	if err := commit("a", "refused", first); !errors.Is(err, store.ErrConflict) {
		s.Errorf("Commit over a version that was replaced: %v, want store.ErrConflict", err)
	}
	s.wantContent(w, "a", []byte("second"))
	if err := st.Delete(s.Context(), "a", store.If{}); err != nil {
		s.Fatal(err)
	}
	if err := commit("a", "refused", first); !errors.Is(err, store.ErrConflict) {
		s.Errorf("Commit over a version that was deleted: %v, want store.ErrConflict", err)
	}
	s.wantMissing(w, "a")
	if err := commit("a", "third", ""); err != nil {
		s.Errorf("Commit without condition: %v", err)
	}
	s.wantContent(w, "a", []byte("third"))
	s.wantList(w, "", "a", "x/")
}

// tells: Commit returns what Stat returns afterwards, so that the next Commit can be conditional
// without looking. It also says whether it has replaced an object.
func (s writing) tells() {
	w, st := s.writer(nil)
	cond := store.If{Version: store.Absent}
	for i := range 20 {
		info, err := s.stage(st, "x/a", pattern(1, i)).Commit(s.Context(), cond)
		if err != nil {
			s.Fatalf("commit %d: %v", i, err)
		}
		if info.Replaces != (i > 0) {
			s.Errorf("commit %d has replaced an object: %v", i, info.Replaces)
		}
		info.Replaces = false
		if stat, err := w.Stat(s.Context(), "x/a"); err != nil || stat != info {
			s.Errorf("Commit reports %+v, Stat %+v, %v", info, stat, err)
		}
		cond.Version = info.Version
	}
}

func (s writing) version(d store.Driver, key string) string {
	s.Helper()
	info, err := d.Stat(s.Context(), key)
	if err != nil || info.Version == "" {
		s.Fatalf("Stat(%q): %+v, %v; want a version", key, info, err)
	}
	return info.Version
}

// mergeRace: workers read an object, change their own number in it, and replace it if it is still
// the one they read: nothing is lost.
func (s writing) mergeRace() {
	const workers, rounds = 4, 50
	w, st := s.writer(map[string][]byte{"dir/a": make([]byte, 4*workers)})
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for range rounds {
				if err := Merge(s.Context(), st, "dir/a",
					func(data []byte) { increment(data[4*worker:]) }); err != nil {
					s.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := content(s.Context(), w, "dir/a")
	want := bytes.Repeat([]byte{rounds, 0, 0, 0}, workers)
	if err != nil || !bytes.Equal(got, want) {
		s.Errorf("after %d merges by each of %d workers: %v, %v; want %v", rounds, workers, got,
			err, want)
	}
	s.wantList(w, "dir", "a")
}

func increment(b []byte) { binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)+1) }

// Merge changes an object of at most 1 MiB as a flush does: it reads it, replaces it on condition
// that nobody else did meanwhile, and begins again on a conflict.
func Merge(ctx context.Context, st *store.Store, key string, change func(data []byte)) error {
	for {
		data, info, err := st.ReadAll(ctx, key, 1<<20)
		if err != nil {
			return err
		}
		change(data)
		o, err := st.Stage(ctx, key, data)
		if err != nil {
			return err
		}
		_, err = o.Commit(ctx, store.If{Version: info.Version})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// deleting: the object and nothing else; a missing one, or a directory, is fs.ErrNotExist.
func (s writing) deleting() {
	w, st := s.writer(map[string][]byte{"a": nil, "dir/b": nil, "dir/c": nil})
	o := s.must(w, "dir/b")
	if err := st.Delete(s.Context(), "dir/b", store.If{}); err != nil {
		s.Errorf("Delete: %v", err)
	}
	s.wantMissing(w, "dir/b")
	if o.Size() != 0 {
		s.Errorf("an open object changed its size when it was deleted")
	}
	for _, key := range []string{"dir/b", "none", "none/none", "a/none", "dir"} {
		if err := st.Delete(s.Context(), key, store.If{}); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("Delete(%q): %v, want fs.ErrNotExist", key, err)
		}
	}
	s.wantList(w, "", "a", "dir/")
	s.wantList(w, "dir", "c")
}

// deletingIf: only the version that was meant is deleted.
func (s writing) deletingIf() {
	w, st := s.writer(map[string][]byte{"a": []byte("old")})
	first := s.version(w, "a")
	s.put(st, "a", []byte("new"))
	for _, key := range []string{"a", "none", "none/none"} {
		err := st.Delete(s.Context(), key, store.If{Version: first})
		if !errors.Is(err, store.ErrConflict) {
			s.Errorf("Delete(%q) of a version that is not there: %v, want store.ErrConflict", key,
				err)
		}
	}
	s.wantContent(w, "a", []byte("new"))
	if err := st.Delete(s.Context(), "a", store.If{Version: s.version(w, "a")}); err != nil {
		s.Errorf("Delete of the version that is there: %v", err)
	}
	s.wantList(w, "")
}

// replace: an object opened before shows the whole old content, or the new one, or fails. Its
// version differs from the new one's, also if size and content are the same.
func (s writing) replace() {
	old, fresh := pattern(1, 300_000), pattern(2, 300_000)
	w, st := s.writer(map[string][]byte{"a": old})
	seen := map[string]bool{}
	every := store.TraitsOf(w).Versions == store.VersionEvery
	for i, data := range [][]byte{fresh, old, old, fresh[:10], nil, nil} {
		o := s.must(w, "a")
		if v := o.Info().Version; every && seen[v] {
			s.Errorf("replacement %d has a version %q that was there before", i, v)
		} else {
			seen[v] = true
		}
		before, _ := content(s.Context(), w, "a")
		s.put(st, "a", data)
		s.wantContent(w, "a", data)
		p := make([]byte, o.Size())
		n, err := o.ReadAt(p, 0)
		if n == len(p) && !bytes.Equal(p, before) && !bytes.Equal(p, data) {
			s.Errorf("replacement %d: an object opened before shows %s (%v): neither old nor new",
				i, brief(p[:n]), err)
		}
	}
}

// versions: no version comes twice, however fast objects of one size follow each other, whether
// somebody has them open or not.
func (s writing) versions() {
	w, st := s.writer(map[string][]byte{"a": []byte("x")})
	seen, object := map[string]bool{}, []byte("x\x00\x00")
	for i := range 500 {
		if store.TraitsOf(w).Versions != store.VersionEvery {
			binary.LittleEndian.PutUint16(object[1:], uint16(i))
		}
		info, err := s.stage(st, "a", object).Commit(s.Context(), store.If{})
		if err != nil || seen[info.Version] {
			s.Fatalf("commit %d: version %q came before, or %v", i, info.Version, err)
		}
		seen[info.Version] = true
	}
	s.wantContent(w, "a", object)
}

// replaceRace: readers never see a mix while an object is being replaced, and never miss it.
func (s writing) replaceRace() {
	const size = 64 << 10
	w, st := s.writer(map[string][]byte{"dir/a": bytes.Repeat([]byte{0}, size)})
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
		data := bytes.Repeat([]byte{byte(i)}, size-i*100)
		if err := st.Put(s.Context(), "dir/a", data); err != nil {
			s.Errorf("Put: %v", err)
		}
	}
	done.Store(true)
	wg.Wait()
}

// wantUniform expects an object as replaceRace puts them: all bytes i, and size-i*100 of them.
func (s writing) wantUniform(d store.Driver, key string) {
	data, err := content(s.Context(), d, key)
	if err != nil {
		s.Errorf("while it is being replaced: %v", err)
		return
	}
	if len(data) == 0 || len(data) != 64<<10-int(data[0])*100 ||
		bytes.Count(data, data[:1]) != len(data) {
		s.Errorf("while it is being replaced: a mix of two versions, %s", brief(data))
	}
}

// removeAll: the directory, all below it, nothing beside it.
func (s writing) removeAll() {
	w, st := s.writer(map[string][]byte{
		"g/zarr.json": nil, "g/a/zarr.json": nil, "g/a/c/0/0": nil, "g/a/c/0/1": nil, "ga": nil,
		"g.a/x": nil, "h/g/x": nil,
	})
	if err := st.Dirs().RemoveAll(s.Context(), "g/a"); err != nil {
		s.Error(err)
	}
	s.wantList(w, "g", "zarr.json")
	for _, dir := range []string{"g/a", "none", "ga", "none/none", "ga/x"} {
		if err := st.Dirs().RemoveAll(s.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("RemoveAll(%q): %v, want fs.ErrNotExist", dir, err)
		}
	}
	if err := st.Dirs().RemoveAll(s.Context(), ""); err == nil {
		s.Error("RemoveAll of the root: no error")
	}
	if err := st.Dirs().RemoveAll(s.Context(), "g"); err != nil {
		s.Error(err)
	}
	s.wantList(w, "", "ga", "g.a/", "h/")
	s.wantList(w, "h/g", "x")
	s.put(st, "g/new", nil)
	s.wantList(w, "g", "new")
}

// removeAlone: the directory, unless it holds more than what is its own.
func (s writing) removeAlone() {
	isOwn := func(name string) bool { return name == "zarr.json" }
	for _, more := range []string{"n", "n/zarr.json", "zarr.json.old"} {
		w, st := s.writer(map[string][]byte{"g/zarr.json": nil, "g/" + more: nil, "ga": nil})
		err := st.Dirs().RemoveAlone(s.Context(), "g", isOwn)
		if !errors.Is(err, store.ErrNotEmpty) {
			s.Errorf("RemoveAlone with %s: %v, want store.ErrNotEmpty", more, err)
		}
		s.wantContent(w, "g/"+more, nil)
		s.wantContent(w, "g/zarr.json", nil)
		if err := st.Delete(s.Context(), "g/"+more, store.If{}); err != nil {
			s.Fatal(err)
		}
		if err := st.Dirs().Prune(s.Context(), "g"); err != nil {
			s.Fatal(err)
		}
		if err := st.Dirs().RemoveAlone(s.Context(), "g", isOwn); err != nil {
			s.Error(err)
		}
		s.wantList(w, "", "ga")
		for _, dir := range []string{"g", "none/none", "ga"} {
			err := st.Dirs().RemoveAlone(s.Context(), dir, isOwn)
			if !errors.Is(err, fs.ErrNotExist) {
				s.Errorf("RemoveAlone(%q): %v, want fs.ErrNotExist", dir, err)
			}
		}
	}
}

// rename: objects and directories get another key, with all below; what is there stays.
func (s writing) rename() {
	w, st := s.writer(map[string][]byte{"g/zarr.json": []byte("g"), "g/a/c/0": []byte("a"),
		"ga": []byte("ga"), "h/x": nil})
	refusals := []struct {
		from, to string
		want     error
	}{
		{"none", "b", fs.ErrNotExist}, {"none/none", "b", fs.ErrNotExist},
		{"ga/x", "b", fs.ErrNotExist},
		{"g", "ga", fs.ErrExist}, {"g", "h", fs.ErrExist}, {"ga", "h", fs.ErrExist},
		{"ga", "g/zarr.json", fs.ErrExist}, {"g", "g", fs.ErrExist},
		{"g", "g/b", fs.ErrInvalid}, {"g", "g/a/c/1", fs.ErrInvalid},
		{"", "b", store.ErrInvalidKey}, {"g", "", store.ErrInvalidKey},
		{"g", "../g", store.ErrInvalidKey}, {"g", "none/g", fs.ErrNotExist},
		{"g", "h/none/g", fs.ErrNotExist},
	}
	for _, r := range refusals {
		if err := st.Dirs().Rename(s.Context(), r.from, r.to); !errors.Is(err, r.want) {
			s.Errorf("Rename(%q, %q): %v, want %v", r.from, r.to, err, r.want)
		}
	}
	for _, r := range [][2]string{{"g", "gg"}, {"gg/a", "h/b"}, {"ga", "h/ga"}} {
		if err := st.Dirs().Rename(s.Context(), r[0], r[1]); err != nil {
			s.Errorf("Rename(%q, %q): %v", r[0], r[1], err)
		}
	}
	s.wantContent(w, "gg/zarr.json", []byte("g"))
	s.wantContent(w, "h/b/c/0", []byte("a"))
	s.wantContent(w, "h/ga", []byte("ga"))
	s.wantList(w, "gg", "zarr.json")
	s.wantList(w, "", "gg/", "h/")
}

// replaceTree: a directory takes the place of another, which goes with all below it.
func (s writing) replaceTree() {
	w, st := s.writer(map[string][]byte{
		"a/zarr.json": []byte("a"), "a/c/0": nil, "a/c/1": nil,
		"b/zarr.json": []byte("b"), "b/c/0": []byte("b0"),
		"g/h/zarr.json": []byte("h"), "o": nil,
	})
	if err := st.Dirs().Replace(s.Context(), "b", "a"); errors.Is(err, errors.ErrUnsupported) {
		s.wantContent(w, "a/zarr.json", []byte("a"))
		s.wantContent(w, "b/zarr.json", []byte("b"))
		return
	} else if err != nil {
		s.Error(err)
	}
	refusals := []struct {
		from, to string
		want     error
	}{
		{"b", "a", fs.ErrNotExist}, {"a", "b", fs.ErrNotExist}, {"o", "a", fs.ErrNotExist},
		{"a", "o", fs.ErrNotExist}, {"a", "none/a", fs.ErrNotExist}, {"a", "", store.ErrInvalidKey},
		{"g", "g/h", fs.ErrInvalid}, {"g/h", "g", fs.ErrInvalid},
	}
	for _, r := range refusals {
		if err := st.Dirs().Replace(s.Context(), r.from, r.to); !errors.Is(err, r.want) {
			s.Errorf("Replace(%q, %q): %v, want %v", r.from, r.to, err, r.want)
		}
	}
	s.wantContent(w, "a/zarr.json", []byte("b"))
	s.wantContent(w, "a/c/0", []byte("b0"))
	s.wantList(w, "a/c", "0")
	if err := st.Dirs().Replace(s.Context(), "a", "g/h"); err != nil {
		s.Error(err)
	}
	s.wantContent(w, "g/h/zarr.json", []byte("b"))
	s.wantList(w, "", "g/", "o")
	s.put(st, "a", nil) // the name is free
}
