package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

// formatStore makes a store of a format with a group g of three arrays. a has numbers, and its
// chunks, fill value and attributes differ from those of a new array. n has no axes, and w has
// strings.
func formatStore(t *testing.T, format string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{
		{"create", dir, "--group", "--format", format},
		{"create", dir, "g", "--group", "--attributes", `{"title": "tree"}`},
		{"create", dir, "g/a", "--shape", "10,4", "--dtype", "<f4", "--chunks", "3,4",
			"--fill-value", "NaN", "--codecs", "blosc:lz4:3", "--attributes",
			`{"units": "K", "n": {"x": [1, 2.5]}}`},
		{"create", dir, "g/n", "--shape", "()", "--dtype", ">i2", "--attributes", `{"none": null}`},
		{"create", dir, "g/sub/w", "--shape", "3,2", "--dtype", "string", "--chunks", "2,1",
			"--codecs", "gzip:2", "--attributes", `{"lang": "de"}`},
	} {
		if out, err := command(zarrfs(t), args...); err != nil {
			t.Fatalf("zarrfs %q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestTreesAreCopiedToTheOtherFormat copies a group into a mount of a store of the other format, in
// all the usual ways. Its files come in any order. All data and attributes are kept, as the mount
// shows them and as zarr-python reads them.
func TestTreesAreCopiedToTheOtherFormat(t *testing.T) {
	for from, to := range map[string]string{"2": "3", "3": "2"} {
		source := formatStore(t, from)
		mnt, out := mount(t, source), t.TempDir()
		shell(t, mnt, "echo hello world 0123456789 | dd of=g/a.raw bs=1 conv=notrunc "+
			"status=none; printf 'ab' > g/n.raw; "+
			"printf '\"grün\"\\n\"\"\\n\"c\"\\n\"d\"\\n\"\"\\n\"f\"\\n' > g/sub/w.jsonl")
		shell(t, mnt, "tar -C . --sort=name -cf "+out+"/sorted.tar g; tar -cf "+out+
			"/reversed.tar g/sub/w.jsonl g/sub/w.json g/sub/zarr.json g/n.npy g/n.json g/a.npy "+
			"g/a.json g/zarr.json")
		want := zarrPythonReads(t, source)
		t.Setenv("OUT", out)
		t.Setenv("FROM", mnt)
		for _, tc := range []struct{ name, script, program string }{
			{"cp", "cp -r $FROM/g g", "cp"},
			{"cp over it", "cp -r $FROM/g g; setfattr -x user.zarr.attr.units g/a.npy; " +
				"cp -r $FROM/g/. g", "setfattr"},
			{"rsync", "rsync -a $FROM/g/ g/", "rsync"},
			{"tar", "tar -xf $OUT/sorted.tar", "tar"},
			{"tar, data first", "tar -xf $OUT/reversed.tar", "tar"},
			{"python", `python3 -c "import shutil, os; ` +
				`shutil.copytree(os.environ['FROM'] + '/g', 'g')"`, "python3"},
			{"document last", `mkdir -p g/sub; cp $FROM/g/n.npy g
				setfattr -n user.zarrfs.create.fill_value -v '"NaN"' g; cp $FROM/g/a.npy g
				cp $FROM/g/zarr.json $FROM/g/a.json $FROM/g/n.json g
				cp $FROM/g/sub/w.json $FROM/g/sub/w.jsonl g/sub`, "setfattr"},
		} {
			t.Run(from+" to "+to+", "+tc.name, func(t *testing.T) {
				need(t, tc.program)
				store := filepath.Join(t.TempDir(), "t.zarr")
				out, err := command(zarrfs(t), "create", store, "--group", "--format", to)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				d := started(t, store)
				shell(t, d.dir, tc.script)
				for _, name := range []string{"g/a.npy", "g/a.raw", "g/n.npy", "g/sub/w.jsonl"} {
					got, want := read(t, d.path(name)), read(t, filepath.Join(mnt, name))
					if string(got) != string(want) {
						t.Errorf("%s has %d bytes, expected %d:\n%.100q\n%.100q",
							name, len(got), len(want), got, want)
					}
				}
				for _, name := range []string{
					"g/zarr.json", "g/a.json", "g/n.json", "g/sub/w.json",
				} {
					got, want := attributesIn(t, d.path(name)),
						attributesIn(t, filepath.Join(mnt, name))
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s: attributes %v, expected %v", name, got, want)
					}
				}
				if err := d.stop(); err != nil {
					t.Fatal(err)
				}
				if got := zarrPythonReads(t, store); tc.name != "document last" &&
					!reflect.DeepEqual(got, want) ||
					!reflect.DeepEqual(withoutChunks(got), withoutChunks(want)) {
					t.Errorf("zarr-python reads\n%v\nexpected\n%v", got, want)
				}
			})
		}
	}
}

func attributesIn(t *testing.T, path string) (attributes map[string]any) {
	t.Helper()
	var doc struct {
		Attributes map[string]any `json:"attributes"`
	}
	if err := json.Unmarshal(read(t, path), &doc); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return doc.Attributes
}

// zarrPythonReads returns what zarr-python finds in a store, by path and kind; nil if there is no
// zarr-python.
func zarrPythonReads(t *testing.T, store string) (tree map[string]map[string]any) {
	t.Helper()
	python, ok := findPython("ZARRFS_PY3", ".venv-v3")
	if !ok {
		if os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
			t.Fatalf("no Python at %s", python)
		}
		t.Logf("SKIPPED: zarr-python has not read it, because there is no Python at %s", python)
		return nil
	}
	out, err := command(python, "-W", "ignore", "interop/read_tree.py", store)
	if err == nil {
		err = json.Unmarshal(out, &tree)
	}
	if err != nil || len(tree) != 5 {
		t.Fatalf("%s: %v\n%s", store, err, out)
	}
	return tree
}

func withoutChunks(tree map[string]map[string]any) map[string]map[string]any {
	without := map[string]map[string]any{}
	for path, node := range tree {
		without[path] = maps.Clone(node)
		delete(without[path], "chunks")
	}
	return without
}

// TestMovedToTheOtherFormat moves groups between two stores of a folder that is mounted. The stores
// have other formats, so the kernel is told EXDEV, and mv copies.
func TestMovedToTheOtherFormat(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []string{"2", "3"} {
		run(t, "cp", "-r", formatStore(t, format), filepath.Join(dir, format))
	}
	d := started(t, dir)
	for from, to := range map[string]string{"2": "3", "3": "2"} {
		err := os.Rename(d.path(from+"/g"), d.path(to+"/new"))
		if !errors.Is(err, syscall.EXDEV) {
			t.Errorf("rename from format %s to %s: %v", from, to, err)
		}
		const why = "the target has another Zarr format: it has format %s, this node has format " +
			"%s; copy it instead of moving it"
		want := fmt.Sprintf("cannot rename %q: "+why, from+"/g", to, from)
		if got := xattr(t, d.path(from+"/g"), "user.zarrfs.error"); got != want {
			t.Errorf("user.zarrfs.error: %s", got)
		}
		source := d.path(from + "/g/a.npy")
		bytes, units := read(t, source), xattr(t, source, "user.zarr.attr.units")
		shell(t, d.path("."), "mv "+from+"/g "+to+"/new; test ! -e "+from+"/g")
		moved := d.path(to + "/new/a.npy")
		if got := xattr(t, moved, "user.zarr.attr.units"); got != units {
			t.Errorf("units are %s, expected %s", got, units)
		}
		if got := read(t, moved); string(got) != string(bytes) {
			t.Errorf("the array moved to format %s has other bytes", to)
		}
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// TestOtherFormatRefused: a document of the other format is EINVAL if it cannot mean the existing
// array. It changes nothing, and the reason names both formats.
func TestOtherFormatRefused(t *testing.T) {
	source, d := mount(t, formatStore(t, "2")), started(t, formatStore(t, "3"))
	before := read(t, d.path("g/n.json"))
	out, err := command("cp", filepath.Join(source, "g/a.json"), d.path("g/n.json"))
	if err == nil {
		t.Errorf("cp: %s", out)
	}
	const why = "shape: expected [], as the node of format 3 has it, " +
		"found [10 4] in a document of format 2"
	if got := xattr(t, d.path("g/n.npy"), "user.zarrfs.error"); got != `cannot change "g/n": `+why {
		t.Errorf("user.zarrfs.error: %s", got)
	}
	if got := read(t, d.path("g/n.json")); string(got) != string(before) {
		t.Errorf("the document is\n%s", got)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}
