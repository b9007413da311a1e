package integration

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pagedStore has names and attributes that would be a script if they were not text. One group has
// more children than a page has room for.
const pagedStore = `
import sys, numpy as np, zarr
root = zarr.open_group(sys.argv[1], mode="w")
evil = "<script>alert(1)</script>"
group = root.create_group("ocean", attributes={"title": evil, '"><img src=x onerror=y>': "'\"&"})
a = group.create_array("a", shape=(4, 6), chunks=(2, 2), dtype="<i2", dimension_names=["y", evil])
a.attrs.update({"note": evil + "</pre>"})
a[:2] = 1
group.create_array("javascript:x", shape=(2,), chunks=(1,), dtype="u1")
group.create_array("words", shape=(3,), chunks=(3,), dtype=str)
group.create_group("deeper 100%?")
many = root.create_group("many")
import os, json
for i in range(1200):
    os.makedirs(f"{sys.argv[1]}/many/g{i:04}")
    with open(f"{sys.argv[1]}/many/g{i:04}/zarr.json", "w") as f:
        json.dump({"zarr_format": 3, "node_type": "group", "attributes": {}}, f)
`

// pagedOracle reads pages with a parser of HTML. Each link must lead to a file, and nothing of the
// store may be an element.
const pagedOracle = `
import sys, os, urllib.parse
from html.parser import HTMLParser
mnt = sys.argv[1]
class Page(HTMLParser):
    def __init__(self, name):
        super().__init__()
        self.tags, self.links, self.words = set(), [], ""
        path = f"{mnt}/{name}.html"
        text = open(path, "rb").read()
        assert len(text) == os.stat(path).st_size, name
        self.feed(text.decode())
        self.close()
        for link in self.links:
            file = os.path.join(os.path.dirname(path), urllib.parse.unquote(link))
            assert os.path.exists(file), link
    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [v for k, v in attrs if k in ("href", "src")]
        assert not any(k.startswith("on") for k, v in attrs)
    def handle_data(self, data):
        self.words += data + " "
allowed = set("html head meta title style body h1 h2 p a img table tr td th pre".split())
ocean, a, many = Page("ocean"), Page("ocean/a"), Page("many")
others = [Page("ocean/" + name) for name in ("words", "javascript:x", "deeper 100%?")]
for page in [ocean, a, many] + others:
    assert page.tags <= allowed, page.tags
assert "<script>alert(1)</script>" in a.words and "[4 6]" in a.words and "3 of 6 chunks" in a.words
assert "./a.png" in a.links and "./a.npy" in a.links
assert {"a", "words", "javascript:x"} <= set(ocean.words.split()) and "[4 6]" in ocean.words
inside, top = Page("ocean/index"), Page("index")
assert inside.words.split() == ocean.words.split() and inside.tags <= allowed
assert "./a.html" in inside.links
assert "./ocean.html" in top.links
root = Page("s")
assert {"ocean", "many"} <= set(root.words.split()) and "./ocean.html" in root.links
assert "and more" in many.words and len(many.links) > 300
print("pages are right")
`

// TestNodePages: a.html says what an array or group is, as text, with links that lead to its files.
func TestNodePages(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	if out, err := command(pythonThree(t), "-c", pagedStore, store); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := mount(t, store)
	if out, err := command(pythonThree(t), "-c", pagedOracle, dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	index := filepath.Join(dir, "ocean", "index.html")
	if names := listed(t, filepath.Dir(index)); strings.Contains(names, "index") {
		t.Errorf("listed: %s", names)
	}
	if err := os.WriteFile(index, []byte("mine"), 0o666); !errors.Is(err, syscall.EACCES) {
		t.Errorf("written: %v", err)
	}
	must(t, os.Remove(index))
	if _, err := os.Stat(filepath.Join(store, "ocean", "a", "zarr.json")); err != nil {
		t.Errorf("after the removal of a page: %v", err)
	}
}

// TestPagesInChromium: a browser shows the pages of a mount, and in that of an array its picture.
func TestPagesInChromium(t *testing.T) {
	needTools(t, map[string]string{"chromium": "chromium"})
	path, _ := exec.LookPath("chromium")
	if at, err := filepath.EvalSymlinks(path); err != nil || strings.Contains(at, "snap") {
		t.Skipf("SKIPPED: a browser in a snap sees no mount: %s, %v", at, err)
	}
	store := filepath.Join(t.TempDir(), "s.zarr")
	if out, err := command(pythonThree(t), "-c", pagedStore, store); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := mount(t, store)
	for _, page := range []struct {
		name, text string
		pictures   int
	}{
		{"index.html", `<a href="./ocean.html">ocean</a>`, 0},
		{"ocean.html", "&lt;script&gt;alert(1)&lt;/script&gt;", 0},
		{"ocean/index.html", `<a href="./a.html">a</a>`, 0},
		{"ocean/a.html", "3 of 6 chunks", 1},
	} {
		printed := filepath.Join(t.TempDir(), "page.pdf")
		shown := run(t, "timeout", "120", "chromium", "--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+t.TempDir(), "--dump-dom", "--print-to-pdf="+printed,
			"file://"+filepath.Join(dir, page.name))
		if !strings.Contains(shown, page.text) {
			t.Errorf("%s has no %q:\n%s", page.name, page.text, shown)
		}
		pdf, err := os.ReadFile(printed)
		if got := bytes.Count(pdf, []byte("/Subtype /Image")); err != nil || got != page.pictures {
			t.Errorf("%s: %d pictures, expected %d; %v", page.name, got, page.pictures, err)
		}
	}
}

// TestIndexIsReplaced: tar, which removes a file before it makes its own, puts an ordinary file in
// the place of a group's page. The file is not in the store.
func TestIndexIsReplaced(t *testing.T) {
	store := filepath.Join(t.TempDir(), "one.zarr")
	run(t, zarrfs(t), "create", store, "g", "--group")
	dir := mount(t, store)
	run(t, "sh", "-xc", `
set -eu
mkdir -p "$2/g"
echo mine >"$2/g/index.html"
tar -C "$2" -cf "$2/all.tar" g
grep -q '<html' "$1/g/index.html"
timeout 60 tar -C "$1" -xf "$2/all.tar"
test "$(cat "$1/g/index.html")" = mine
rm "$1/g/index.html"
grep -q '<html' "$1/g/index.html"
`, "sh", dir, t.TempDir())
}
