package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const secret = "SECRET: outside the store"

func listenUnix(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skipf("no socket at %s: %v", path, err)
	}
	t.Cleanup(func() { l.Close() })
}

// hostile makes a store whose links point everywhere, beside a secret file and directory:
//
//	T/secret  T/outside/secret  T/outside/zarr.json  T/store-twin/secret  T/store/…
func hostile(t testing.TB) (dir string) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "store")
	writeFiles(t, top, map[string][]byte{
		"secret": []byte(secret), "outside/secret": []byte(secret),
		"outside/zarr.json": []byte(secret), "outside/in/secret": []byte(secret),
		"store-twin/secret": []byte(secret), "store/obj": []byte("inside"),
		"store/g/obj": []byte("inside"), "store/g/h/obj": []byte("inside"),
	})
	links := map[string]string{
		"abs-file": top + "/secret", "abs-dir": top + "/outside", "abs-in": dir + "/obj",
		"abs-root": "/", "abs-proc": "/proc/self/root",
		"rel-file": "../secret", "rel-dir": "../outside", "rel-self": "../store/obj",
		"rel-twin":   "../store-twin/secret",
		"g/rel-file": "../../secret", "g/h/rel-far": "../../../outside/secret",
		"zigzag": "g/h/../../../secret",
		"chain1": "chain2", "chain2": "chain3", "chain3": "../secret", "loop": "loop",
		"loop1": "loop2", "loop2": "loop1",
		"g/loopdir": ".", "dangling": "nothing", "g/dangling": "../none/none", "dotdot": "..",
		"g/dotdot": "../..",
		"in-file":  "g/obj", "in-dir": "g", "g/in-up": "../obj", "g/h/in-dir": "../../g",
		"in-chain": "in-dir/in-up", "slash": "../secret/",
		"proc-fd": "/proc/self/fd/0", "proc-cwd": "/proc/self/cwd",
		"deep": strings.Repeat("../", 40) + "etc/passwd",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// escapes are names that must give no byte from outside. A name served by a link inside gives the
// content there. The error for a refused name says so. It is never that of a missing name, as fill
// values would be shown then.
//
// want: content, or "invalid", "outside", "missing", "broken" (any other error)
var escapes = []struct{ key, want string }{
	{"..", "invalid"}, {".", "invalid"}, {"", "invalid"}, {"/", "invalid"},
	{"../secret", "invalid"}, {"./obj", "invalid"},
	{"/etc/passwd", "invalid"}, {"//etc/passwd", "invalid"}, {"g/../../secret", "invalid"},
	{"g/../obj", "invalid"},
	{"g/./obj", "invalid"}, {"g//obj", "invalid"}, {"obj/", "invalid"}, {"obj/..", "invalid"},
	{"obj/../../secret", "invalid"},
	{"obj\x00", "invalid"}, {"\x00", "invalid"}, {"obj\x00/../../secret", "invalid"},
	{"../store-twin/secret", "invalid"},
	{"../store/obj", "invalid"}, {"g/h/../../../secret", "invalid"},
	{`..\secret`, "missing"}, {`g\..\..\secret`, "missing"}, {`C:\secret`, "missing"},
	{`\\host\share`, "missing"},
	{"..%2fsecret", "missing"}, {"%2e%2e/secret", "missing"}, {"..%00/secret", "missing"},
	{"．．/secret", "missing"}, {"..;/secret", "missing"},
	{"~/secret", "missing"}, {"~root", "missing"}, {"$HOME", "missing"},
	{"file:/etc/passwd", "missing"}, {"... /secret", "missing"},
	{"obj/secret", "missing"}, {strings.Repeat("a/", 3000) + "a", "missing"},
	{strings.Repeat("a", 256), "missing"},
	{"abs-file", "outside"}, {"abs-dir/secret", "outside"}, {"abs-in", "outside"},
	{"abs-root/etc/passwd", "outside"},
	{"abs-proc/etc/passwd", "outside"}, {"proc-fd", "outside"}, {"proc-cwd/secret", "outside"},
	{"rel-file", "outside"}, {"rel-dir/secret", "outside"}, {"rel-self", "outside"},
	{"rel-twin", "outside"},
	{"g/rel-file", "outside"}, {"g/h/rel-far", "outside"}, {"zigzag", "outside"},
	{"chain1", "outside"}, {"chain3", "outside"},
	{"dotdot/secret", "outside"}, {"g/dotdot/secret", "outside"}, {"slash", "outside"},
	{"deep", "outside"},
	{"in-dir/rel-file", "outside"}, {"in-dir/h/in-dir/rel-file", "outside"},
	{"loop", "broken"}, {"loop1", "broken"}, {"loop1/x", "broken"}, {"dangling", "broken"},
	{"g/dangling", "broken"},
	{"in-file", "inside"}, {"in-dir/obj", "inside"}, {"g/in-up", "inside"},
	{"g/h/in-dir/obj", "inside"}, {"in-chain", "inside"},
	{"g/loopdir/loopdir/obj", "inside"},
}

func TestEscapes(t *testing.T) {
	dir := hostile(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s := store.New(open(t, dir, way), dir)
			for _, e := range escapes {
				data, _, err := s.ReadAll(t.Context(), e.key, 1000)
				if got := outcome(data, err); got != e.want {
					t.Errorf("ReadAll(%.60q): %s (%q, %.200v), want %s", e.key, got, data, err,
						e.want)
				}
				head := make([]byte, 1000)
				n, err := s.Peek(t.Context(), e.key, head)
				if got := outcome(head[:n], err); got != e.want {
					t.Errorf("Peek(%.60q): %s (%q, %.200v), want %s", e.key, got, head[:n], err,
						e.want)
				}
				if _, err := s.Stat(t.Context(), e.key); e.key != "" &&
					(err == nil) != (e.want == "inside") {
					t.Errorf("Stat(%.60q): %.200v, want %s", e.key, err, e.want)
				}
			}
		})
	}
}

