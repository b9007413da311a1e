package integration

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// replacedStore makes a store with equal arrays a and b. They differ from new arrays in attributes,
// names of dimensions, chunks and codecs. The arrays s and t are strings of any length.
func replacedStore(t *testing.T, format string) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "s.zarr")
	run(t, zarrfs(t), "create", store, "--group", "--format", format)
	for _, name := range []string{"a", "b"} {
		run(t, zarrfs(t), "create", store, name, "--shape", "10,4", "--dtype", "<i2",
			"--chunks", "3,3", "--codecs", "gzip:1",
			"--attributes", `{"units": "K"}`, "--dimension-names", "time,x")
	}
	for _, name := range []string{"s", "t"} {
		run(t, zarrfs(t), "create", store, name, "--shape", "3", "--dtype", "string",
			"--attributes", `{"units": "K"}`)
	}
	return store
}

// inPython runs a script of Python in dir, with more variables. It must print nothing.
func inPython(t *testing.T, dir, script string, env ...string) {
	t.Helper()
	script = "import os, json, numpy as np\n" + script
	cmd := limited(t, python(t, "ZARRFS_PY3", ".venv-v3"), "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 && !bytes.HasPrefix(out, slowEndOfZarr) {
		t.Errorf("%v\n%s", err, out)
	}
}

// slowEndOfZarr is what zarr-python prints after a script has succeeded, if its own thread does not
// end in 0.2 s on a busy machine.
var slowEndOfZarr = []byte("Thread did not finish cleanly; forcefully closing the event loop.")

// TestArrayRenamedOntoArray writes a .npy in the mount and renames it onto an array. The result is
// that of copying the same file over the array.
func TestArrayRenamedOntoArray(t *testing.T) {
	const (
		rows    = `np.arange(40, dtype="<i2").reshape(10, 4)`
		replace = `np.save("tmp.npy", x); os.replace("tmp.npy", "a.npy")`
	)
	formats(t, func(t *testing.T, format string) {
		for name, tc := range map[string]struct{ x, script, arrays string }{
			"the same shape": {x: rows},
			"more rows":      {x: `np.arange(80, dtype="<i2").reshape(20, 4)`},
			"another width":  {x: `np.arange(50, dtype="<i2").reshape(10, 5)`},
			"another type":   {x: `np.linspace(0, 1, 40).reshape(10, 4)`},
			"another rank":   {x: `np.arange(6, dtype="<i2")`},
			"Fortran order":  {x: `np.asfortranarray(` + rows + `)`},
			"by mv":          {x: rows, script: `np.save("n.npy", x); os.system("mv n.npy a.npy")`},
			"from a group": {x: rows, script: `os.mkdir("g"); np.save("g/a.npy", x)
os.system("mv g/a.npy . && rmdir g")`},
			"strings": {x: `np.array(["x", "yy", "zzz", "wwww"])`, arrays: "s t",
				script: `np.save("tmp.npy", x); os.replace("tmp.npy", "s.npy")`},
		} {
			t.Run(name, func(t *testing.T) {
				mnt, src := mount(t, replacedStore(t, format)), t.TempDir()
				renamed, copied, _ := strings.Cut(cmp.Or(tc.arrays, "a b"), " ")
				inPython(t, mnt, `x = `+tc.x+`; np.save(os.environ["SRC"] + "/x.npy", x)
os.system("cp $SRC/x.npy `+copied+`.npy")
`+cmp.Or(tc.script, replace), "SRC="+src)
				if tc.arrays == "" && name != "another rank" {
					shell(t, mnt, `grep -q '"time"' a.json`)
				}
				const same = `a, b = (json.load(open(n + ".json")) for n in (%q, %q))
assert a == b, (a, b)`
				inPython(t, mnt, fmt.Sprintf(same, renamed, copied))
				shell(t, mnt, fmt.Sprintf(`cmp %s.npy %s.npy
					cmp %[1]s.npy %[3]s/x.npy
					grep -q '"K"' %[1]s.json; ! ls | grep -E '^(tmp|n)'`, renamed, copied, src))
			})
		}
	})
}

