package integration

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// slicedStore makes arrays of each kind of layout: both formats and orders, shards, big-endian,
// with a fill value, without axes, packed as the CF conventions say, with names by OME-Zarr.
const slicedStore = `
import sys, numpy as np, zarr
from zarr.codecs import TransposeCodec
root = zarr.open_group(sys.argv[1], mode="w")
count = lambda shape, dtype: np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
def put(name, data, **how):
    if "dimension_names" not in how:
        how["dimension_names"] = ["t", "y", "x"][-data.ndim:] if data.ndim else None
    root.create_array(name, shape=data.shape, dtype=data.dtype, **how)[...] = data
put("plain", count((5, 6, 7), "<i2"), chunks=(2, 3, 4))
put("sharded", count((8, 10), ">f8"), chunks=(2, 2), shards=(4, 6))
put("fortran", count((4, 5, 6), "<f4"), chunks=(3, 2, 4),
    filters=TransposeCodec(order=(2, 1, 0)))
put("long", count((100000,), "<u4"), chunks=(1000,))
put("scalar", np.array(7, "<i8"), chunks=())
put("a@{t=3}", count((3,), "<i2"), chunks=(2,))
put("a", count((4, 2), "<i2"), chunks=(2, 2), dimension_names=["t", "x"])
packed = count((4, 6), "<i2")
packed[1, 2] = -99
put("packed", packed, chunks=(2, 3),
    attributes={"scale_factor": 0.5, "add_offset": 273.15, "_FillValue": -99})
old = zarr.open_group(sys.argv[1] + "/old", mode="w", zarr_format=2)
old.create_array("f", shape=(6, 4), chunks=(4, 3), dtype=">i4", order="F", fill_value=0,
    attributes={"_ARRAY_DIMENSIONS": ["y", "x"]})[...] = count((6, 4), ">i4")
scales = [{"axes": [{"name": n} for n in "cyx"], "datasets": [{"path": "0"}]}]
image = zarr.open_group(sys.argv[1] + "/image", mode="w", zarr_format=2,
    attributes={"multiscales": scales})
image.create_array("0", shape=(2, 5, 6), chunks=(1, 3, 4),
    dtype="<u2")[...] = count((2, 5, 6), "<u2")
`

// slicedOracle compares files of slices with what NumPy makes of the array that zarr-python reads:
// generated expressions, read whole, mapped, and at random. It prints how many it compared.
const slicedOracle = `
import sys, random, numpy as np, zarr
store, mnt = sys.argv[1:]
random.seed(7)
root, compared, different = zarr.open_group(store, mode="r"), 0, 0
def compare(path, text, want):
    global compared, different
    name = f"{mnt}/{path}@{{{text}}}"
    for what in ["whole", "mapped"] if want.size else ["whole"]:
        got = np.load(name + ".npy", mmap_mode="r" if what == "mapped" else None)
        same = (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())
        if not same:
            print("different:", path, text, what)
        compared, different = compared + 1, different + (not same)
    with open(name + ".raw", "rb") as f:
        bytes = want.tobytes("F" if "order=F" in text else "C")
        same = f.read() == bytes
        for _ in range(3):
            at = random.randrange(len(bytes) + 1)
            f.seek(at)
            n = random.randrange(1, 2000)
            same = same and f.read(n) == bytes[at:at + n]
        if not same:
            print("different:", path, text, ".raw")
        compared, different = compared + 1, different + (not same)
def bound(n):
    return random.choice([None, random.randrange(-n - 2, n + 3)])
def part(n):
    if random.random() < 0.3 and n:
        i = random.randrange(-n, n)
        return i, str(i)
    s = slice(bound(n), bound(n), random.choice([None, 1, 1, 2, 3, -1, -2, n + 1]))
    show = lambda x: "" if x is None else str(x)
    text = f"{show(s.start)}:{show(s.stop)}"
    return s, text + (f":{s.step}" if s.step is not None else "")
named_by_others = {"old/f": "yx", "image/0": "cyx"}
for path in ["plain", "sharded", "fortran", "long", *named_by_others]:
    array = zarr.open_array(f"{store}/{path}", mode="r")
    data = array[...]
    names = named_by_others.get(path) or array.metadata.dimension_names
    for _ in range(60 if path != "long" else 15):
        index, items = [slice(None)] * data.ndim, []
        for axis in random.sample(range(data.ndim), random.randint(1, data.ndim)):
            index[axis], text = part(data.shape[axis])
            items.append(f"{random.choice([axis, names[axis]])}={text}")
        if random.random() < 0.3:
            items.append(random.choice(["order=F", "order=C"]))
        compare(path, ",".join(items), data[tuple(index) + (...,)])
plain = root["plain"][...]
compare("plain", "dtype=<u2", plain.view("<u2"))
compare("plain", "dtype=>i2", plain.view(">i2"))
compare("plain", "dtype=|u1,t=2", plain[2].view("|u1"))
compare("plain", "dtype=<f4,x=1:5,y=::2", np.ascontiguousarray(plain[:, ::2, 1:5]).view("<f4"))
compare("plain", "dtype=|V2,order=F", plain.view("|V2"))
compare("scalar", "dtype=<f8", root["scalar"][...].view("<f8"))
packed = root["packed"][...]
scaled = np.where(packed == -99, np.nan, packed * 0.5 + 273.15)
compare("packed", "scale", scaled)
compare("packed", "scale,0=1", scaled[1])
compare("packed", "scale,x=::-2", scaled[:, ::-2])
assert np.array_equal(np.load(mnt + "/a@{t=3}.npy"), np.arange(3)), "it is hidden"
assert np.array_equal(np.load(mnt + "/a@{t=2}.npy"), [4, 5])
print(compared, "compared,", different, "different")
`

