package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests of this file use a mount as if it were a store, as if the program was given the wrong
// path.

// libraryStore makes a store of a format with an array a and a group g, both with attributes.
func libraryStore(t *testing.T, format string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{
		{"create", dir, "--group", "--format", format, "--attributes", `{"title": "root"}`},
		{"create", dir, "a", "--shape", "3", "--dtype", "float64", "--attributes",
			`{"units": "K"}`},
		{"create", dir, "g", "--group", "--attributes", `{"title": "sub"}`},
	} {
		run(t, zarrfs(t), args...)
	}
	return dir
}

// storeTree is tree without the files that a mount keeps in its store while it exists.
func storeTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	return withoutMounts(tree(t, dir))
}

// withoutMounts leaves out of a tree what mounts keep in it.
func withoutMounts(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, ".zarrfs-") })
	return files
}

// libraryPeers find interpreters with several versions of zarr-python.
var libraryPeers = map[string]func(t *testing.T) string{
	".venv-v3":     func(t *testing.T) string { return python(t, "ZARRFS_PY3", ".venv-v3") },
	".venv-v2":     func(t *testing.T) string { return python(t, "ZARRFS_PY2", ".venv-v2") },
	".venv-newest": newestPython,
}

// TestMountIsNotAStore has zarr-python, tensorstore and xarray read and write a mount in all their
// ways. Each is an error, those of reading say what to do, and the store is as it was.
func TestMountIsNotAStore(t *testing.T) {
	for name, peer := range libraryPeers {
		for _, format := range []string{"2", "3"} {
			t.Run(name+" format "+format, func(t *testing.T) {
				py, store := peer(t), libraryStore(t, format)
				before := storeTree(t, store)
				d := started(t, store)
				out, err := limited(t, py, "interop/take_mount_for_store.py", d.dir).Output()
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(string(out)) {
					checkNoStore(t, line, store)
				}
				soonSameTree(t, store, before)
				why := xattr(t, d.dir, "user.zarrfs.error")
				if !strings.HasSuffix(why, "open the store itself: "+store) {
					t.Errorf("user.zarrfs.error of the mount is %q", why)
				}
				if !strings.Contains(string(read(t, d.path(".zarrfs/status.json"))),
					"open the store itself: "+store) {
					t.Error("status.json has no such error")
				}
				if err := d.stop(); err != nil {
					t.Error(err)
				}
				if !strings.Contains(d.logged(), "open the store itself: "+store) {
					t.Errorf("the log says\n%s", d.logged())
				}
			})
		}
	}
}

// soonSameTree is sameTree for a store from which groups are soon removed, because a library has
// just made them.
func soonSameTree(t *testing.T, store string, want map[string]string) {
	t.Helper()
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
		files, err := treeNow(store)
		if err == nil && maps.Equal(withoutMounts(files), want) {
			return
		}
	}
	sameTree(t, storeTree(t, store), want)
}

// TestGroupOfNewProcessGoes has zarr-python make groups and arrays in a mount, each in a process of
// its own. All of it is an error, and no group stays. A group that a script makes by itself stays.
func TestGroupOfNewProcessGoes(t *testing.T) {
	for _, name := range []string{".venv-v3", ".venv-newest"} {
		t.Run(name, func(t *testing.T) {
			py, store := libraryPeers[name](t), libraryStore(t, "3")
			mnt, before := mount(t, store), storeTree(t, store)
			for _, call := range []string{
				`open_group(new, mode="a", zarr_format=3)`, `group(new, zarr_format=3)`,
				`open_group(new, mode="w")`, `create_group(new)`, `open_array(new, mode="a")`,
				`create_array(new, shape=3, dtype="f4")`,
			} {
				script := fmt.Sprintf("import zarr; new = %q; zarr.%s", mnt+"/new", call)
				if out, err := limited(t, py, "-c", script).CombinedOutput(); err == nil {
					t.Errorf("%s: no error, %s", call, out)
				}
				soonSameTree(t, store, before)
			}
			run(t, py, "-c", fmt.Sprintf(`import os, time, zarr; new = %q; os.mkdir(new)
open(new + "/zarr.json").read(); time.sleep(0.5); os.stat(new)`, mnt+"/mine"))
		})
	}
}