// TestDescribedArrayRenamedOntoArray renames an array that has attributes of its own onto another
// one: those count, and the array goes as a whole.
func TestDescribedArrayRenamedOntoArray(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		for name, change := range map[string]string{
			"an attribute": `os.setxattr("tmp.npy", "user.zarr.attr.units", b"m")`,
			"a document": `d = json.load(open("tmp.json"))
d["attributes"] = {"units": "m"}; json.dump(d, open("tmp.json", "w"))`,
		} {
			t.Run(name, func(t *testing.T) {
				inPython(t, mount(t, replacedStore(t, format)), `np.save("tmp.npy", np.arange(6.0))
`+change+`
want = open("tmp.json").read(); os.replace("tmp.npy", "a.npy")
assert open("a.json").read() == want, open("a.json").read()
assert json.loads(want)["attributes"]["units"] == "m"
assert list(np.load("a.npy")) == [0, 1, 2, 3, 4, 5]`)
			})
		}
	})
}

// TestMappedArrayRenamedOntoArray renames a .npy onto an array while it is mapped. The mapping
// stays valid, as with any file. The array has the attributes of the one that it replaces.
func TestMappedArrayRenamedOntoArray(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		inPython(t, mount(t, replacedStore(t, format)), `
m = np.lib.format.open_memmap("tmp.npy", "w+", "<i2", (10, 4)); m[:] = 1; m.flush()
os.replace("tmp.npy", "a.npy")
m[0] = 2; m.flush()
d = json.load(open("a.json"))
assert d["attributes"]["units"] == "K" and d["dimension_names"] == ["time", "x"], d
a = np.load("a.npy")
assert (a[0] == 2).all() and (a[1:] == 1).all() and (m == a).all(), a`)
	})
}

// The scripts make an array t of many chunks, and rename it onto a, which is as large. All
// elements of a are 1, and those of t 2.
const (
	replacedBySize = 1 << 17
	makeReplacing  = `np.save("t.npy", np.full(1 << 17, 2, "<i8"))`
	replaceByMove  = `mv -T t.npy a.npy`
)

// largeStore makes a store in a folder, with an array a of ones that are stored as they are.
func largeStore(t *testing.T, dir string) string {
	t.Helper()
	store := filepath.Join(dir, "s.zarr")
	run(t, zarrfs(t), "create", store, "a", "--shape", fmt.Sprint(replacedBySize), "--dtype", "<i8",
		"--chunks", "16384", "--codecs", "none", "--attributes", `{"units": "K"}`)
	return store
}

// TestReplacingOnFullDisk renames an array onto another one while the disk is full. Both stay as
// they were, nothing else is left, and when there is space again the rename succeeds.
func TestReplacingOnFullDisk(t *testing.T) {
	needRoot(t)
	disk := tmpfs(t, "8m")
	d := started(t, largeStore(t, disk))
	inPython(t, d.dir, `a = np.load("a.npy", mmap_mode="r+"); a[:] = 1; a.flush(); del a
`+makeReplacing)
	full := &fullDisk{daemon: d, ballast: filepath.Join(disk, "ballast")}
	if err := full.fillDisk(); err != nil {
		t.Fatal(err)
	}
	out, err := command("sh", "-c", "cd "+d.dir+" && "+replaceByMove)
	if err == nil || !strings.Contains(string(out), "No space left") {
		t.Errorf("on a full disk: %v, %s", err, out)
	}
	inPython(t, d.dir, `
assert (np.load("a.npy") == 1).all() and (np.load("t.npy") == 2).all()
assert json.load(open("a.json"))["attributes"] == {"units": "K"}
assert not json.load(open("t.json"))["attributes"]
assert not [n for n in os.listdir() if "~" in n], os.listdir()`)
	if err := os.Remove(full.ballast); err != nil {
		t.Fatal(err)
	}
	shell(t, d.dir, replaceByMove)
	inPython(t, d.dir, `
assert (np.load("a.npy") == 2).all() and not os.path.exists("t.npy")
d = json.load(open("a.json"))
assert d["attributes"] == {"units": "K"}, d
assert d["chunk_grid"]["configuration"]["chunk_shape"] == [16384], d`)
}

