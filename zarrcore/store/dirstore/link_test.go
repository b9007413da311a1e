package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Where links lead: which target, by which text, or why nowhere. That of a link that leaves the
// store is never told.
func TestLinksLead(t *testing.T) {
	dir := hostile(t)
	more := map[string]string{
		"g/abs-in": dir + "/obj", "abs-store": dir, "g/h/abs-group": dir + "/g/../g",
		"abs-none": dir + "/none", "rel-around": "../store/g/h",
		"through": "in-dir/h", "far-none": "none/../../secret", "file-dir": "obj/x",
		"abs-chain": dir + "/in-chain",
	}
	for name, target := range more {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		key, text, target string
		dir               bool
		err               error
	}{
		{"in-file", "g/obj", "g/obj", false, nil}, {"in-dir", "g", "g", true, nil},
		{"g/in-up", "../obj", "obj", false, nil},
		{"g/h/in-dir", "../../g", "g", true, nil}, {"in-chain", "in-dir/in-up", "obj", false, nil},
		{"g/loopdir", ".", "g", true, nil},
		{"through", "in-dir/h", "g/h", true, nil},
		{"abs-in", "obj", "obj", false, nil}, {"g/abs-in", "../obj", "obj", false, nil},
		{"abs-store", ".", "", true, nil},
		{"g/h/abs-group", "..", "g", true, nil}, {"abs-chain", "obj", "obj", false, nil},
		{"rel-self", "obj", "obj", false, nil}, {"rel-around", "g/h", "g/h", true, nil},
		{"dangling", "nothing", "", false, ErrDangling},
		{"abs-none", "none", "", false, ErrDangling}, {"file-dir", "obj/x", "", false, ErrDangling},
		{"loop", "loop", "", false, ErrLoop}, {"loop1", "loop2", "", false, ErrLoop},
		{"abs-file", "", "", false, ErrOutside}, {"abs-dir", "", "", false, ErrOutside},
		{"abs-root", "", "", false, ErrOutside},
		{"abs-proc", "", "", false, ErrOutside}, {"proc-fd", "", "", false, ErrOutside},
		{"rel-file", "", "", false, ErrOutside},
		{"rel-twin", "", "", false, ErrOutside}, {"zigzag", "", "", false, ErrOutside},
		{"chain1", "", "", false, ErrOutside},
		{"dotdot", "", "", false, ErrOutside}, {"g/dotdot", "", "", false, ErrOutside},
		{"deep", "", "", false, ErrOutside},
		{"far-none", "", "", false, ErrOutside},
		{"g/dangling", "../none/none", "", false, ErrDangling},
	}
	for name, way := range ways {
		s := store.New(open(t, dir, way), dir)
		for _, test := range tests {
			l, ok, err := s.Links().At(t.Context(), test.key)
			if !ok || err != nil || l.Text != test.text || !errors.Is(l.Err, test.err) ||
				l.Err == nil && l.Target != test.target || l.Dir != test.dir {
				t.Errorf("%s: Link(%q): %+v, %v, %v; want %+v", name, test.key, l, ok, err, test)
			}
			if got, err := s.Links().Resolve(t.Context(), test.key); !errors.Is(err, test.err) ||
				err == nil && got != test.target {
				t.Errorf("%s: Resolve(%q): %q, %v; want %+v", name, test.key, got, err, test)
			}
		}
		for _, key := range []string{"obj", "g", "g/h/obj", "none", "g/none", "obj/x", ""} {
			if l, ok, err := s.Links().At(t.Context(), key); ok || err != nil {
				t.Errorf("%s: Link(%q): %+v, %v, %v; want none", name, key, l, ok, err)
			}
		}
		for _, key := range []string{"in-dir/obj", "in-dir/none", "abs-dir/secret", "g/loopdir/obj",
			"g/loopdir/loopdir"} {
			l, ok, err := s.Links().At(t.Context(), key)
			if ok || !errors.Is(err, store.ErrThroughLink) {
				t.Errorf("%s: Link(%q): %+v, %v, %v; want store.ErrThroughLink", name, key, l, ok,
					err)
			}
		}
	}
}

// A store that was opened by a path with links knows both spellings of its own path.
func TestLinksOfALinkedStore(t *testing.T) {
	top := t.TempDir()
	writeFiles(t, top, map[string][]byte{"v7/g/obj": nil})
	for name, target := range map[string]string{"current": "v7", "v7/real": top + "/v7/g",
		"v7/given": top + "/current/g", "v7/around": "../current/g"} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := store.New(open(t, filepath.Join(top, "current"), ways["beneath"]), "")
	for _, key := range []string{"real", "given", "around"} {
		if l, ok, err := s.Links().At(t.Context(), key); !ok || err != nil || l.Err != nil ||
			l.Text != "g" || l.Target != "g" {
			t.Errorf("Link(%q): %+v, %v, %v", key, l, ok, err)
		}
	}
}

// No link out of the store is made, and no link is made through another link.
func TestLinkEscapes(t *testing.T) {
	dir := hostile(t)
	for name, way := range ways {
		s := store.New(open(t, dir, way), dir)
		for key, text := range map[string]string{
			"new": "../secret", "g/new": "../../secret", "new2": "g/h/../../../secret",
			"new3": "rel-dir/secret", "new4": "none/../../secret", "new5": "abs-dir",
		} {
			if err := s.Links().Put(t.Context(), key, text, false); !errors.Is(err, ErrOutside) {
				t.Errorf("%s: PutLink(%q, %q): %v, want ErrOutside", name, key, text, err)
			}
		}
		for _, text := range []string{"", "/", dir + "/g", "/etc/passwd"} {
			if err := s.Links().Put(t.Context(), "new", text, false); err == nil {
				t.Errorf("%s: PutLink(%q): no error", name, text)
			}
		}
		for _, key := range []string{"rel-dir/new", "abs-dir/new", "in-dir/new", "dotdot/new"} {
			if err := s.Links().Put(t.Context(), key, "obj", false); err == nil {
				t.Errorf("%s: PutLink(%q): no error", name, key)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
			t.Errorf("%s: a link was made", name)
		}
	}
}