func outcome(data []byte, err error) string {
	switch {
	case err == nil:
		return string(data)
	case errors.Is(err, store.ErrInvalidKey):
		return "invalid"
	case errors.Is(err, ErrOutside):
		return "outside"
	case errors.Is(err, fs.ErrNotExist):
		return "missing"
	}
	return "broken"
}

// No directory outside is listed, and links that lead there are shown as objects, not as
// directories.
func TestListEscapes(t *testing.T) {
	dir := hostile(t)
	for name, way := range ways {
		s := store.New(open(t, dir, way), dir)
		for _, key := range []string{"abs-dir", "abs-root", "rel-dir", "dotdot", "g/dotdot", "..",
			"g/..", "/", "abs-proc", "proc-cwd"} {
			err := s.List(t.Context(), key, func(e store.Entry) error {
				return errors.New("yields " + e.Name)
			})
			if !errors.Is(err, ErrOutside) && !errors.Is(err, store.ErrInvalidKey) {
				t.Errorf("%s: List(%q): %v", name, key, err)
			}
		}
		dirs := map[string]bool{}
		if err := s.List(t.Context(), "", func(e store.Entry) error {
			dirs[e.Name] = e.Dir
			return nil
		}); err != nil {
			t.Error(err)
		}
		for _, key := range []string{"abs-dir", "rel-dir", "dotdot", "loop", "dangling", "abs-file",
			"in-file"} {
			if isDir, listed := dirs[key]; isDir || !listed {
				t.Errorf("%s: List: link %q: listed %v, as a directory %v", name, key, listed,
					isDir)
			}
		}
		if !dirs["in-dir"] || !dirs["g"] {
			t.Errorf("%s: List: a link to a directory inside is not a directory", name)
		}
	}
}

// Nothing is written or removed outside either.
func TestWriteEscapes(t *testing.T) {
	dir := hostile(t)
	d := open(t, dir, ways["beneath"])
	s := store.New(d, dir)
	for _, key := range []string{
		"../new", "/tmp/new", "abs-dir/new", "rel-dir/new", "rel-dir/secret", "dotdot/new",
		"dotdot/secret", "g/dotdot/new", "abs-dir/a/b/new", "proc-cwd/new",
	} {
		if err := s.Put(t.Context(), key, []byte("x")); err == nil ||
			errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Put(%q): %v, want a refusal", key, err)
		}
		if err := s.Delete(t.Context(), key, store.If{}); err == nil {
			t.Errorf("Delete(%q): no error", key)
		}
	}
	// replaces or removes the link, not what it leads to
	for _, key := range []string{"rel-file", "abs-file"} {
		if err := s.Put(t.Context(), key, []byte("inside")); err != nil {
			t.Errorf("Put(%q): %v", key, err)
		}
		if err := s.Delete(t.Context(), key, store.If{}); err != nil {
			t.Errorf("Delete(%q): %v", key, err)
		}
	}
	for _, path := range []string{"../secret", "../outside/secret", "../outside/in/secret",
		"../store-twin/secret"} {
		if data, err := os.ReadFile(filepath.Join(dir, path)); string(data) != secret {
			t.Errorf("%s: %q, %v: changed from inside the store", path, data, err)
		}
	}
	for _, path := range []string{"../new", "../outside/new", "../outside/a", "/tmp/new"} {
		if _, err := os.Lstat(filepath.Join(dir, path)); path[0] == '.' && err == nil {
			t.Errorf("%s was made from inside the store", path)
		}
	}
}

// readers read key and list dir until ctx ends and count what they saw; any secret fails the test.
func readers(ctx context.Context, t *testing.T, d *Driver, key, dir string) (inside, refused int) {
	s := store.New(d, "")
	for ctx.Err() == nil {
		data, _, err := s.ReadAll(t.Context(), key, 1000)
		switch outcome(data, err) {
		case "inside":
			inside++
		case "outside", "broken", "missing":
			refused++
		default:
			t.Errorf("read %q from outside", data)
			return
		}
		s.List(t.Context(), dir, func(e store.Entry) error {
			if e.Name == "secret" {
				t.Error("listed a directory outside")
			}
			return nil
		})
	}
	return
}