// TestSignposts reads the documents of format 2 that a mount has for libraries. No program that
// lists or copies the mount meets them, and none can write or remove them.
func TestSignposts(t *testing.T) {
	need(t, "rsync", "tar", "cpio")
	for _, format := range []string{"2", "3"} {
		store := libraryStore(t, format)
		before := storeTree(t, store)
		mnt, out := mount(t, store), t.TempDir()
		shell(t, mnt, `for f in .zgroup .zmetadata g/.zgroup g/.zmetadata; do
				grep -q 'open the store itself, `+store+`"' $f
				test "$(stat -c '%s %A' $f)" = "$(wc -c < $f) -r--r--r--"; done
			test ! -e .zarray; test ! -e .zattrs
			cp -r . `+out+`/cp; rsync -a ./ `+out+`/rsync; tar c . | tar x -C `+out+`
			find . | cpio -o 2> /dev/null > `+out+`/cpio
			ls -AR > `+out+`/ls; mkdir `+out+`/new; cp -r g `+out+`/new
			! grep -r '\.zgroup\|\.zmetadata' `+out+`; test -z "$(find . `+out+` -name '.z[gm]*')"
			cp -r g h; tar c g | tar x -C h; rm -r h`)
		for _, change := range []string{
			"echo '{}' > .zgroup", "touch .zgroup", "rm .zgroup", "rm -f g/.zmetadata",
			"truncate -s 0 .zgroup", "chmod 600 .zgroup", "ln -s g .zgroup", "mkdir .zgroup",
			"cp zarr.json .zgroup", "cp zarr.json g/x~; mv g/x~ g/.zgroup",
			`python3 -c 'open(".zmetadata", "x")'`,
		} {
			if out, err := command("sh", "-c", "cd "+mnt+"; "+change); err == nil {
				t.Errorf("%s: no error: %s", change, out)
			}
		}
		shell(t, mnt, "rm -f g/x~")
		soonSameTree(t, store, before)
		said := run(t, zarrfs(t), "errors", mnt)
		if !strings.Contains(said, "open the store itself: "+store) {
			t.Errorf("zarrfs errors prints\n%s", said)
		}
	}
}

// TestSignpostsOfArray opens the mount of one array by zarr-python, as if it were that array.
func TestSignpostsOfArray(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(libraryStore(t, format), "a")
		mnt := mount(t, store)
		if listed := run(t, "ls", "-A", mnt); listed != "a.json\na.npy\na.raw\n" {
			t.Errorf("the mount lists %q", listed)
		}
		for _, peer := range [][3]string{
			{"ZARRFS_PY2", ".venv-v2", ""}, {"ZARRFS_PY3", ".venv-v3", ""},
			{"ZARRFS_PY3", ".venv-v3", ", zarr_format=2"},
			{"ZARRFS_PY3", ".venv-v3", ", zarr_format=3"},
		} {
			open := fmt.Sprintf("import zarr; zarr.open_array(%q, mode='r'%s)", mnt, peer[2])
			out, err := limited(t, python(t, peer[0], peer[1]), "-c", open).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "open the store itself, "+store) {
				t.Errorf("format %s, %v: %v, %s", format, peer, err, out)
			}
		}
	}
}

