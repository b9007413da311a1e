package storetest

import (
	"errors"
	"io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// linking tests links.
type linking struct{ *suite }

// linker opens a store that can hold links, or skips the test.
func (s linking) linker(objects map[string][]byte) (store.LinkWriter, *store.Store) {
	s.Helper()
	w, ok := s.with(objects).(store.LinkWriter)
	if !ok {
		s.Skip("the backend cannot hold links")
	}
	return w, store.New(w, "test")
}

// link makes a link.
func (s linking) link(st *store.Store, key, text string) {
	s.Helper()
	if err := st.Links().Put(s.Context(), key, text, false); err != nil {
		s.Fatal(err)
	}
}

// wantLink expects a link at key, of that text, which leads to target; "-" is nothing.
func (s linking) wantLink(st *store.Store, key, text, target string) {
	s.Helper()
	l, ok, err := st.Links().At(s.Context(), key)
	if err != nil || !ok || l.Text != text || (l.Err == nil) != (target != "-") || l.Err == nil &&
		l.Target != target {
		s.Errorf("Link(%q): %+v, %v, %v; want the text %q and the target %q", key, l, ok, err, text,
			target)
	}
	if got, err := st.Links().Resolve(s.Context(), key); (err == nil) != (target != "-") ||
		err == nil && got != target {
		s.Errorf("Resolve(%q): %q, %v; want %q", key, got, err, target)
	}
}

// links: they are distinguished from their targets, followed by reads, and listed as links.
func (s linking) links() {
	w, st := s.linker(map[string][]byte{"g/zarr.json": []byte("g"), "g/a/c/0": []byte("0"),
		"o": []byte("o")})
	for key, text := range map[string]string{"l": "g", "g/up": "..", "g/a/c/1": "0", "far": "l/a",
		"none": "n/n", "self": "self", "lo": "./o"} {
		s.link(st, key, text)
	}
	s.wantLink(st, "l", "g", "g")
	s.wantLink(st, "g/up", "..", "")
	s.wantLink(st, "g/a/c/1", "0", "g/a/c/0")
	s.wantLink(st, "far", "l/a", "g/a")
	s.wantLink(st, "lo", "./o", "o")
	s.wantLink(st, "none", "n/n", "-")
	s.wantLink(st, "self", "self", "-")
	s.wantContent(w, "l/zarr.json", []byte("g"))
	s.wantContent(w, "far/c/1", []byte("0"))
	s.wantContent(w, "lo", []byte("o"))
	s.wantList(w, "", "g/", "o", "l/", "far/", "none", "self", "lo")
	s.wantList(w, "far/c", "0", "1")
	links := map[string]bool{}
	if err := st.List(s.Context(), "", func(e store.Entry) error {
		links[e.Name] = e.Link
		return nil
	}); err != nil {
		s.Error(err)
	}
	for _, name := range []string{"g", "o", "l", "far", "none", "self", "lo"} {
		if want := name != "g" && name != "o"; links[name] != want {
			s.Errorf("List: %q is a link: %v, want %v", name, links[name], want)
		}
	}
	for _, key := range []string{"g", "o", "missing", "g/a", "o/x"} {
		if l, ok, err := st.Links().At(s.Context(), key); ok || err != nil {
			s.Errorf("Link(%q): %+v, %v, %v; want none", key, l, ok, err)
		}
	}
	for _, key := range []string{"l/a", "l/none", "far/c/0", "g/up/g"} {
		if _, ok, err := st.Links().At(s.Context(), key); ok ||
			!errors.Is(err, store.ErrThroughLink) || !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("Link(%q): %v, %v; want store.ErrThroughLink", key, ok, err)
		}
	}
	for key, want := range map[string]string{"l/a": "g/a", "far/c/1": "g/a/c/0", "g/up/l/up": "",
		"g/a": "g/a"} {
		if got, err := st.Links().Resolve(s.Context(), key); got != want || err != nil {
			s.Errorf("Resolve(%q): %q, %v; want %q", key, got, err, want)
		}
	}
	if got, err := st.Links().Resolve(s.Context(), "l/missing"); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Resolve of what is missing: %q, %v", got, err)
	}
}

