package zarrcore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// linkedStore is a store of that format in a folder, with a group run42 that holds an array a, and
// links to both.
func linkedStore(t *testing.T, format int) (dir string, h *zarrcore.Hierarchy) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "s.zarr")
	files := map[string]string{"zarr.json": groupV3, "run42/zarr.json": groupV3,
		"run42/a/zarr.json": arrayV3, "run42/a/c/0": "abc"}
	if format == 2 {
		files = map[string]string{".zgroup": groupV2, "run42/.zgroup": groupV2,
			"run42/a/.zarray": arrayV2, "run42/a/0": "abc"}
	}
	files["notes.txt"] = "notes"
	for key, text := range files {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, key)), 0o777)
		if err := os.WriteFile(filepath.Join(dir, key), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"latest": "run42", "al": "run42/a", "deep": "latest/a", "abs": filepath.Join(dir, "run42"),
		"run42/up": "..", "run42/self": ".",
		"out": "../other", "none": "run43", "loop": "loop", "file": "notes.txt",
		"within": "run42/a/c", "outabs": "/etc",
	} {
		if err := os.Symlink(text, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if format == 2 {
		os.Mkdir(filepath.Join(dir, "run42/a/c"), 0o777)
	}
	d, err := dirstore.Open(dir, &dirstore.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return dir, open(t, d, nil)
}

func TestLinks(t *testing.T) {
	for _, format := range []int{2, 3} {
		_, h := linkedStore(t, format)
		ctx := context.Background()
		tests := []struct {
			path, text, target string
			kind               zarrcore.NodeKind
			bad                string // what the error says
		}{
			{"latest", "run42", "run42", zarrcore.GroupNode, ""},
			{"al", "run42/a", "run42/a", zarrcore.ArrayNode, ""},
			{"deep", "latest/a", "run42/a", zarrcore.ArrayNode, ""},
			{"abs", "run42", "run42", zarrcore.GroupNode, ""},
			{"run42/up", "..", "", zarrcore.GroupNode, ""},
			{"run42/self", ".", "run42", zarrcore.GroupNode, ""},
			{"out", "", "", 0, "outside"}, {"outabs", "", "", 0, "outside"},
			{"none", "run43", "", 0, "to nothing"},
			{"loop", "loop", "", 0, "to itself"},
			{"file", "notes.txt", "", 0, `the file "notes.txt"`},
			{"within", "run42/a/c", "", 0, "lies in an array"},
		}
		children := map[string]*zarrcore.Link{}
		for _, dir := range []string{"", "run42/"} {
			err := h.Children(ctx, strings.TrimSuffix(dir, "/"), func(c zarrcore.Child) error {
				if (c.Kind == zarrcore.LinkNode) != (c.Link != nil) {
					t.Errorf("%s%s is a %s, with the link %+v", dir, c.Name, c.Kind, c.Link)
				}
				children[dir+c.Name] = c.Link
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if _, listed := children["file"]; listed {
			t.Error("a link to a file is listed, though the file is not")
		}
		for _, test := range tests {
			n, err := h.Node(ctx, test.path)
			if err != nil || n.Kind != zarrcore.LinkNode {
				t.Errorf("%s: %+v, %v", test.path, n, err)
				continue
			}
			for _, l := range []*zarrcore.Link{n.Link, children[test.path]} {
				switch {
				case test.path == "file" && l == nil:
				case l == nil || l.Text != test.text || (l.Err == nil) != (test.bad == ""):
					t.Errorf("%s: %+v, want %+v", test.path, l, test)
				case l.Err != nil && !strings.Contains(l.Err.Error(), test.bad):
					t.Errorf("%s: %v, want %q", test.path, l.Err, test.bad)
				case l.Err == nil && (l.Target != test.target || l.Kind != test.kind):
					t.Errorf("%s: leads to the %s %q, want %+v", test.path, l.Kind, l.Target, test)
				}
			}
		}
	}
}

// Nothing is found, or done, by a path that leads through a link; Resolve says what to use instead.
func TestNothingGoesThroughLinks(t *testing.T) {
	for _, format := range []int{2, 3} {
		dir, h := linkedStore(t, format)
		ctx := context.Background()
		_, openErr := h.OpenArray(ctx, "latest/a")
		_, linkErr := h.OpenArray(ctx, "al")
		_, nodeErr := h.Node(ctx, "run42/self/a")
		for what, err := range map[string]error{
			"open": openErr, "node": nodeErr,
			"change":             h.SetDocument(ctx, "latest/a", []byte("{}")),
			"change of the link": h.SetDocument(ctx, "latest", []byte("{}")),
			"set":                h.SetAttribute(ctx, "latest", "a", []byte("1")),
			"children": h.Children(ctx, "latest", func(zarrcore.Child) error {
				return nil
			}), "remove": h.Remove(ctx, "latest/a"),
			"rename":    h.Rename(ctx, "latest/a", "b", false),
			"rename to": h.Rename(ctx, "run42/a", "latest/b", false),
			"create":    h.CreateGroup(ctx, "latest/g"),
			"link":      h.CreateLink(ctx, "latest/l", "a", false),
		} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("format %d, %s: %v, want fs.ErrNotExist", format, what, err)
			}
		}
		if !errors.Is(linkErr, zarrcore.ErrNotArray) {
			t.Errorf("open a link: %v", linkErr)
		}
		if err := h.CreateGroup(ctx, "latest"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("create at a link: %v", err)
		}
		for path, want := range map[string]string{"latest/a": "run42/a", "deep": "run42/a",
			"run42/up/al": "run42/a", "run42/up": "", "abs/a": "run42/a", "run42": "run42"} {
			if got, err := h.Resolve(ctx, path); err != nil || got != want {
				t.Errorf("Resolve(%q): %q, %v; want %q", path, got, err, want)
			}
		}
		if _, err := h.Resolve(ctx, "out/x"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Resolve of what is outside: %v", err)
		}
		path, _ := h.Resolve(ctx, "latest/a")
		if got := readAt(t, openArray(t, h, path), 0, 3); string(got) != "abc" {
			t.Errorf("the array holds %q", got)
		}
		if entries, err := os.ReadDir(filepath.Join(dir, "run42")); err != nil ||
			len(entries) != 4 {
			t.Errorf("run42 holds %v, %v", entries, err)
		}
	}
}

// What removes, renames and makes links leaves what they lead to as it is.
func TestLinksAreChanged(t *testing.T) {
	for _, format := range []int{2, 3} {
		dir, h := linkedStore(t, format)
		ctx := context.Background()
		for what, err := range map[string]error{
			"group with children": h.Remove(ctx, "run42"),
			"exists":              h.CreateLink(ctx, "run42", "x", true),
			"is there":            h.CreateLink(ctx, "al", "x", false),
			"outside":             h.CreateLink(ctx, "new", "../x", false),
			"absolute":            h.CreateLink(ctx, "new", "/x", false),
			"document":            h.CreateLink(ctx, "zarr.json", "x", false),
			"onto a group":        h.Rename(ctx, "al", "run42", true),
			"a group onto it":     h.Rename(ctx, "run42", "al", true),
			"without leave":       h.Rename(ctx, "al", "latest", false),
		} {
			if err == nil {
				t.Errorf("format %d, %s: no error", format, what)
			}
		}
		for what, err := range map[string]error{
			"remove": h.Remove(ctx, "latest"), "remove one to an array": h.Remove(ctx, "al"),
			"remove a bad one": h.Remove(ctx, "out"),
			"make":             h.CreateLink(ctx, "newest", "run42", false),
			"make in a group":  h.CreateLink(ctx, "run42/b", "a", false),
		} {
			if err != nil {
				t.Errorf("format %d, %s: %v", format, what, err)
			}
		}
		if err := errors.Join(h.CreateLink(ctx, "newest", "run42/a", true),
			h.Rename(ctx, "newest", "moved", false),
			h.Rename(ctx, "moved", "abs", true)); err != nil {
			t.Error(err)
		}
		if text, err := os.Readlink(filepath.Join(dir, "abs")); err != nil || text != "run42/a" {
			t.Errorf("abs is %q, %v", text, err)
		}
		if err := h.Rename(ctx, "run42", "run1", false); err != nil {
			t.Error(err)
		}
		got, err := children(h, "run1")
		if want := []string{"a array", "b link", "self link", "up link"}; err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("run1 holds %v, %v; want %v", got, err, want)
		}
		if path, err := h.Resolve(ctx, "run1/b"); path != "run1/a" || err != nil {
			t.Errorf("run1/b leads to %q, %v", path, err)
		}
		if n, err := h.Node(ctx, "abs"); err != nil || n.Link == nil || n.Link.Err == nil {
			t.Errorf("the link to what was renamed: %+v, %v", n, err)
		}
	}
}

// TestWritersDoNotFollowLinks: another program has replaced the group of an array by a link. What
// was written to the array is not stored where the link leads, and neither is a document. It is
// stored once the array is found by its new name, if the file system notes when it was created.
func TestWritersDoNotFollowLinks(t *testing.T) {
	for _, format := range []int{2, 3} {
		dir, h := linkedStore(t, format)
		ctx := context.Background()
		a := openArray(t, h, "run42/a")
		if _, err := a.WriteAt(ctx, []byte("xyz"), 0); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(os.CopyFS(filepath.Join(dir, "run43/a"),
			os.DirFS(filepath.Join(dir, "run42/a"))),
			os.Rename(filepath.Join(dir, "run42"), filepath.Join(dir, "run9")),
			os.Symlink("run43", filepath.Join(dir, "run42")))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Flush(ctx, true); err == nil {
			t.Errorf("format %d: stored, though the array is not there any more", format)
		}
		if err := h.SetAttribute(ctx, "run42/a", "x", []byte("1")); !errors.Is(err,
			fs.ErrNotExist) {
			t.Errorf("format %d: an attribute through the link: %v", format, err)
		}
		holds := map[string]string{"run43/a": "abc", "run9/a": "xyz"}
		if identity, err := h.Identity(ctx, "run9/a"); identity == "" || err != nil {
			holds["run9/a"] = "abc"
		}
		for path, text := range holds {
			if got := readAt(t, openArray(t, h, path), 0, 3); string(got) != text {
				t.Errorf("format %d: %s holds %q, expected %q", format, path, got, text)
			}
		}
	}
}