// TestGroupOfLibraryGoes: a program that makes a group, and looks there for a document of format 2,
// takes the mount for a store. The group goes once that program has read what its document says. It
// stays if another program asks, or if something is in it.
func TestGroupOfLibraryGoes(t *testing.T) {
	store := libraryStore(t, "3")
	mnt := mount(t, store)
	isThere := func(name string) bool {
		_, err := os.Stat(filepath.Join(store, name))
		return err == nil
	}
	for _, name := range []string{".zarray", ".zgroup", ".zattrs", ".zmetadata"} {
		before := storeTree(t, store)
		if err := os.MkdirAll(filepath.Join(mnt, "p/n"), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(filepath.Join(mnt, "p/n", name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
		doc := string(read(t, filepath.Join(mnt, "p/n/zarr.json")))
		if !strings.Contains(doc, "open the store itself") {
			t.Errorf("the group's document is %s", doc)
		}
		soonSameTree(t, store, before)
		if out := run(t, zarrfs(t), "errors", mnt); !strings.Contains(out, "p/n/"+name) {
			t.Errorf("%s: zarrfs errors prints %s", name, out)
		}
	}
	shell(t, mnt, "mkdir hand; test ! -e hand/.zarray")
	for _, dir := range []string{"read", "full"} {
		if err := os.Mkdir(filepath.Join(mnt, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	read(t, filepath.Join(mnt, "read/zarr.json"))
	shell(t, mnt, "mkdir full/sub; test ! -e read/.zarray")
	os.Stat(filepath.Join(mnt, "full/.zarray"))
	os.Stat(filepath.Join(mnt, "hand/.zarray"))
	time.Sleep(time.Second)
	for _, dir := range []string{"hand", "read", "full", "full/sub"} {
		if !isThere(dir) {
			t.Errorf("%s is gone", dir)
		}
	}
}

// TestGroupOfLibraryIsRemovedAsMade changes groups of a library, or puts others in their places,
// right before they go. What a user has set or made stays, or setting it is an error.
func TestGroupOfLibraryIsRemovedAsMade(t *testing.T) {
	mnt := mount(t, libraryStore(t, "3"))
	asked := func(name string) string {
		dir := filepath.Join(mnt, name)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		os.Stat(filepath.Join(dir, ".zgroup"))
		return dir
	}
	var all sync.WaitGroup
	for i := range 60 {
		dir := asked(fmt.Sprint("set", i))
		all.Go(func() {
			time.Sleep(85*time.Millisecond + time.Duration(i)*400*time.Microsecond)
			if unix.Setxattr(dir, "user.zarr.attr.mine", []byte("1"), 0) != nil {
				return
			}
			time.Sleep(400 * time.Millisecond)
			var value [8]byte
			if n, err := unix.Getxattr(dir, "user.zarr.attr.mine", value[:]); err != nil || n != 1 {
				t.Errorf("%s: the attribute that was set is lost: %v", dir, err)
			}
		})
	}
	all.Wait()
	dir := asked("old")
	if err := os.Rename(dir, dir+"er"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	for _, name := range []string{dir, dir + "er"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// TestGroupOfLibraryGoesAgain: a library makes a group again that was removed in the store.
func TestGroupOfLibraryGoesAgain(t *testing.T) {
	store := libraryStore(t, "3")
	mnt, before := mount(t, store), storeTree(t, store)
	dir := filepath.Join(mnt, "n")
	for range 2 {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(store, "n")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1200 * time.Millisecond) // the kernel forgets the name
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Stat(filepath.Join(dir, ".zgroup"))
	soonSameTree(t, store, before)
}

// checkNoStore checks the result of one attempt.
func checkNoStore(t *testing.T, line, store string) {
	t.Helper()
	var attempt [2]*string
	if err := json.Unmarshal([]byte(line), &attempt); err != nil {
		t.Fatal(err)
	}
	name, why := *attempt[0], attempt[1]
	switch {
	case name == "xarray":
		t.Log("SKIPPED: xarray, which is not installed there")
	case why == nil:
		t.Errorf("%s: no error", name)
	case !strings.HasPrefix(name, "read ") || name == "read array":
	case !strings.Contains(*why, "open the store itself, "+store):
		t.Errorf("%s: %s", name, *why)
	}
}

// TestGroupDocumentsAreEdited changes attributes in documents of groups by usual programs, and
// reads them in the store: what a mount adds to such a document is not there.
func TestGroupDocumentsAreEdited(t *testing.T) {
	need(t, "sed", "perl")
	for _, format := range []string{"2", "3"} {
		store := libraryStore(t, format)
		mnt := mount(t, store)
		shell(t, mnt, `test "$(stat -c %s zarr.json)" = "$(wc -c < zarr.json)"
			grep -q 'open the store itself' zarr.json g/zarr.json
			sed -i s/root/first/ zarr.json; perl -pi -e s/first/second/ zarr.json
			sed s/second/third/ zarr.json > g/zarr.json
			cp g/zarr.json zarr.json; mkdir x; cp zarr.json x/zarr.json
			test "$(stat -c %s x/zarr.json)" = "$(wc -c < x/zarr.json)"`)
		for name, data := range storeTree(t, store) {
			if strings.Contains(data, "mount") || strings.Contains(data, "consolidated") {
				t.Errorf("format %s: %s has\n%s", format, name, data)
			}
		}
		for _, group := range []string{"", "g", "x"} {
			title := xattr(t, filepath.Join(mnt, group), "user.zarr.attr.title")
			if title != `"third"` {
				t.Errorf("format %s: the title of %q is %s", format, group, title)
			}
			if f := xattr(t, filepath.Join(mnt, group), "user.zarr.format"); f != format {
				t.Errorf("format %s: %q has format %s", format, group, f)
			}
		}
	}
}

// TestGroupDocumentsBetweenMounts copies documents of groups, also of one that has none, from
// mounts to mounts of either format.
func TestGroupDocumentsBetweenMounts(t *testing.T) {
	for _, formats := range [][2]string{{"2", "2"}, {"2", "3"}, {"3", "2"}, {"3", "3"}} {
		from, to := libraryStore(t, formats[0]), libraryStore(t, formats[1])
		if err := os.Mkdir(filepath.Join(from, "plain"), 0o777); err != nil {
			t.Fatal(err)
		}
		src, dst, tmp := mount(t, from), mount(t, to), t.TempDir()
		shell(t, src, `sed s/root/moved/ zarr.json > `+tmp+`/x; mv `+tmp+`/x zarr.json
			cp zarr.json `+dst+`/zarr.json
			cp -r . `+dst+`/cp; tar c g plain zarr.json | tar x -C `+dst+`/g`)
		for group, want := range map[string]string{
			"":     "moved",
			"cp":   "moved",
			"cp/g": "sub",
			"g":    "moved",
			"g/g":  "sub",
		} {
			title := xattr(t, filepath.Join(dst, group), "user.zarr.attr.title")
			if title != `"`+want+`"` {
				t.Errorf("formats %v: the title of %q is %s", formats, group, title)
			}
		}
		for _, store := range []string{from, to} {
			for name, data := range storeTree(t, store) {
				if strings.Contains(data, "open the store") {
					t.Errorf("formats %v: %s has\n%s", formats, name, data)
				}
			}
		}
	}
}

// TestConsolidatedIsNotShown mounts a store with consolidated metadata: a reader of the mount that
// uses them would find arrays there, and for each chunk the fill value.
func TestConsolidatedIsNotShown(t *testing.T) {
	store := libraryStore(t, "3")
	array := string(read(t, filepath.Join(store, "a/zarr.json")))
	doc := `{"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata": {
		"kind": "inline", "must_understand": false, "metadata": {"a": ` + array + `}}}`
	put(t, store, "zarr.json", doc)
	mnt := mount(t, store)
	shown := string(read(t, filepath.Join(mnt, "zarr.json")))
	if strings.Contains(shown, "float64") || !strings.Contains(shown, "open the store itself") {
		t.Errorf("the mount shows\n%s", shown)
	}
	shell(t, mnt, `cp zarr.json /dev/null; cat zarr.json > doc~; cat doc~ > zarr.json; rm doc~`)
	if got := string(read(t, filepath.Join(store, "zarr.json"))); got != doc {
		t.Errorf("the store has\n%s", got)
	}
}

// TestArrayDocumentOverGroup writes the document of an array over that of a group. A group that the
// same program has just made is removed. A group that is not empty, or that another program has
// made, stays.
func TestArrayDocumentOverGroup(t *testing.T) {
	store := libraryStore(t, "3")
	mnt := mount(t, store)
	doc := read(t, filepath.Join(store, "a/zarr.json"))
	says := func(path, group string) {
		t.Helper()
		want := `"` + group + `" is a group; a document of an array cannot replace it. ` +
			"To write with zarr or xarray, open the store itself: " + store
		why := xattr(t, filepath.Join(mnt, path), "user.zarrfs.error")
		if !strings.HasSuffix(why, want) {
			t.Errorf("user.zarrfs.error of %q is %q, expected %q", path, why, want)
		}
	}
	write := func(name string) {
		t.Helper()
		err := os.WriteFile(filepath.Join(mnt, name), doc, 0o666)
		if !isErrno(err, "invalid argument") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(mnt, "p/n"), 0o777); err != nil {
		t.Fatal(err)
	}
	write("p/n/zarr.json")
	if _, err := os.Stat(filepath.Join(store, "p")); !os.IsNotExist(err) {
		t.Errorf("the store has p: %v", err)
	}
	says("", "p/n")
	shell(t, mnt, "mkdir by")
	if err := os.MkdirAll(filepath.Join(mnt, "full/sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(mnt, "titled"), 0o777); err != nil {
		t.Fatal(err)
	}
	shell(t, mnt, `printf '{"attributes": {"title": "mine"}}' > titled/zarr.json`)
	for _, group := range []string{"by", "full", "titled"} {
		write(group + "/zarr.json")
		says(group, group)
	}
}

func isErrno(err error, text string) bool {
	return err != nil && strings.HasSuffix(err.Error(), text)
}

// TestStoreCopiedIntoMount copies the files of a store into a mount, which is not how an array gets
// there: cp says so.
func TestStoreCopiedIntoMount(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		store := libraryStore(t, format)
		mnt := mount(t, store)
		out, err := command("cp", "-r", libraryStore(t, format), filepath.Join(mnt, "copy"))
		if err == nil {
			t.Errorf("format %s: cp -r copies a store: %s", format, out)
		}
		status := read(t, filepath.Join(mnt, ".zarrfs/status.json"))
		if !strings.Contains(string(status), "open the store itself: "+store) {
			t.Errorf("format %s: status.json says\n%s", format, status)
		}
	}
}

// TestNewFolderIsEmpty lists a folder that was just made: its maker finds nothing in it, and
// everyone else its document.
func TestNewFolderIsEmpty(t *testing.T) {
	mnt := mount(t, libraryStore(t, "3"))
	dir := filepath.Join(mnt, "n")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("its maker finds %v, %v", found, err)
	}
	if doc := read(t, filepath.Join(dir, "zarr.json")); len(doc) == 0 {
		t.Error("the program that made it cannot read its document")
	}
	if others := run(t, "ls", dir); others != "zarr.json\n" {
		t.Errorf("another program finds %q", others)
	}
}

// TestWrittenDocumentIsListed lists a folder that was just made after its maker has written its
// document, or has set an attribute, and moves the folder away. The document goes with it.
func TestWrittenDocumentIsListed(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		mnt := mount(t, libraryStore(t, format))
		for name, write := range map[string]string{
			"document": `open("m/zarr.json", "w").write('{"attributes": {"made by": "me"}}')`,
			"open": `f = open("m/zarr.json", "w"); f.write('{"attributes": ` +
				`{"made by": "me"}}')`,
			"attribute": `os.setxattr("m", "user.zarr.attr.made by", b'"me"')`,
		} {
			t.Run(name+" of format "+format, func(t *testing.T) {
				cmd := limited(t, "python3", "-c", `import os, shutil, sys
os.mkdir("m")
`+write+`
assert os.listdir("m") == ["zarr.json"], os.listdir("m")
f = None # closed
shutil.move("m", sys.argv[1] + "/m")
assert "made by" in open(sys.argv[1] + "/m/zarr.json").read()`, t.TempDir())
				cmd.Dir = mnt
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// TestReadmeRecipe runs the recipe of the README that opens a group of a mount in xarray. It finds
// what xarray finds in the store.
func TestReadmeRecipe(t *testing.T) {
	py := viewsPython(t)
	_, recipe, _ := strings.Cut(string(read(t, "../README.md")), "```python\n")
	recipe, _, _ = strings.Cut(recipe, "```")
	for _, format := range []string{"2", "3"} {
		store := libraryStore(t, format)
		run(t, zarrfs(t), "create", store, "ocean", "--group")
		for _, name := range []string{"temperature", "salt"} {
			run(t, zarrfs(t), "create", store, "ocean/"+name, "--shape", "2,3",
				"--dtype", "float32",
				"--attributes", `{"units": "K"}`, "--dimension-names", "y,x")
		}
		mnt := mount(t, store)
		for _, name := range []string{"temperature", "salt"} {
			fill(t, filepath.Join(mnt, "ocean", name+".raw"))
		}
		check := recipe + `
want = xr.open_zarr(STORE, group="ocean", consolidated=False)
assert set(ds) == set(want) == {"temperature", "salt"}, ds
for name in want:
    assert ds[name].dims == want[name].dims == ("y", "x"), ds
    assert ds[name].attrs["units"] == want[name].attrs["units"] == "K", ds
    assert ds[name].values.tobytes() == want[name].values.tobytes(), ds
`
		cmd := limited(t, absolute(t, py), "-c",
			strings.ReplaceAll(check, "STORE", strconv.Quote(store)))
		cmd.Dir = filepath.Dir(mnt)
		if err := os.Symlink(mnt, filepath.Join(cmd.Dir, "mnt")); err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("format %s: %v\n%s", format, err, out)
		}
		os.Remove(filepath.Join(cmd.Dir, "mnt"))
	}
}

// TestConsolidatedStaysTrue writes elements, and then an attribute, of a store with consolidated
// metadata. The metadata stays at first. It goes when it would not be true any more.
func TestConsolidatedStaysTrue(t *testing.T) {
	const old2 = `{"zarr_consolidated_format": 1, "metadata": {}}`
	const old3 = `{"zarr_format": 3, "node_type": "group", "attributes": {},
		"consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {}}}`
	for _, tc := range []struct{ format, key, document string }{
		{"2", ".zmetadata", old2},
		{"3", "zarr.json", old3},
	} {
		t.Run(tc.format, func(t *testing.T) {
			store, log := libraryStore(t, tc.format), filepath.Join(t.TempDir(), "log")
			put(t, store, tc.key, tc.document)
			has := func() bool {
				doc, err := os.ReadFile(filepath.Join(store, tc.key))
				return err == nil && strings.Contains(string(doc), "consolidated")
			}
			mnt := mount(t, store, "--log", log)
			shell(t, mnt, "head -c 4 /dev/zero | dd of=a.raw conv=notrunc status=none; sync .")
			if !has() {
				t.Error("writing elements removed the consolidated metadata")
			}
			shell(t, mnt, "setfattr -n user.zarr.attr.units -v K a.npy")
			if has() {
				t.Error("changing an attribute did not remove the consolidated metadata")
			}
			if text := string(read(t, log)); !strings.Contains(text, "removed consolidated") {
				t.Errorf("the log does not say what was removed:\n%s", text)
			}
		})
	}
}