// TestSlicesAgainstNumPy: files of slices have the values that NumPy finds.
func TestSlicesAgainstNumPy(t *testing.T) {
	dir, store := slicedMount(t)
	out, err := command(pythonThree(t), "-c", slicedOracle, store, dir)
	if err != nil || !strings.HasSuffix(string(out), " compared, 0 different\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(string(out))
}

// slicedMount mounts the store of slices.
func slicedMount(t *testing.T) (dir, store string) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "s.zarr")
	if out, err := command(pythonThree(t), "-c", slicedStore, store); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return mount(t, store), store
}

func pythonThree(t *testing.T) string { return python(t, "ZARRFS_PY3", ".venv-v3") }

// TestSlicesAreNotListed: a listing has no slices, and a name that is wrong is ENOENT with a
// reason.
func TestSlicesAreNotListed(t *testing.T) {
	dir, _ := slicedMount(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	if _, err := os.Stat(at("plain@{t=3}.npy")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "plain@") {
			t.Errorf("%s is listed", e.Name())
		}
	}
	for name, why := range map[string]string{
		"plain@{t=9}.npy": "index 9 is out of bounds", "plain@{q=1}.raw": `no dimension "q"`,
		"plain@{t=0}.json": "does not show the bytes", "plain@{}.npy": "expected t=3",
		"image/0@{z=1}.npy": `no dimension "z": the array has c, y, x`,
		"plain@{5}.npy":     "@{5}: \"5\": expected the number or name of an axis before the index",
	} {
		if _, err := os.Stat(at(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if out, err := command(zarrfs(t), "errors", dir); err != nil ||
			!strings.Contains(string(out), why) {
			t.Errorf("%s: zarrfs errors says %v\n%s", name, err, out)
		}
	}
	for _, name := range []string{"nothing@{t=0}.npy", "plain@{t=0}.npy.part", "old@{t=0}.npy"} {
		if _, err := os.Stat(at(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoFileNamedLikeASlice: a file cannot be created if its name is like that of a slice. It would
// be another array, or no array at all.
func TestNoFileNamedLikeASlice(t *testing.T) {
	dir, _ := slicedMount(t)
	before := run(t, "ls", dir)
	shell(t, dir, "cp plain.raw other.part")
	for _, name := range []string{"plain@{5}.raw", "plain@{5}.npy",
		"plain@{t=0}.json", "plain@{}.raw"} {
		for _, command := range []string{"echo x >", "cp plain.npy", "mv other.part"} {
			command = fmt.Sprintf("%s '%s'", command, name)
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("%s: no error\n%s", command, out)
			}
		}
		log := run(t, zarrfs(t), "errors", dir)
		if want := "choose a name without @{}"; !strings.Contains(log, want) {
			t.Errorf("%s: zarrfs errors says %s\nexpected %s", name, log, want)
		}
	}
	shell(t, dir, "cp plain.npy 'none@{5}.npy'; cmp plain.npy 'none@{5}.npy'; rm none* other.part")
	if after := run(t, "ls", dir); after != before {
		t.Errorf("found the files\n%s\nexpected\n%s", after, before)
	}
}

// TestSlicesTouchNothing: removing or renaming the file of a slice, or making a link to it, changes
// nothing in the store.
func TestSlicesTouchNothing(t *testing.T) {
	dir, store := slicedMount(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	before := treeOf(t, store)
	for what, err := range map[string]error{
		"mv":    os.Rename(at("plain@{t=3}.npy"), at("b.npy")),
		"ln -s": os.Symlink("plain@{t=3}.npy", at("l.npy")),
		"ln":    os.Link(at("plain@{t=3}.npy"), at("l.npy")),
		"rm":    os.Remove(at("plain@{t=3}.npy")),
		"rm -f": os.Remove(at("plain@{x=::2}.raw")),
	} {
		if !errors.Is(err, syscall.EPERM) {
			t.Errorf("%s: %v", what, err)
		}
	}
	tmp := t.TempDir()
	shell(t, tmp, "cp '"+at("plain@{t=3}.npy")+"' . && tar -cf a.tar plain*")
	// tar removes a file before it makes it, and would try that again and again.
	out, err := command("timeout", "20", "tar", "-xf", filepath.Join(tmp, "a.tar"), "-C", dir)
	if code := exitCode(err); code != 2 {
		t.Errorf("tar exits with %d, expected 2\n%s", code, out)
	}
	if after := treeOf(t, store); !maps.Equal(after, before) {
		t.Errorf("the store has changed from %v to %v", before, after)
	}
}

// TestSlicesAreWritten: what is written to a slice that is one stretch of the array arrives in it
// and in its other files. Other slices are EACCES, and change nothing.
func TestSlicesAreWritten(t *testing.T) {
	dir, store := slicedMount(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	script := `
import sys, os, numpy as np, zarr
mnt, store = sys.argv[1:]
want = np.arange(210, dtype="<i2").reshape(5, 6, 7)
row = np.load(mnt + "/plain@{t=3,y=1:3}.npy", mmap_mode="r")
column = np.load(mnt + "/plain@{x=2}.npy", mmap_mode="r")
assert row[0, 2] == want[3, 1, 2] and column[3, 1] == want[3, 1, 2]
part = np.load(mnt + "/plain@{t=3}.npy", mmap_mode="r+")
part[1, 2:5] = want[3, 1, 2:5] = [-1, -2, -3]
part.flush()
with open(mnt + "/plain@{t=-1}.raw", "r+b") as f:
    f.write(bytes([7, 0] * 7))
want[4, 0] = 7
with open(mnt + "/plain.raw", "r+b") as f:
    f.seek(want.strides[0] * 3 + want.strides[1] * 2)
    f.write(bytes([9, 0]))
want[3, 2, 0] = 9
np.save(store + ".npy", -want[0])
assert os.system(f"cp '{store}.npy' '{mnt}/plain@{{t=0}}.npy'") == 0
want[0] = -want[0]
with open(mnt + "/tmp", "wb") as f:
    f.write(bytes([5, 0] * 14))
os.rename(mnt + "/tmp", mnt + "/plain@{t=1,y=2:4}.raw")
want[1, 2:4] = 5
assert np.array_equal(np.load(mnt + "/plain.npy"), want)
assert np.array_equal(row, want[3, 1:3]) and np.array_equal(column, want[:, :, 2]), "old pages"
assert np.array_equal(zarr.open_array(store + "/plain", mode="r")[...], want), "stored"
`
	if out, err := command(pythonThree(t), "-c", script, dir, store); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := treeOf(t, store)
	tmp := at("tmp")
	for _, name := range []string{"plain@{x=2}.raw", "plain@{t=::-1}.npy", "fortran@{order=F}.raw",
		"packed@{scale}.npy"} {
		file, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tmp, file, 0o666); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"open":     justOpen(at(name)),
			"truncate": os.Truncate(at(name), 0),
			"mv":       os.Rename(tmp, at(name)),
		} {
			if !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EPERM) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
	if err := os.Truncate(at("plain@{t=0}.raw"), 2); !errors.Is(err, syscall.EPERM) {
		t.Errorf("truncate: %v", err)
	}
	if after := treeOf(t, store); !maps.Equal(after, before) {
		t.Error("what was refused has changed the store")
	}
	if out, _ := command(zarrfs(t), "errors", dir); !strings.Contains(string(out),
		"do not follow each other") {
		t.Errorf("zarrfs errors does not say why:\n%s", out)
	}
}

// TestSlicesOfLinksAndRoots: a link to an array has the array's slices, and so has an array that is
// the root of its store.
func TestSlicesOfLinksAndRoots(t *testing.T) {
	dir, store := slicedMount(t)
	if err := os.Symlink("plain.npy", filepath.Join(dir, "l.npy")); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "plain@{t=3}.npy"))
	if err != nil {
		t.Fatal(err)
	}
	root := mount(t, filepath.Join(store, "plain"))
	for _, name := range []string{filepath.Join(dir, "l@{t=3}.npy"), filepath.Join(root,
		"plain@{t=3}.npy")} {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v, expected %d", name, len(got), err, len(want))
		}
	}
	if _, err := os.Stat(filepath.Join(root, "other@{t=3}.npy")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another name has a slice: %v", err)
	}
}

func justOpen(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