// changedLinks: what removes and renames acts on the link, goes through none, and leaves what links
// lead to.
func (s linking) changedLinks() {
	w, st := s.linker(map[string][]byte{"g/zarr.json": []byte("g"), "g/a/c/0": []byte("0"),
		"o": []byte("o")})
	ctx := s.Context()
	for key, text := range map[string]string{"l": "g", "m": "g", "n": "none", "lo": "o",
		"g/l": "a"} {
		s.link(st, key, text)
	}
	for op, err := range map[string]error{
		"RemoveAll":   st.Dirs().RemoveAll(ctx, "l/a"),
		"Rename from": st.Dirs().Rename(ctx, "l/a", "x"),
		"Rename to":   st.Dirs().Rename(ctx, "o", "l/o"),
		"Hold":        s.hold(st, "l"), "Hold below": s.hold(st, "l/a"),
		"PutLink":    st.Links().Put(ctx, "l/new", "a", false),
		"RenameLink": st.Links().Rename(ctx, "m", "l/m"),
	} {
		if !errors.Is(err, store.ErrThroughLink) {
			s.Errorf("%s through a link: %v, want store.ErrThroughLink", op, err)
		}
	}
	for _, key := range []string{"g", "o", "m", "n"} {
		if err := st.Links().Put(ctx, key, "g", false); !errors.Is(err, fs.ErrExist) {
			s.Errorf("PutLink(%q): %v, want fs.ErrExist", key, err)
		}
	}
	for _, key := range []string{"g", "o"} {
		if err := errors.Join(st.Links().Put(ctx, key, "g", true),
			st.Links().Rename(ctx, "m", key)); !errors.Is(err, fs.ErrExist) {
			s.Errorf("a link replaces %q: %v, want fs.ErrExist", key, err)
		}
	}
	if err := errors.Join(st.Links().Put(ctx, "n", "g/a", true), st.Dirs().Rename(ctx, "m", "g/m"),
		st.Links().Rename(ctx, "l", "lo")); err != nil {
		s.Error(err)
	}
	s.wantLink(st, "n", "g/a", "g/a")
	s.wantLink(st, "g/m", "g", "-") // as in any file system: from there its text leads nowhere
	s.wantLink(st, "lo", "g", "g")
	for _, key := range []string{"lo", "g/m"} {
		if err := st.Dirs().RemoveAll(ctx, key); err != nil {
			s.Errorf("RemoveAll(%q): %v", key, err)
		}
	}
	if err := st.Dirs().Rename(ctx, "g", "h"); err != nil {
		s.Error(err)
	}
	s.wantLink(st, "h/l", "a", "h/a")
	s.wantLink(st, "n", "g/a", "-")
	s.wantList(w, "", "h/", "n", "o")
	s.wantContent(w, "h/a/c/0", []byte("0"))
	s.wantContent(w, "o", []byte("o"))
	if err := st.Dirs().RemoveAll(ctx, "h"); err != nil {
		s.Error(err)
	}
	s.wantList(w, "", "n", "o")
}

// hold holds a directory for a moment.
func (s linking) hold(st *store.Store, dir string) error {
	held, err := st.Hold(s.Context(), dir, dir)
	if err == nil {
		held.Close()
	}
	return err
}

// putThroughLinks: an object in the place of a link replaces the link, and not what it leads to.
func (s linking) putThroughLinks() {
	w, st := s.linker(map[string][]byte{"a/0": []byte("0")})
	s.link(st, "a/1", "0")
	s.link(st, "a/2", "none")
	s.put(st, "a/1", []byte("1"))
	s.put(st, "a/2", []byte("2"))
	s.wantContent(w, "a/0", []byte("0"))
	s.wantContent(w, "a/1", []byte("1"))
	s.wantContent(w, "a/2", []byte("2"))
	s.wantList(w, "a", "0", "1", "2")
}