// TestReplacingOnOtherFileSystems renames a new array onto another one, where the store lies on
// several file systems, or on one that cannot exchange the two.
func TestReplacingOnOtherFileSystems(t *testing.T) {
	needRoot(t)
	attach := func(t *testing.T, source, dir, kind string, flags uintptr) {
		if err := unix.Mount(source, dir, kind, flags, ""); err != nil {
			cannot(t, "cannot be mounted here: "+err.Error())
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	}
	for name, spread := range map[string]func(t *testing.T, store string) (at string){
		"a file system in the store": func(t *testing.T, store string) string {
			attach(t, "tmpfs", filepath.Join(store, "g"), "tmpfs", 0)
			return store
		},
		"a folder of the same file system": func(t *testing.T, store string) string {
			attach(t, t.TempDir(), filepath.Join(store, "g"), "", unix.MS_BIND)
			return store
		},
		"an overlay": func(t *testing.T, store string) string {
			run(t, zarrfs(t), "create", store, "g/a", "--shape", fmt.Sprint(replacedBySize),
				"--dtype", "<i8")
			return filepath.Join(overlay(t, filepath.Dir(store)), filepath.Base(store))
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", store, "--group")
			if err := os.Mkdir(filepath.Join(store, "g"), 0o777); err != nil {
				t.Fatal(err)
			}
			store = spread(t, store)
			d := started(t, store)
			inPython(t, d.dir, `os.chdir("g")
if not os.path.exists("a.npy"): np.save("a.npy", np.zeros(1 << 17, "<i8"))
os.setxattr("a.npy", "user.zarr.attr.units", b"K")
`+makeReplacing+`
os.system("`+replaceByMove+`")
assert (np.load("a.npy") == 2).all()
assert json.load(open("a.json"))["attributes"] == {"units": "K"}
names = sorted(n for n in os.listdir() if n != "zarr.json")
assert names == ["a.json", "a.npy", "a.raw"], names`)
			if err := d.stop(); err != nil {
				t.Error(err)
			}
			shell(t, store, `test "$(ls -A)" = "$(printf 'g\nzarr.json')"; test "$(ls -A g)" = a`)
		})
	}
}

// TestKilledWhileReplacing kills the daemon before calls that it makes in the store while an array
// is renamed onto another one. The content of a is always there and whole, old or new. As long as
// it is old, t is whole. The old content is under no other name, and no copy is there in part.
func TestKilledWhileReplacing(t *testing.T) {
	zarrfs(t)
	calls := killedReplacing(t, 0)
	if calls < 40 {
		t.Fatalf("the test shows nothing: %d calls", calls)
	}
	step := max(1, calls/12)
	for at := int64(1); at <= calls; at += step {
		killedReplacing(t, at)
	}
}

// killedReplacing kills the daemon before a call (0: not at all), and returns how many calls were
// made.
func killedReplacing(t *testing.T, at int64) int64 {
	t.Helper()
	base := memoryDir(t)
	d := newDaemon(t, largeStore(t, base))
	trace := &tracer{below: base, at: at}
	d.launch = trace.launch
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	inPython(t, d.dir, `a = np.load("a.npy", mmap_mode="r+"); a[:] = 1; a.flush(); del a
`+makeReplacing)
	trace.armed.Store(true)
	out, err := command("sh", "-c", "cd "+d.dir+" && "+replaceByMove)
	trace.armed.Store(false)
	if calls := trace.seen.Load(); at == 0 || calls < at {
		if err != nil {
			t.Errorf("not killed: %v, %s", err, out)
		}
		return calls
	}
	d.wait()
	d.process = nil
	d.clear()
	d.launch = nil
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	inPython(t, d.dir, `
def value(name):
    x = np.load(name)
    assert x.shape == (1 << 17,) and (x == x[0]).all(), (name, x)
    return x[0]
here = {n: value(n) for n in ("a.npy", "t.npy") if os.path.exists(n)}
assert here["a.npy"] in (1, 2) and here.get("t.npy", 2) == 2, here
assert 2 in here.values(), here
assert not [n for n in os.listdir() if "~" in n], os.listdir()`)
	if t.Failed() {
		t.Logf("killed before call %d of %v", at, trace.last.Load())
	}
	return trace.seen.Load()
}

