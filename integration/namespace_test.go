package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests of this file create, rename and remove through a real mount, by the programs that
// people use for that.

// treeStore makes a store with a group g of an array b and a group sub with an array c, and one w
// of strings. Their chunks, codecs and attributes differ from those of a new array.
func treeStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{
		{"create", dir, "--group", "--attributes", `{"title": "root"}`},
		{"create", dir, "g", "--group", "--attributes", `{"title": "tree"}`},
		{"create", dir, "g/b", "--shape", "10,4", "--dtype", "<i2", "--chunks", "3,3", "--codecs",
			"gzip:1", "--attributes", `{"units": "K"}`},
		{"create", dir, "g/sub/c", "--shape", "30", "--dtype", "float64", "--chunks", "7",
			"--shards", "14", "--codecs", "none"},
		{"create", dir, "g/sub/w", "--shape", "3,2", "--dtype", "string", "--chunks", "2,1",
			"--codecs", "gzip:2", "--attributes", `{"lang": "de"}`},
	} {
		if out, err := command(zarrfs(t), args...); err != nil {
			t.Fatalf("zarrfs %q: %v\n%s", args, err, out)
		}
	}
	mnt := t.TempDir()
	if out, err := command(zarrfs(t), "mount", dir, mnt); err != nil {
		t.Fatalf("zarrfs mount %s: %v\n%s", dir, err, out)
	}
	defer unmount(t, mnt)
	fill(t, filepath.Join(mnt, "g/b.raw"))
	fill(t, filepath.Join(mnt, "g/sub/c.raw"))
	err := os.WriteFile(filepath.Join(mnt, "g/sub/w.jsonl"),
		[]byte("\"grün\"\n\"\"\n\"\\u0000\"\n\"a\\u0000\"\n\"\\n\"\n\"b\"\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill overwrites all bytes of a file.
func fill(t *testing.T, path string) {
	t.Helper()
	b := read(t, path)
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tree returns the files below dir and what they hold, without links.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := treeNow(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// treeNow is tree of a folder that may change meanwhile. Then it returns an error.
func treeNow(dir string) (files map[string]string, err error) {
	files = map[string]string{}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Type() == fs.ModeSymlink {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	})
	return files, err
}

// sameTree compares two trees of files.
func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s has %d bytes, expected these %d:\n%.300q\n%.300q",
				name, len(got[name]), len(data), got[name], data)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there, and should not", name)
		}
	}
}

// shell runs a script in dir and fails if it does.
func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := limited(t, "sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}

// TestDelayedUpdates lets rsync write all new files into a folder of each group, from which it
// renames them. It removes that folder in between if it can. The whole edited copy reaches the
// store.
func TestDelayedUpdates(t *testing.T) {
	need(t, "rsync")
	mnt := mount(t, treeStore(t))
	t.Setenv("OUT", t.TempDir())
	shell(t, mnt, `cp -a g $OUT/; cd $OUT/g; sed -i 's/"tree"/"edited"/' zarr.json
		printf abcdefgh | dd of=b.raw conv=notrunc status=none
		head -c $(($(stat -c %s b.npy) - 80)) b.npy > x; cat x b.raw > b.npy; rm x
		touch -d tomorrow b.npy b.raw zarr.json`)
	want := tree(t, os.Getenv("OUT")+"/g")
	for _, script := range []string{
		"rsync -a --delay-updates $OUT/g/ g/",
		"rsync -aI --delay-updates $OUT/g/ g/",
		"rm -r g; rsync -a --delay-updates $OUT/g/ g/",
	} {
		shell(t, mnt, script)
		sameTree(t, tree(t, filepath.Join(mnt, "g")), want)
		if got := names(t, filepath.Join(mnt, "g")); strings.Contains(got, "~tmp~") {
			t.Errorf("%s leaves %s", script, got)
		}
	}
}

// TestTreesAreCopied copies a group into the mount, in all the ways that people do, to a new and to
// an existing name: no program fails, and each array has the chunks, codecs, attributes and bytes
// of its source.
func TestTreesAreCopied(t *testing.T) {
	mnt, out := mount(t, treeStore(t)), t.TempDir()
	want := tree(t, filepath.Join(mnt, "g"))
	if !strings.Contains(want["b.json"], `"gzip"`) || len(want) != 11 {
		t.Fatalf("the source has %d files", len(want))
	}
	shell(t, mnt, "cp -r g "+out+"/g; tar -C "+out+" --sort=name -cf "+out+"/sorted.tar g; tar -C "+
		out+" -cf "+out+"/reversed.tar g/sub/w.jsonl g/sub/w.npy g/sub/w.json g/sub/c.raw "+
		"g/sub/c.npy g/sub/c.json g/sub/zarr.json g/b.raw g/b.npy g/b.json g/zarr.json")
	t.Setenv("OUT", out)
	for _, tc := range []struct{ name, script, program string }{
		{"cp", "cp -r $OUT/g new", "cp"}, {"cp within", "cp -r g new", "cp"},
		{"cp -a", "cp -a $OUT/g new", "cp"},
		{"cp -n", "cp -rn $OUT/g new", "cp"}, {"cp -u", "cp -ru $OUT/g new", "cp"},
		{"tar", "mkdir new; tar -xf $OUT/sorted.tar --strip-components=1 -C new", "tar"},
		{"tar, data first",
			"mkdir new; tar -xf $OUT/reversed.tar --strip-components=1 -C new", "tar"},
		{"rsync", "rsync -a $OUT/g/ new/", "rsync"},
		{"rsync --inplace", "rsync -a --inplace $OUT/g/ new/", "rsync"},
		{"mv", "cp -r $OUT/g $OUT/g2; mv $OUT/g2 new", "mv"},
		{"python", `python3 -c "import shutil, os; shutil.copytree(os.environ['OUT'] + '/g', ` +
			`'new', dirs_exist_ok=True)"`, "python3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			need(t, tc.program)
			shell(t, mnt, tc.script)
			sameTree(t, tree(t, filepath.Join(mnt, "new")), want)
			if !strings.Contains(tc.script, "$OUT/g2") {
				shell(t, mnt, strings.ReplaceAll(strings.ReplaceAll(tc.script, "mkdir new; ", ""),
					"cp -r $OUT/g new", "cp -r $OUT/g/. new"))
			}
			os.RemoveAll(filepath.Join(mnt, "new/g")) // otherwise cp -r would copy into it
			sameTree(t, tree(t, filepath.Join(mnt, "new")), want)
			shell(t, mnt, "rm -r new")
			if got := names(t, mnt); got != "g zarr.json" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// TestTreesAreRemoved removes groups, in several ways.
func TestTreesAreRemoved(t *testing.T) {
	store := treeStore(t)
	mnt := mount(t, store)
	for _, tc := range []struct{ script, program string }{
		{"rm -r new", "rm"}, {"find new -delete", "find"},
		{`python3 -c "import shutil; shutil.rmtree('new')"`, "python3"},
		{"cd new; rm b.json b.npy b.raw; rm sub/c.raw sub/c.npy; cd ..; rm -r new/sub; rmdir new",
			"rm"},
	} {
		need(t, tc.program)
		shell(t, mnt, "cp -r g new; "+tc.script)
		if got := names(t, mnt); got != "g zarr.json" {
			t.Errorf("after %s there is %s", tc.script, got)
		}
		if _, err := os.Stat(filepath.Join(store, "new")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %s the store has it: %v", tc.script, err)
		}
	}
}

// TestArraysMoveWhole renames an array by each of its views, and looks for the others at once.
func TestArraysMoveWhole(t *testing.T) {
	mnt := mount(t, treeStore(t))
	at := func(name string) string { return filepath.Join(mnt, "g", name) }
	raw := read(t, at("b.raw"))
	from := "b"
	for _, view := range []string{"json", "npy", "raw"} {
		for _, v := range []string{"json", "npy", "raw"} { // so that the kernel knows all of them
			if _, err := os.Stat(at(from + "." + v)); err != nil {
				t.Fatal(err)
			}
		}
		held, err := os.OpenFile(at(from+".raw"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		to := "by_" + view
		if err := os.Rename(at(from+"."+view), at(to+"."+view)); err != nil {
			t.Fatal(err)
		}
		for _, v := range []string{"npy", "json", "raw"} {
			_, err := os.Stat(at(from + "." + v))
			// the file is open, and the kernel forgets its old name only after the rename
			end := time.Now().Add(patience)
			for v == "raw" && err == nil && time.Now().Before(end) {
				_, err = os.Stat(at(from + ".raw"))
				time.Sleep(time.Millisecond)
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s.%s after the rename: %v", from, v, err)
			}
			if _, err := os.Stat(at(to + "." + v)); err != nil {
				t.Error(err)
			}
		}
		if got := read(t, at(to+".raw")); !bytes.Equal(got, raw) {
			t.Errorf("%s.raw has other bytes", to)
		}
		raw[0]++
		if _, err := held.WriteAt(raw[:1], 0); err != nil || held.Close() != nil {
			t.Errorf("a write to the open file: %v", err)
		}
		if got := read(t, at(to+".npy")); !bytes.HasSuffix(got, raw) {
			t.Error("what was written through a file opened before the rename is not in the array")
		}
		from = to
	}
}

// TestArrayGoesWithItsLastView removes the views of an array in each order: those that are left
// show it whole, and without the last it is gone, in the store too.
func TestArrayGoesWithItsLastView(t *testing.T) {
	store := treeStore(t)
	mnt := mount(t, store)
	at := func(view string) string { return filepath.Join(mnt, "g/x."+view) }
	stored := func() bool { return exists(filepath.Join(store, "g/x")) }
	for _, order := range [][]string{
		{"json", "npy", "raw"}, {"npy", "raw", "json"}, {"raw", "json", "npy"},
	} {
		shell(t, mnt, "cp g/b.json g/x.json; cp g/b.npy g/x.npy")
		whole := map[string][]byte{"json": read(t, at("json")), "npy": read(t, at("npy")),
			"raw": read(t, at("raw"))}
		for i, view := range order {
			if err := os.Remove(at(view)); err != nil {
				t.Fatal(err)
			}
			for _, gone := range order[:i+1] {
				if _, err := os.Stat(at(gone)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("x.%s after it was removed: %v", gone, err)
				}
				if _, err := os.Open(at(gone)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("open of x.%s after it was removed: %v", gone, err)
				}
				if strings.Contains(names(t, filepath.Join(mnt, "g")), "x."+gone) {
					t.Errorf("x.%s is listed after it was removed", gone)
				}
			}
			for _, left := range order[i+1:] {
				if got := read(t, at(left)); !bytes.Equal(got, whole[left]) {
					t.Errorf("x.%s has changed when x.%s was removed", left, view)
				}
			}
			if last := i == len(order)-1; stored() == last {
				t.Errorf("after %v were removed the store has the array: %t", order[:i+1], !last)
			}
		}
	}
}

// TestLastViewsAreRemovedAtOnce removes all views of arrays by as many programs at the same time:
// one of them removes the array.
func TestLastViewsAreRemovedAtOnce(t *testing.T) {
	store := treeStore(t)
	mnt := mount(t, store)
	for i := range 50 {
		shell(t, mnt, "cp g/b.npy x.npy")
		var all sync.WaitGroup
		for _, view := range []string{"json", "npy", "raw"} {
			all.Go(func() {
				if err := os.Remove(filepath.Join(mnt, "x."+view)); err != nil {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		all.Wait()
		if exists(filepath.Join(store, "x")) {
			t.Fatalf("%d: all views are gone, and the store has the array", i)
		}
	}
}

// TestRemovedAndRecreated: a program that has removed a view does not find it. When it creates that
// view again it writes the array in place, also with O_EXCL. A view that is created and left empty
// changes nothing.
func TestRemovedAndRecreated(t *testing.T) {
	mnt := mount(t, treeStore(t))
	at := func(view string) string { return filepath.Join(mnt, "g/b."+view) }
	before := map[string][]byte{"npy": read(t, at("npy")), "raw": read(t, at("raw")),
		"json": read(t, at("json"))}
	after := map[string][]byte{"npy": slices.Clone(before["npy"]),
		"raw":  bytes.Repeat([]byte{7}, len(before["raw"])),
		"json": bytes.Replace(before["json"], []byte(`"K"`), []byte(`"m"`), 1)}
	copy(after["npy"][128:], after["raw"])
	for _, view := range []string{"npy", "raw", "json"} {
		for _, text := range [][]byte{nil, after[view], before[view]} {
			if err := os.Remove(at(view)); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(at(view), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err == nil {
				_, err = f.Write(text)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Errorf(".%s was removed and written: %v", view, err)
			}
			if text == nil {
				text = before[view]
			}
			if got := read(t, at(view)); !bytes.Equal(got, text) {
				t.Errorf(".%s was removed and written, and has other bytes:\n%q\n%q",
					view, got, text)
			}
		}
	}
}

// TestNewArrayHidesNothing: where another program has removed an array of which views are hidden, a
// new one of its name has all views.
func TestNewArrayHidesNothing(t *testing.T) {
	store := treeStore(t)
	mnt := mount(t, store)
	content := read(t, filepath.Join(mnt, "g/b.npy"))
	shell(t, mnt, "rm g/b.npy g/b.json")
	if err := os.RemoveAll(filepath.Join(store, "g/b")); err != nil {
		t.Fatal(err)
	}
	shell(t, mnt,
		"for i in $(seq 50); do [ -e g/b.raw ] || break; sleep 0.1; done; [ ! -e g/b.raw ]")
	if err := os.WriteFile(filepath.Join(mnt, "g/b.npy"), content, 0o666); err != nil {
		t.Fatal(err)
	}
	shell(t, mnt, "[ -e g/b.npy ] && [ -e g/b.raw ] && [ -e g/b.json ]")
}

// TestRecreatedArrayHidesNothing: a view was removed, and then another program removes the array,
// and makes a new one of its name. The new one has all views, and is removed with the last of them.
// If this mount itself recreates an array, for other chunks, its removed views stay removed.
func TestRecreatedArrayHidesNothing(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := replacedStore(t, format)
		mnt := mount(t, store)
		shell(t, mnt, "rm a.npy b.raw; test -e a.raw; test ! -e a.npy")
		shell(t, store, "rm -r a")
		run(t, zarrfs(t), "create", store, "a", "--shape", "3", "--dtype", "<i4")
		shell(t, mnt, `for i in $(seq 50); do [ -e a.npy ] && break; sleep 0.1; done
			test "$(ls -d a.*)" = "$(printf 'a.json\na.npy\na.raw')"
			test "$(wc -c < a.npy)" = 140
			rm a.raw; rm a.json; test -e a.npy; rm a.npy`)
		if _, err := os.Stat(filepath.Join(store, "a")); !os.IsNotExist(err) {
			t.Errorf("the array is there without its views: %v", err)
		}
		t.Setenv("TMP", t.TempDir())
		shell(t, mnt, `sed -z 's/3,\s*3/5,\n4/' b.json > $TMP/b.json; mv $TMP/b.json b.json
			sleep 1.1; test ! -e b.raw; test -e b.npy`)
		if got := xattr(t, filepath.Join(mnt, "b.npy"), "user.zarr.chunks"); got != "[5,4]" {
			t.Errorf("the array has chunks of %s", got)
		}
		shell(t, mnt, "cp s.npy b.npy; sleep 1.1; test ! -e b.raw; test -e b.npy")
	})
}

// TestCopiedHolesAreZero copies files with holes at the start, in the middle and at the end over an
// array whose fill value is not zero.
func TestCopiedHolesAreZero(t *testing.T) {
	store, tmp := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "a", "--shape", "40,1024", "--dtype", "<i4", "--chunks",
		"3,1000", "--fill-value", "7")
	mnt := mount(t, store)
	t.Setenv("TMP", tmp)
	header := read(t, filepath.Join(mnt, "a.npy"))[:128]
	for view, size := range map[string]int64{"raw": 40 * 4096, "npy": 128 + 40*4096} {
		sparse, err := os.Create(filepath.Join(tmp, "a."+view))
		if view == "npy" {
			sparse.Write(header)
		}
		sparse.WriteAt(bytes.Repeat([]byte{1}, 4096), 5*4096)
		sparse.WriteAt(bytes.Repeat([]byte{2}, 4096), 20*4096)
		if err = errors.Join(err, sparse.Truncate(size), sparse.Close()); err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{
			"cp $TMP/a.VIEW .", "cp --sparse=always $TMP/a.VIEW .", "rm a.VIEW; cp $TMP/a.VIEW .",
			"cp $TMP/a.VIEW $TMP/b; mv $TMP/b a.VIEW",
			"tar -C $TMP -S -cf $TMP/t a.VIEW; tar -xf $TMP/t",
			"dd if=$TMP/a.raw of=a.raw bs=4k conv=sparse status=none",
		} {
			if view == "npy" && strings.HasPrefix(script, "dd") {
				// dd makes a hole at the end only by setting the size, and a .npy has its size from
				// the header on
				continue
			}
			script = strings.ReplaceAll(script, "VIEW", view)
			shell(t, mnt, script)
			if !bytes.Equal(read(t, filepath.Join(mnt, "a."+view)), read(t, sparse.Name())) {
				t.Errorf("%s: the copy has other bytes", script)
			}
		}
	}
}

// TestCreatedFileIsEmpty: a .raw file that was removed and is created has no bytes until it is
// written, through any handle. What is written first, or a size that is set, ends the rows of the
// array.
func TestCreatedFileIsEmpty(t *testing.T) {
	mnt := mount(t, treeStore(t))
	name := filepath.Join(mnt, "g/b.raw")
	before := read(t, name)
	for what, do := range map[string]func(f *os.File) (want []byte, err error){
		"closed": func(*os.File) ([]byte, error) { return before, nil },
		"written": func(f *os.File) ([]byte, error) {
			_, err := f.Write(before[:8])
			return before[:8], err
		},
		"truncated by name, and written": func(f *os.File) ([]byte, error) {
			err := os.Truncate(name, 16)
			_, wrong := f.Write(before[:8])
			return slices.Concat(before[:8], make([]byte, 8)), errors.Join(err, wrong)
		},
		"appended to by another, and written": func(f *os.File) ([]byte, error) {
			other, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = other.Write(before[8:24])
				err = errors.Join(err, other.Close())
			}
			_, wrong := f.Write(before[:8])
			return slices.Concat(before[:8], before[16:24]), errors.Join(err, wrong)
		},
	} {
		os.WriteFile(name, before, 0o666)
		os.Remove(name)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		end, err := f.Seek(0, io.SeekEnd)
		if found := read(t, name); end != 0 || err != nil || len(found) != 0 {
			t.Errorf("%s: a file that was created ends at %d, %v, and has %q",
				what, end, err, found)
		}
		want, err := do(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		got := read(t, name)
		// the kernel releases a file some time after its close
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); got = read(t, name) {
			if bytes.Equal(got, want) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

// TestDocumentRecreated removes a document and creates it with other chunks: the array then has
// these chunks, with its bytes. A document of another type is refused, and nothing is changed.
func TestDocumentRecreated(t *testing.T) {
	mnt := mount(t, treeStore(t))
	want := read(t, filepath.Join(mnt, "g/b.npy"))
	shell(t, mnt, `cd g; sed -z 's/3,\s*3/5,\n4/' b.json > /tmp/$$.json; mv /tmp/$$.json b.json`)
	if got := xattr(t, filepath.Join(mnt, "g/b.npy"), "user.zarr.chunks"); got != "[5,4]" {
		t.Errorf("the array has chunks of %s", got)
	}
	if got := read(t, filepath.Join(mnt, "g/b.npy")); !bytes.Equal(got, want) {
		t.Error("the array has other bytes")
	}
	document := read(t, filepath.Join(mnt, "g/b.json"))
	os.Remove(filepath.Join(mnt, "g/b.json"))
	err := os.WriteFile(filepath.Join(mnt, "g/b.json"),
		bytes.Replace(document, []byte("int16"), []byte("int32"), 1), 0o666)
	if !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a document of another type: %v", err)
	}
	if got := read(t, filepath.Join(mnt, "g/b.npy")); !bytes.Equal(got, want) {
		t.Error("a document that was refused has changed the array")
	}
	if got := read(t, filepath.Join(mnt, "g/b.json")); !bytes.Equal(got, document) {
		t.Errorf("the document is %s", got)
	}
}

// TestFoldersAreRenamed renames groups with files open in them.
func TestFoldersAreRenamed(t *testing.T) {
	mnt := mount(t, treeStore(t))
	want := tree(t, filepath.Join(mnt, "g"))
	held, err := os.Open(filepath.Join(mnt, "g/sub/c.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	shell(t, mnt, `root="$PWD"; cd g/sub; mkdir "$root/to"; mv "$root/g" "$root/to/h"; `+
		`cmp c.raw "$root/to/h/sub/c.raw"; cd -P ..; mv sub sub2; `+
		`cmp sub2/c.json "$root/to/h/sub2/c.json"; mv sub2 sub`)
	sameTree(t, tree(t, filepath.Join(mnt, "to/h")), want)
	got := make([]byte, 240)
	if n, _ := held.ReadAt(got, 0); n != 240 || string(got) != want["sub/c.raw"] {
		t.Error("an open file does not follow")
	}
	if _, err := os.Stat(filepath.Join(mnt, "g")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: %v", err)
	}
	shell(t, mnt, "mkdir g; mkdir e; mv -T e g; ls g >/dev/null")
	if got := names(t, mnt); got != "g to zarr.json" {
		t.Errorf("left: %s", got)
	}
}

// TestNamespaceErrors asks for impossible things.
func TestNamespaceErrors(t *testing.T) {
	store := treeStore(t)
	mnt := mount(t, store)
	at := func(name string) string { return filepath.Join(mnt, name) }
	rename := func(from, to string) error { return unix.Rename(at(from), at(to)) }
	write := func(name, data string) error { return os.WriteFile(at(name), []byte(data), 0o666) }
	shell(t, mnt, "cp g/b.npy a.npy; mkdir empty; echo x > note")
	array := string(read(t, at("a.npy")))
	before := tree(t, mnt)
	for _, tc := range []struct {
		what string
		err  error
		want syscall.Errno
	}{
		{"rmdir of a group with children", unix.Rmdir(at("g")), unix.ENOTEMPTY},
		{"rmdir of a file", unix.Rmdir(at("a.npy")), unix.ENOTDIR},
		{"rmdir of the mount's own folder", unix.Rmdir(at(".zarrfs")), unix.EPERM},
		{"unlink of a group", unix.Unlink(at("g")), unix.EISDIR},
		{"unlink of nothing", unix.Unlink(at("nothing.npy")), unix.ENOENT},
		{"mkdir over a group", unix.Mkdir(at("g"), 0o777), unix.EEXIST},
		{"mkdir over an array", unix.Mkdir(at("a"), 0o777), unix.EEXIST},
		{"mkdir in nothing", unix.Mkdir(at("x/y"), 0o777), unix.ENOENT},
		{"mkdir in a file", unix.Mkdir(at("a.npy/y"), 0o777), unix.ENOTDIR},
		{"mkdir of a name that stands for another", unix.Mkdir(at("100%"), 0o777), unix.EINVAL},
		{"mkdir of a long name", unix.Mkdir(at(strings.Repeat("x", 250)), 0o777),
			unix.ENAMETOOLONG},
		{"mkdir of a longer name", unix.Mkdir(at(strings.Repeat("x", 256)), 0o777),
			unix.ENAMETOOLONG},
		{"rename of a group into itself", rename("g", "g/sub/x"), unix.EINVAL},
		{"rename of a group over one with children", rename("empty", "g"), unix.ENOTEMPTY},
		{"rename of a group over a file", rename("empty", "a.npy"), unix.ENOTDIR},
		{"rename of a file over a group", rename("note", "empty"), unix.EISDIR},
		{"rename of nothing", rename("nothing", "x"), unix.ENOENT},
		{"rename out of the mount", unix.Rename(at("a.npy"), filepath.Join(t.TempDir(), "a.npy")),
			unix.EXDEV},
		{"rename of a view to another kind", rename("a.npy", "b.raw"), unix.EPERM},
		{"rename of an array to no view", rename("a.npy", "b"), unix.EPERM},
		{"rename of an array to a backup", rename("a.raw", "a.raw~"), unix.EPERM},
		{"rename of a group's document", rename("g/zarr.json", "x.json"), unix.EPERM},
		{"exchange", unix.Renameat2(unix.AT_FDCWD, at("a.npy"), unix.AT_FDCWD, at("g/b.npy"),
			unix.RENAME_EXCHANGE), unix.EINVAL},
		{"rename over an array that should not be there", unix.Renameat2(unix.AT_FDCWD, at("a.npy"),
			unix.AT_FDCWD, at("g/b.npy"), unix.RENAME_NOREPLACE), unix.EEXIST},
		{"rename of a text onto a view", rename("note", "new.npy"), unix.EOPNOTSUPP},
		{"rename of a text onto a document", rename("note", "a.json"), unix.EOPNOTSUPP},
		{"a copy that is not a .npy",
			write("new.npy", "this is not a NumPy file, but has room for a header"), unix.EINVAL},
		{"a copy of half a header", write("new.npy", "\x93NUMPY\x01\x00"), unix.EINVAL},
		{"a document that is not JSON", write("a.json", `{"attributes": `), unix.EINVAL},
		{"a document that changes what is fixed", write("a.json", `{"data_type": "int8"}`),
			unix.EINVAL},
		{"a new document that lacks all", write("new.json", `{}`), unix.EINVAL},
		{"a copy to a name that would be another's second", write("a%.npy", array), unix.EINVAL},
		{"removing a name that would be another's second", unix.Unlink(at("a%.npy")), unix.ENOENT},
		{"rename of a file to such a name", rename("note", "a%.npy"), unix.EOPNOTSUPP},
		{"rename of an array to such a name", rename("g/b.npy", "a%.npy"), unix.EOPNOTSUPP},
		{"a copy to a name that stands for another", write("my%20file.npy", array), unix.EINVAL},
		{"bytes for a name that stands for another", write("my%20file.raw", array), unix.EINVAL},
		{"a copy to a name that stands for a path", write("g%2Fb.npy", array), unix.EINVAL},
		{"bytes for a name that stands for a path", write("g%2Fb.raw", array), unix.EINVAL},
		{"mkdir of a name that stands for a path", unix.Mkdir(at("g%2Fnew"), 0o777), unix.EINVAL},
		{"rename of an array to such a name", rename("a.npy", "g%2Fb.npy"), unix.EOPNOTSUPP},
		{"rename of a group to such a name", rename("empty", "g%2Fnew"), unix.EINVAL},
		{"removing an array by such a name", unix.Unlink(at("g%2Fb.npy")), unix.ENOENT},
		{"a copy to a name of bytes that are not text", write("\xff.npy", array), unix.EINVAL},
		{"a copy to a long name", write(strings.Repeat("x", 245)+".npy", array), unix.ENAMETOOLONG},
		{"an array called as a document", write(".zarray.npy", array), unix.EINVAL},
		{"an array called as the group's document", write("empty/zarr.json.npy", array),
			unix.EINVAL},
		{"a group called as a document", unix.Mkdir(at(".zattrs"), 0o777), unix.EINVAL},
		{"a group called as a signpost", unix.Mkdir(at(".zgroup"), 0o777), unix.EEXIST},
		{"rename of a group to a document", rename("empty", "g/.zattrs"), unix.EINVAL},
		{"a link", unix.Link(at("note"), at("link")), unix.EPERM},
		{"a symbolic link that leaves the store", unix.Symlink("../note", at("link")), unix.EPERM},
		{"a pipe", unix.Mkfifo(at("pipe"), 0o666), unix.EPERM},
		{"an attribute that follows from the metadata",
			unix.Setxattr(at("a.npy"), "user.zarr.shape", []byte("[1]"), 0), unix.EPERM},
		{"an attribute of no kind that there is",
			unix.Setxattr(at("a.npy"), "user.mime_type", []byte("x"), 0), unix.EOPNOTSUPP},
		{"an attribute that should not be there", unix.Setxattr(
			at("g"), "user.zarr.attr.title", []byte("x"), unix.XATTR_CREATE), unix.EEXIST},
		{"an attribute that should be there", unix.Setxattr(
			at("g"), "user.zarr.attr.none", []byte("x"), unix.XATTR_REPLACE), unix.ENODATA},
		{"removing an attribute that is not there",
			unix.Removexattr(at("g"), "user.zarr.attr.none"), unix.ENODATA},
		{"an attribute that is neither JSON nor text",
			unix.Setxattr(at("g"), "user.zarr.attr.title", []byte("\xff\x00\xfe"), 0), unix.EINVAL},
		{"an attribute whose JSON is not UTF-8", unix.Setxattr(
			at("g/b.npy"), "user.zarr.attr.title", []byte("\"\xff\""), 0), unix.EINVAL},
		{"an attribute whose name is not text",
			unix.Setxattr(at("g"), "user.zarr.attr.%FF", []byte("1"), 0), unix.EINVAL},
		{"a format of arrays that the group does not have",
			unix.Setxattr(at("g"), "user.zarrfs.create.format", []byte("2"), 0), unix.EINVAL},
		{"a setting that does not exist",
			unix.Setxattr(at("g"), "user.zarrfs.create.chunk", []byte("1"), 0), unix.EINVAL},
	} {
		if !errors.Is(tc.err, tc.want) {
			t.Errorf("%s: %v, expected %s", tc.what, tc.err, unix.ErrnoName(tc.want))
		}
	}
	sameTree(t, tree(t, mnt), before)
	for _, left := range []string{"new", "x", "b", "100%", ".zarray", ".zgroup", "g/.zattrs"} {
		if _, err := os.Stat(filepath.Join(store, left)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the store has %s: %v", left, err)
		}
	}
	write("a.json", `{"data_type": "int8"}`)
	reason := xattr(t, at("a.json"), "user.zarrfs.error")
	if !strings.Contains(reason, `data_type: expected "int16"`) {
		t.Errorf("user.zarrfs.error is %q", reason)
	}
}

// TestRefusedAndRecreated recreates a file at once that was refused when it was closed. The release
// of the old one, for which the kernel does not wait, must not affect the new one. If several
// programs do so, one may get ESTALE or ENOENT, because the kernel looks a name up only twice. A
// program gets no error if another one has truncated its text to nothing.
func TestRefusedAndRecreated(t *testing.T) {
	mnt := mount(t, treeStore(t))
	for name, texts := range map[string][]string{
		"new.npy":  {"this is not a NumPy file, but long enough for a header", "\x93NUMPY\x01\x00"},
		"new.json": {"{}", `{"zarr_format": `},
	} {
		path := filepath.Join(mnt, name)
		for i := range 60 {
			err := os.WriteFile(path, []byte(texts[i%2]), 0o666)
			if !errors.Is(err, syscall.EINVAL) {
				t.Fatalf("%s, %d: %v, expected EINVAL", name, i, err)
			}
		}
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for i := range 300 {
					err := os.WriteFile(path, []byte(texts[i%2]), 0o666)
					isRace := errors.Is(err, syscall.ESTALE) || errors.Is(err, syscall.ENOENT)
					if err != nil && !errors.Is(err, syscall.EINVAL) && !isRace {
						t.Errorf("%s, four at once, %d: %v, expected EINVAL", name, i, err)
						return
					}
				}
			})
		}
		writers.Wait()
		if err := os.WriteFile(path, []byte(texts[0]), 0o666); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s, in the end: %v, expected EINVAL", name, err)
		}
	}
	// it may end later
	shell(t, mnt, "for i in 1 2 3 4 5 6 7 8 9; do test $(ls | wc -l) = 2 && exit; sleep 0.1; "+
		"done; ls; exit 1")
}

// TestCopyOntoItself copies an array by one of its names to another, which are one file: each
// program ends with an error, and only files that the shell itself has truncated are changed.
func TestCopyOntoItself(t *testing.T) {
	mnt := mount(t, treeStore(t))
	want := tree(t, filepath.Join(mnt, "g"))
	for _, script := range []string{
		"cp b.npy b.raw", "cp b.raw b.npy", "cp -f b.npy b.raw",
		"cp --no-preserve=all -T b.npy b.raw", "dd if=b.npy of=b.raw bs=64",
		"cat b.npy >> b.raw", "cat b.raw >> b.npy",
		"dd if=b.npy of=b.raw bs=64 conv=notrunc oflag=append",
	} {
		cmd := limited(t, "timeout", "60", "sh", "-c", script)
		cmd.Dir = filepath.Join(mnt, "g")
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() == 124 ||
			!strings.Contains(string(out), "busy") {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		sameTree(t, tree(t, filepath.Join(mnt, "g")), want)
	}
	// the shell truncates it before cat starts
	cmd := limited(t, "timeout", "60", "sh", "-c", "cat b.npy > b.raw")
	cmd.Dir = filepath.Join(mnt, "g")
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() == 124 {
		t.Errorf("cat b.npy > b.raw: %v\n%s", err, out)
	}
	// other arrays
	shell(t, mnt, "cp g/sub/c.npy g/sub/d.npy; cp g/sub/c.raw g/sub/d.raw; "+
		"cat g/sub/c.raw >> g/sub/d.raw; rm g/sub/d.*")
	held, err := os.Open(filepath.Join(mnt, "g/sub/c.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.WriteFile(filepath.Join(mnt, "g/sub/c.raw"), make([]byte, 16), 0o666); err != nil {
		t.Errorf("a program that does not copy files is stopped: %v", err)
	}
}

// TestProgramStartsWhileFilesAreOpen: a program with files of the mount open for writing starts
// another one. The execve(2) of the new process closes the files, and so sends a FLUSH of each. The
// kernel answers no question about the process until the exec is done. A daemon that asks would
// wait for itself, and no signal could end either process.
func TestProgramStartsWhileFilesAreOpen(t *testing.T) {
	d := newDaemon(t, treeStore(t))
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	npy, err := os.ReadFile(d.path("g/b.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"g/b.json":  nil,
		"g/new.npy": npy[:len(npy)-1],
		"g/b.npy":   npy[:140],
		"g/b.raw":   npy[128:130],
		"note":      []byte("x"),
	} {
		f, err := os.OpenFile(d.path(name), os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	began, started := time.Now(), make(chan error, 1)
	go func() { started <- exec.Command("true").Run() }()
	select {
	case err := <-started:
		if err != nil {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	case <-time.After(20 * time.Second):
		d.kill()
		t.Fatal("the program did not start within 20 s")
	}
}

func xattr(t *testing.T, path, name string) string {
	t.Helper()
	buf := make([]byte, 64<<10)
	n, err := unix.Getxattr(path, name, buf)
	if err != nil {
		t.Fatalf("%s of %s: %v", name, path, err)
	}
	return string(buf[:n])
}

// TestForeignXattrs asks for what every ls -l asks for: the answer is that no file of the mount has
// it.
func TestForeignXattrs(t *testing.T) {
	mnt := mount(t, treeStore(t))
	if err := os.WriteFile(filepath.Join(mnt, "note"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", "g/b.npy", "g", "zarr.json", "note", ".zarrfs/status.json"} {
		for _, name := range []string{
			"security.selinux", "security.capability", "system.posix_acl_access",
			"system.posix_acl_default", "trusted.x",
		} {
			n, err := unix.Getxattr(filepath.Join(mnt, file), name, make([]byte, 100))
			if err != unix.EOPNOTSUPP {
				t.Errorf("%s of %q: %d bytes, %v; want EOPNOTSUPP", name, file, n, err)
			}
		}
	}
}

// TestTransients uses files whose names are not views as ordinary files.
func TestTransients(t *testing.T) {
	store := treeStore(t)
	mnt := mount(t, store)
	at := func(name string) string { return filepath.Join(mnt, name) }
	shell(t, mnt, `echo hello > note; test "$(cat note)" = hello; mv note .note.Xy7
		ls -A | grep -q '^.note.Xy7$'; echo more >> .note.Xy7
		test "$(wc -l < .note.Xy7)" = 2; truncate -s 3 .note.Xy7; test "$(cat .note.Xy7)" = hel
		cp .note.Xy7 g/; cmp .note.Xy7 g/.note.Xy7
		chmod 600 .note.Xy7; test "$(stat -c %a .note.Xy7)" = 600; touch -d 2001-02-03 .note.Xy7
		test "$(stat -c %Y .note.Xy7 | head -c 5)" = 98115
		fallocate -l 100 .note.Xy7; test "$(stat -c %s .note.Xy7)" = 100; mkdir t; mv .note.Xy7 t/
		! rmdir t 2>/dev/null; mv t u; test -f u/.note.Xy7; rm -r u`)
	f, err := os.OpenFile(at("4913"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(8192); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	copy(m[4096:], "mapped")
	if err := unix.Msync(m, unix.MS_SYNC); err != nil {
		t.Fatal(err)
	}
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	if got := read(t, at("4913")); string(got[4096:4102]) != "mapped" {
		t.Errorf("the file has %q where it was mapped", got[4096:4102])
	}
	if err := os.Remove(at("4913")); err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt([]byte("still"), 0); n != 5 || err != nil {
		t.Errorf("a removed file that is open: %v", err)
	}
	entries, err := os.ReadDir(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".zarrfs") && e.Name() != "g" && e.Name() != "zarr.json" {
			t.Errorf("the store has %s", e.Name())
		}
	}
}

// TestTransientSpace fills the space for files that are not arrays. Removed files that are still
// open count, and holes do not.
func TestTransientSpace(t *testing.T) {
	mnt := mount(t, treeStore(t), "--scratch-size", "80MiB")
	shell(t, mnt, `head -c 60000000 /dev/zero > big; ! head -c 30000000 /dev/zero 2>/dev/null > more
		rm more; truncate -s 1G hole; rm hole
		! fallocate -l 30000000 more 2>/dev/null; fallocate -l 10000000 more; rm more`)
	held, err := os.Open(filepath.Join(mnt, "big"))
	if err != nil {
		t.Fatal(err)
	}
	shell(t, mnt, `rm big; ! head -c 30000000 /dev/zero 2>/dev/null > more; rm more`)
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	// until the daemon has closed it
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := os.WriteFile(filepath.Join(mnt, "more"), make([]byte, 60000000), 0o666)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the space of a removed file is not free: %v", err)
		}
	}
}

// TestLinesTakeSpace writes more lines than there is space for: the program gets an error, nothing
// changes, and the space is free again.
func TestLinesTakeSpace(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	out, err := command(zarrfs(t), "create", store, "words", "--shape", "1", "--dtype", "string")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := filepath.Join(mount(t, store, "--scratch-size", "64MiB"), "words.jsonl")
	lines := bytes.Repeat([]byte("x"), 80<<20)
	if err := os.WriteFile(path, lines, 0o666); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("80 MiB of lines: %v, want ENOSPC", err)
	}
	if got := string(read(t, path)); got != "\"\"\n" {
		t.Errorf("then the array is %.100q, want it as it was", got)
	}
	line := `"` + strings.Repeat("y", 30<<20) + `"` + "\n"
	for range 4 {
		if err := os.WriteFile(path, []byte(line), 0o666); err != nil {
			t.Fatalf("the space is not free: %v", err)
		}
	}
}

// TestEditors changes a document as editors and other programs do: with temporary files, backups
// and renames.
func TestEditors(t *testing.T) {
	mnt := mount(t, treeStore(t))
	for i, tc := range []struct{ script, program string }{
		{`sed -i "s/$OLD/$NEW/" g/b.json`, "sed"},
		{`sed "s/$OLD/$NEW/" g/b.json > g/.b.json.tmp; mv g/.b.json.tmp g/b.json`, "sed"},
		{`mv g/b.json g/b.json~; sed "s/$OLD/$NEW/" g/b.json~ > g/b.json; rm g/b.json~`, "sed"},
		{`text="$(sed "s/$OLD/$NEW/" g/b.json)"; echo "$text" > g/b.json`, "sed"},
		{`sed "s/$OLD/$NEW/" g/b.json > $OUT/x; cp $OUT/x g/b.json`, "cp"},
		{`sed "s/$OLD/$NEW/" g/b.json > $OUT/x; cp --backup $OUT/x g/b.json
			grep -q $OLD g/b.json~; rm g/b.json~`, "cp"},
		{`sed "s/$OLD/$NEW/" g/b.json > $OUT/x; install -b $OUT/x g/b.json
			grep -q $OLD g/b.json~; rm g/b.json~`, "install"},
		{`sed "s/$OLD/$NEW/" g/b.json > $OUT/x; mv -b $OUT/x g/b.json
			grep -q $OLD g/b.json~; rm g/b.json~`, "mv"},
		{`sed "s/$OLD/$NEW/" g/b.json > $OUT/x; cp $OUT/x g/b.json
			sed 's/"tree"/"new"/' g/zarr.json > $OUT/z
			cp --backup $OUT/z g/zarr.json
			grep -q '"new"' g/zarr.json; mv g/zarr.json~ g/zarr.json
			grep -q '"tree"' g/zarr.json`, "cp"},
		{`sed "s/$OLD/$NEW/" g/b.json > $OUT/x; rsync -I $OUT/x g/b.json`, "rsync"},
		{`sed "s/$OLD/$NEW/" g/b.json > $OUT/x; rsync -I --inplace $OUT/x g/b.json`, "rsync"},
		{`vim -Nu NONE -es -c "%s/$OLD/$NEW/" -c wq g/b.json`, "vim"},
		{`vim -Nu NONE --cmd 'set backup backupcopy=no' -es -c "%s/$OLD/$NEW/" -c wq g/b.json; ` +
			`rm -f g/b.json~`, "vim"},
		{`emacs -Q --batch g/b.json --eval "(progn (replace-string \"$OLD\" \"$NEW\") ` +
			`(save-buffer))" 2>/dev/null; rm -f g/b.json~`, "emacs"},
		{`python3 -c "import json; d = json.load(open('g/b.json')); ` +
			`d['attributes']['units'] = '$NEW'; json.dump(d, open('g/b.json', 'w'))"`, "python3"},
		{`dd if=g/b.json of=$OUT/x status=none; sed -i "s/$OLD/$NEW/" $OUT/x; ` +
			`dd if=$OUT/x of=g/b.json bs=7 status=none`, "dd"},
	} {
		t.Run(tc.script, func(t *testing.T) {
			need(t, tc.program)
			before, now := xattr(t, filepath.Join(mnt, "g/b.npy"), "user.zarr.attr.units"),
				fmt.Sprintf("K%d", i)
			t.Setenv("OLD", strings.Trim(before, `"`))
			t.Setenv("NEW", now)
			t.Setenv("OUT", t.TempDir())
			shell(t, mnt, tc.script)
			got := xattr(t, filepath.Join(mnt, "g/b.npy"), "user.zarr.attr.units")
			if got != `"`+now+`"` {
				t.Errorf("units are %s, expected %q", got, now)
			}
			if got := names(t, filepath.Join(mnt, "g")); got != "b.json b.npy b.raw sub zarr.json" {
				t.Errorf("the folder holds %s", got)
			}
		})
	}
}

// TestTemporaryNames writes arrays under a name that is not a view and renames them, as rsync and
// careful programs do.
func TestTemporaryNames(t *testing.T) {
	mnt := mount(t, treeStore(t))
	at := func(name string) string { return filepath.Join(mnt, name) }
	npy, raw := read(t, at("g/b.npy")), read(t, at("g/b.raw"))
	shell(t, mnt, "cp g/b.npy tmp; mv tmp new.npy")
	if !bytes.Equal(read(t, at("new.npy")), npy) || !bytes.Equal(read(t, at("new.raw")), raw) {
		t.Error("the new array has other bytes")
	}
	raw[0]++
	if err := errors.Join(os.WriteFile(at(".b.raw.Xy7"), raw, 0o666),
		os.Rename(at(".b.raw.Xy7"), at("g/b.raw"))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, at("g/b.raw")), raw) || !bytes.HasSuffix(read(t, at("g/b.npy")), raw) {
		t.Error("the array has other bytes than the one whose bytes it got")
	}
	if codecs := xattr(t, at("g/b.npy"), "user.zarr.codecs"); !strings.Contains(codecs, "gzip") {
		t.Errorf("it has other codecs: %s", codecs)
	}
	if err := errors.Join(os.WriteFile(at("short"), npy[:len(npy)-1], 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at("short"), at("g/b.npy")); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("a file that lacks a byte: %v", err)
	}
	why := xattr(t, at("short"), "user.zarrfs.error")
	if !strings.Contains(why, "short cannot become b.npy") ||
		!strings.Contains(why, "expected 80 bytes after the header, found 79") {
		t.Errorf("user.zarrfs.error: %s", why)
	}
	if !bytes.Equal(read(t, at("g/b.raw")), raw) {
		t.Error("a rename that was refused changed the array")
	}
	out, err := limited(t, "mv", at("short"), at("new2.npy")).CombinedOutput()
	// for EINVAL mv would say: to a subdirectory of itself
	if err == nil || !strings.Contains(string(out), "not supported") {
		t.Errorf("mv: %v, %s", err, out)
	}
}

// TestDocumentFirst creates an array by its document, before and after its bytes.
func TestDocumentFirst(t *testing.T) {
	mnt := mount(t, treeStore(t))
	for _, script := range []string{
		"cp g/b.json n.json; cat g/b.raw > n.raw", "cat g/b.raw > n.raw; cp g/b.json n.json",
		"touch n.json n.npy; cp g/b.json n.json; cp g/b.npy n.npy",
	} {
		shell(t, mnt, script+"; cmp g/b.json n.json; cmp g/b.npy n.npy; cmp g/b.raw n.raw; rm n.*")
	}
	shell(t, mnt, "touch t.npy t.raw t.json; test -f t.npy; rm t.npy t.raw t.json; touch t.npy; "+
		"cp g/b.npy t.npy; cmp g/b.npy t.npy; rm t.*")
	if got := names(t, mnt); got != "g zarr.json" {
		t.Errorf("left: %s", got)
	}
}

// TestAttributesAreSet sets and removes attributes by setfattr, and settings of a group.
func TestAttributesAreSet(t *testing.T) {
	store := treeStore(t)
	mnt := mount(t, store)
	at := func(name string) string { return filepath.Join(mnt, name) }
	for name, value := range map[string]string{
		"user.zarr.attr.scale": "0.5",
		"user.zarr.attr.a/b":   `{"c": [1, null]}`,
		"user.zarr.attr.text":  "no JSON",
		"user.zarr.attr.empty": "",
	} {
		for _, file := range []string{"g/b.npy", "g"} {
			if err := unix.Setxattr(at(file), name, []byte(value), 0); err != nil {
				t.Errorf("%s of %s: %v", name, file, err)
			}
		}
	}
	for _, path := range []string{"g/b", "g"} {
		var doc struct{ Attributes map[string]any }
		err := json.Unmarshal(read(t, filepath.Join(store, path, "zarr.json")), &doc)
		if err != nil {
			t.Fatal(err)
		}
		delete(doc.Attributes, "units")
		delete(doc.Attributes, "title")
		got := fmt.Sprint(doc.Attributes)
		if got != "map[a/b:map[c:[1 <nil>]] empty: scale:0.5 text:no JSON]" {
			t.Errorf("%s has the attributes %s", path, got)
		}
	}
	if err := unix.Removexattr(at("g/b.json"), "user.zarr.attr.scale"); err != nil {
		t.Error(err)
	}
	if strings.Contains(string(read(t, at("g/b.json"))), "scale") {
		t.Error("a removed attribute is in the document")
	}
	if err := unix.Setxattr(at("g"), "user.zarrfs.create.chunks", []byte("5,2"), 0); err != nil {
		t.Fatal(err)
	}
	shell(t, mnt, "cp g/b.npy g/new.npy; cp g/b.npy new.npy")
	inside, outside := xattr(t, at("g/new.npy"), "user.zarr.chunks"),
		xattr(t, at("new.npy"), "user.zarr.chunks")
	if inside != "[5,2]" || outside == "[5,2]" {
		t.Errorf("chunks in the group %s, outside %s", inside, outside)
	}
	if err := unix.Removexattr(at("g"), "user.zarrfs.create.chunks"); err != nil {
		t.Error(err)
	}
	list := make([]byte, 4096)
	if n, _ := unix.Listxattr(at("g"), list); bytes.Contains(list[:n], []byte("zarrfs")) {
		t.Errorf("left of the settings: %q", list)
	}
}

// TestAxesAreSet names the dimensions of arrays of both formats: by the document, by the attribute
// that has them in format 2, and by setfattr; and makes an array of a copy of the document.
func TestAxesAreSet(t *testing.T) {
	v2 := `{"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i2", "fill_value": ` +
		`0, "order": "C", "compressor": null, "filters": null}`
	v3 := `{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int16",
		"fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
		"chunk_key_encoding": {"name": "default"}, "attributes": {"units": "K"}}`
	const v2Attrs = `{"units":"K",   "_ARRAY_DIMENSIONS": ["y", "x"]}`
	for format, documents := range map[string]map[string]string{
		"2": {".zgroup": `{"zarr_format": 2}`, "a/.zarray": v2, "a/.zattrs": v2Attrs},
		"3": {"zarr.json": `{"zarr_format": 3, "node_type": "group"}`,
			"a/zarr.json": strings.Replace(v3, `"attributes"`,
				`"dimension_names": ["y", "x"], "attributes"`, 1)},
	} {
		t.Run("format "+format, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "s.zarr")
			for name, text := range documents {
				path := filepath.Join(store, name)
				err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
					os.WriteFile(path, []byte(text), 0o666))
				if err != nil {
					t.Fatal(err)
				}
			}
			mnt := mount(t, store)
			at := func(name string) string { return filepath.Join(mnt, name) }
			axes := func(array string) string {
				var doc struct {
					Names []string `json:"dimension_names"`
				}
				if err := json.Unmarshal(read(t, at(array+".json")), &doc); err != nil {
					t.Fatal(err)
				}
				return strings.Join(doc.Names, " ")
			}
			holds := func(when, array, want string) {
				t.Helper()
				if got := axes(array); got != want {
					t.Errorf("%s: the document has the names %q, want %q", when, got, want)
				}
				if want == "" {
					return
				}
				got := xattr(t, at(array+".npy"), "user.zarr.dimension_names")
				if got != `["`+strings.ReplaceAll(want, " ", `","`)+`"]` {
					t.Errorf("%s: the extended attribute is %s", when, got)
				}
			}
			holds("as stored", "a", "y x")
			shell(t, mnt, "cp a.json copy.json")
			holds("copied", "copy", "y x")
			if format == "2" &&
				bytes.Contains(read(t, filepath.Join(store, "copy/.zarray")), []byte("dimension")) {
				t.Error("a stray member in the .zarray of the copy")
			}
			shell(t, mnt, `sed -i '/"dimension_names"/,/\]/s/"y"/"lat"/; s/"dimension_names": `+
				`\["y"/"dimension_names": ["lat"/' a.json`)
			holds("edited", "a", "lat x")
			if want := strings.Replace(v2Attrs, `"y"`, `"lat"`, 1); format == "2" &&
				string(read(t, filepath.Join(store, "a/.zattrs"))) != want {
				t.Errorf("the attributes are %s, want %s",
					read(t, filepath.Join(store, "a/.zattrs")), want)
			}
			err := unix.Setxattr(at("a.raw"), "user.zarr.dimension_names", []byte(`["u", "v"]`), 0)
			if err != nil {
				t.Error(err)
			}
			holds("by setfattr", "a", "u v")
			for _, bad := range []string{`["u"]`, `"u"`, `u`, `["u", "v"], "shape": [1, 1]`, ``} {
				err := unix.Setxattr(at("a.raw"), "user.zarr.dimension_names", []byte(bad), 0)
				if !errors.Is(err, syscall.EINVAL) {
					t.Errorf("setfattr to %q: %v", bad, err)
				}
			}
			if format == "2" {
				err := os.WriteFile(at("a.json"), []byte(`{"dimension_names": ["b", "a"], `+
					`"attributes": {"_ARRAY_DIMENSIONS": ["c", "d"]}}`), 0)
				why := xattr(t, at("a.npy"), "user.zarrfs.error")
				if !errors.Is(err, syscall.EINVAL) || !strings.Contains(why, "_ARRAY_DIMENSIONS") {
					t.Errorf("names that disagree: %v", err)
				}
			}
			holds("after what was refused", "a", "u v")
			if err := unix.Removexattr(at("a.json"), "user.zarr.dimension_names"); err != nil {
				t.Error(err)
			}
			holds("removed", "a", "")
		})
	}
}

// TestCreateFlags copies a file into mounts with flags for new arrays; one of them is of an empty
// folder.
func TestCreateFlags(t *testing.T) {
	npy := append(
		[]byte("\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (64,), }"),
		bytes.Repeat([]byte(" "), 118-54-1)...)
	npy = append(append(npy[:127], '\n'), bytes.Repeat([]byte{1, 2, 3, 4}, 64)...)
	for _, format := range []string{"2", "3"} {
		store := t.TempDir()
		mnt := mount(t, store, "--create-format", format, "--create-chunks", "16",
			"--create-codecs", "gzip:3")
		err := errors.Join(os.WriteFile(filepath.Join(mnt, "a.npy"), npy, 0o666),
			os.Mkdir(filepath.Join(mnt, "g"), 0o777))
		if err != nil {
			t.Fatal(err)
		}
		if of := xattr(t, filepath.Join(mnt, "g"), "user.zarr.format"); of != format {
			t.Errorf("a group in a store of format %s has format %s", format, of)
		}
		if err := os.Remove(filepath.Join(mnt, "g")); err != nil {
			t.Error(err)
		}
		got := []string{xattr(t, filepath.Join(mnt, "a.npy"), "user.zarr.format"),
			xattr(t, filepath.Join(mnt, "a.npy"), "user.zarr.chunks")}
		if want := []string{format, "[16]"}; !slices.Equal(got, want) {
			t.Errorf("format and chunks are %q, expected %q", got, want)
		}
		codecs := xattr(t, filepath.Join(mnt, "a.npy"), "user.zarr.codecs")
		if !strings.Contains(codecs, "gzip") {
			t.Errorf("codecs are %s", codecs)
		}
		if !bytes.Equal(read(t, filepath.Join(mnt, "a.npy")), npy) {
			t.Error("the file has other bytes")
		}
	}
}

// TestBusyUmountLosesNothing: umount fails while a program still writes. Lines that wait for their
// array are then kept in the mount, and are not named.
func TestBusyUmountLosesNothing(t *testing.T) {
	d := started(t, treeStore(t))
	f, err := os.Create(d.path("s.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("\"one\"\n\"two\"\n\"three\"\n"); err != nil {
		t.Fatal(err)
	}
	if out, err := command(d.bin, "umount", d.dir); err == nil ||
		!strings.Contains(string(out), "in use") || strings.Contains(string(out), "s.jsonl") {
		t.Errorf("umount says %s, %v", out, err)
	}
	document := []byte(stringArrays["3utf8"].document)
	if err := os.WriteFile(d.path("s.json"), document, 0o666); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if out, err := command(d.bin, "umount", d.dir); err != nil || len(out) > 0 {
		t.Errorf("umount says %s, %v", out, err)
	}
}

// TestNamespaceAtOnce has goroutines create, rename, replace and remove arrays of one group at the
// same time.
func TestNamespaceAtOnce(t *testing.T) {
	mnt := mount(t, treeStore(t))
	source := read(t, filepath.Join(mnt, "g/b.npy"))
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for k := range 6 {
				if err := comeAndGo(mnt, fmt.Sprintf("a%d", i), source, byte(10*i+k)); err != nil {
					t.Errorf("array %d, round %d: %v", i, k, err)
				}
			}
		})
	}
	all.Wait()
	if got := names(t, mnt); got != "g zarr.json" {
		t.Errorf("left: %s", got)
	}
}

// comeAndGo creates an array by a .npy file whose data begins with mark, renames it, replaces it,
// and removes it.
func comeAndGo(mnt, name string, npy []byte, mark byte) error {
	const header = 128
	at := func(name string) string { return filepath.Join(mnt, name) }
	npy = slices.Clone(npy)
	npy[header] = mark
	err := errors.Join(os.WriteFile(at(name+".npy"), npy, 0o666),
		os.Rename(at(name+".npy"), at(name+"to.npy")))
	if err != nil {
		return err
	}
	if _, err := os.Stat(at(name + ".raw")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the old name is still there: %w", err)
	}
	if raw, err := os.ReadFile(at(name + "to.raw")); err != nil || !bytes.Equal(raw, npy[header:]) {
		return fmt.Errorf("after the rename: %d bytes, %w", len(raw), err)
	}
	npy[header+1] = ^mark
	if err := errors.Join(os.WriteFile(at(name+"~"), npy, 0o666),
		os.Rename(at(name+"~"), at(name+"to.npy"))); err != nil {
		return err
	}
	if got, err := os.ReadFile(at(name + "to.npy")); err != nil || !bytes.Equal(got, npy) {
		return fmt.Errorf("after it was replaced: %d bytes, %w", len(got), err)
	}
	for _, view := range []string{"json", "npy", "raw"} {
		if err := os.Remove(at(name + "to." + view)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(at(name + "to.npy")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it was removed, and is still there: %w", err)
	}
	return nil
}