// TestMovedOntoRemovedView renames onto a view that was removed, while the array is still there by
// its other views. With RENAME_NOREPLACE the array stays, and the reason names it. mv without -n
// tries that first, and then replaces the array. mv -n succeeds where nothing of an array is left.
func TestMovedOntoRemovedView(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		mnt := mount(t, replacedStore(t, format))
		at := func(name string) string { return filepath.Join(mnt, name) }
		rename := func(from, to string) error {
			const here = unix.AT_FDCWD
			return unix.Renameat2(here, at(from), here, at(to), unix.RENAME_NOREPLACE)
		}
		if err := rename("b.npy", "a.npy"); err != unix.EEXIST {
			t.Errorf("onto a view that is there: %v, expected %v", err, unix.EEXIST)
		}
		shell(t, mnt, `printf 'abcdefgh' | dd of=b.raw conv=notrunc status=none
			cp b.npy new.tmp; rm a.npy`)
		before, stays := read(t, at("b.npy")), read(t, at("a.raw"))
		for _, from := range []string{"b.npy", "new.tmp"} {
			if err := rename(from, "a.npy"); err != unix.EEXIST {
				t.Errorf("%s onto a removed view: %v, expected %v", from, err, unix.EEXIST)
			}
			if info, err := os.Lstat(at("a.npy")); err != nil || !info.Mode().IsRegular() {
				t.Errorf("the program that was told of a.npy does not find it: %v, %v", info, err)
			}
			shell(t, mnt, "test ! -e a.npy")
		}
		errs := run(t, zarrfs(t), "errors", mnt)
		reason := `the array "a" is still there by a.json and a.raw`
		for _, want := range []string{reason, "mv without -n"} {
			if !strings.Contains(errs, want) {
				t.Errorf("zarrfs errors does not say %q:\n%s", want, errs)
			}
		}
		shell(t, mnt, "rm new.tmp; mv -n b.npy a.npy || true; test ! -e a.npy")
		shell(t, mnt, "touch -d 2001-02-03 b.npy")
		if !bytes.Equal(read(t, at("a.raw")), stays) || !bytes.Equal(read(t, at("b.npy")), before) {
			t.Error("mv -n has changed an array")
		}
		shell(t, mnt, `mv -u b.npy a.npy; test ! -e b.npy; test -e a.raw
			if getfattr -n user.zarrfs.error a.npy 2>/dev/null; then exit 1; fi`)
		if got := read(t, at("a.npy")); !bytes.Equal(got, before) {
			t.Error("a.npy is not what b.npy was")
		}
		shell(t, mnt, "rm a.npy a.raw a.json; mv -n s.npy a.npy; test -e a.json; test ! -e s.npy")
	})
}

// TestReplacedKeepsNaN replaces an array whose attributes have NaN and infinities, as Python writes
// them. They stay numbers, though the mount shows them as strings of strict JSON.
func TestReplacedKeepsNaN(t *testing.T) {
	const attributes = `{"missing": float("nan"), "range": [-float("inf"), {"top": float("inf")}],
	"text": "NaN", "units": "K"}`
	formats(t, func(t *testing.T, format string) {
		peer := python(t, "ZARRFS_PY"+format, ".venv-v"+format)
		for name, tc := range map[string]struct{ flags, script string }{
			"chunks stay": {script: `
m = np.lib.format.open_memmap("tmp.npy", "w+", "<i8", (2, 3)); m[:] = 7
m.flush(); os.replace("tmp.npy", "a.npy")`},
			"other chunks":         {script: `np.save("t.npy", x); os.replace("t.npy", "a.npy")`},
			"copied":               {script: `np.save("a.npy", x)`},
			"another type":         {script: `np.save("a.npy", x.astype("f4"))`},
			"removed before":       {script: `os.remove("a.npy"); np.save("a.npy", x)`},
			"with one view":        {"--views npy", `os.remove("a.npy"); np.save("a.npy", x)`},
			"with one view, bytes": {"--views raw", `os.remove("a.raw"); x.tofile("a.raw")`},
			"by its document":      {script: `os.system("cp a.json $OUT/x && cp $OUT/x a.json")`},
			"document removed": {script: `t = open("a.json").read(); os.remove("a.json")
open("a.json", "w").write(t)`},
		} {
			t.Run(name, func(t *testing.T) {
				store := filepath.Join(t.TempDir(), "s.zarr")
				run(t, peer, "-c", `import sys, zarr, numpy as np
g = zarr.open_group(sys.argv[1], mode="w")
make = getattr(g, "create_array", None) or g.create_dataset
make("a", shape=(2, 3), chunks=(1, 2), dtype="<i8").attrs.update(`+attributes+`)`, store)
				mnt := mount(t, store, strings.Fields(tc.flags)...)
				inPython(t, mnt, `x = np.full((2, 3), 7, "<i8")`+"\n"+tc.script, "OUT="+t.TempDir())
				shell(t, mnt, "sync .")
				run(t, peer, "-c", `import sys, zarr
a = zarr.open_group(sys.argv[1], mode="r")["a"]
want, have = `+attributes+`, dict(a.attrs)
assert sorted(have) == sorted(want)
assert repr(have) == repr({key: want[key] for key in have}), have
assert a.shape == (2, 3)`, store)
			})
		}
	})
}
