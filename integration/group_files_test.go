package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// These tests open groups as one HDF5 or netCDF-4 file, by the libraries that people use. xarray,
// ome-zarr, anndata and rioxarray make the stores of their fields; see interop/group_files.py.

// groupStore is a store that is shown as a file, and its mount.
type groupStore struct{ store, dir, name string }

func (s groupStore) file(suffix string) string { return filepath.Join(s.dir, s.name+suffix) }

// groupStores makes the stores of that name in both formats, and mounts them.
func groupStores(t *testing.T, name string) []groupStore {
	t.Helper()
	zarrfs(t)
	out := t.TempDir()
	generate(t, viewsPython(t), "interop/group_files.py", "make", name, out)
	var all []groupStore
	for format := 2; format <= 3; format++ {
		base := fmt.Sprintf("%s%d", name, format)
		store := filepath.Join(out, base+".zarr")
		all = append(all, groupStore{store, mount(t, store), base})
	}
	return all
}

// compareGroupFiles runs interop/group_files.py, and reports what it has found to be different. It
// returns how many things each reader has compared.
func compareGroupFiles(t *testing.T, args ...string) (compared map[string]int) {
	t.Helper()
	return compareBy(t, "interop/group_files.py", args...)
}

// compareBy is compareGroupFiles for another script that prints the same.
func compareBy(t *testing.T, script string, args ...string) (compared map[string]int) {
	t.Helper()
	cmd := limited(t, viewsPython(t), append([]string{script}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	var answer map[string]struct {
		Arrays    int
		Different []string
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	compared = make(map[string]int)
	for reader, found := range answer {
		compared[reader] = found.Arrays
		for _, what := range found.Different {
			t.Errorf("%v: %s: %s", args, reader, what)
		}
	}
	return compared
}

// TestGroupFiles: h5py, pyfive, h5netcdf and netCDF4 read of a group's .h5 and .nc what zarr-python
// reads of the store: values, names of axes and attributes.
func TestGroupFiles(t *testing.T) {
	for name, arrays := range map[string]int{
		"climate": 13, "pyramid": 10, "annotated": 15, "raster": 5, "types": 34, "named": 7,
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range groupStores(t, name) {
				compared := compareGroupFiles(t, "read", s.store, s.file(".h5"), s.file(".nc"))
				if len(compared) != 6 {
					t.Errorf("%d readers", len(compared))
				}
				for reader, n := range compared {
					if n != arrays {
						t.Errorf(
							"%s: %s has compared %d arrays, expected %d",
							s.name,
							reader,
							n,
							arrays,
						)
					}
				}
			}
		})
	}
}

// TestGroupFilesOfSmallFloats: h5py and netCDF4 read all numbers of the types of one and two bytes,
// as ml_dtypes has them. What HDF5 cannot describe is bytes, with an attribute that says what they
// are. netCDF4 leaves out complex numbers of such parts, with a warning.
func TestGroupFilesOfSmallFloats(t *testing.T) {
	zarrfs(t)
	store := filepath.Join(t.TempDir(), "small.zarr")
	generate(t, viewsPython(t), "interop/group_floats.py", "make", store)
	s := groupStore{store, mount(t, store), "small"}
	compared := compareBy(t, "interop/group_floats.py", "read", s.file(".h5"), s.file(".nc"))
	want := map[string]int{"h5 h5py": 11, "nc h5py": 11, "nc netCDF4": 9}
	if !maps.Equal(compared, want) {
		t.Errorf("compared %v, expected %v", compared, want)
	}
}

// TestGroupFilesOfRandomGroups: six readers find in the .h5 and .nc of random groups what
// zarr-python reads. Arrays, groups and axes have the same few names.
//
//	ZARRFS_GROUPS=200        so many stores instead of 10
//	ZARRFS_GROUPS_SEED=7     other ones; a failure names the store
func TestGroupFilesOfRandomGroups(t *testing.T) {
	zarrfs(t)
	stores, seed := t.TempDir(), numberOf(t, "ZARRFS_GROUPS_SEED", 1)
	count := numberOf(t, "ZARRFS_GROUPS", 10)
	generate(t, viewsPython(t), "interop/group_random.py", "make", stores, fmt.Sprint(seed),
		fmt.Sprint(count))
	compared := compareBy(t, "interop/group_random.py", "read", stores, mount(t, stores))
	t.Logf("seed %d: %v", seed, compared)
	for reader, n := range compared {
		if uint64(n) < 5*count {
			t.Errorf("%s has compared %d arrays of %d stores", reader, n, count)
		}
	}
	if len(compared) != 6 {
		t.Errorf("%d readers", len(compared))
	}
}

// TestGroupFilesOfManyArrays: h5py and netCDF4 read 5,000 arrays and the ends of one of 8 TiB, and
// write to it.
func TestGroupFilesOfManyArrays(t *testing.T) {
	zarrfs(t)
	store := filepath.Join(t.TempDir(), "many.zarr")
	generate(t, viewsPython(t), "interop/group_large.py", "make", store)
	s := groupStore{store, mount(t, store), "many"}
	found := runPython(t, viewsPython(t), "interop/group_large.py", "use", store, s.file(".h5"),
		s.file(".nc"))
	if found != "5000 arrays, 8 TiB\n" {
		t.Errorf("it printed %q", found)
	}
}

// TestGroupFilesByXarray: xarray reads the same dataset of a store and of its files: coordinates,
// times and packed numbers of the CF conventions, fill values, attributes.
func TestGroupFilesByXarray(t *testing.T) {
	for _, name := range []string{"climate", "raster"} {
		for _, s := range groupStores(t, name) {
			compareGroupFiles(t, "xarray", s.store, s.file(".nc"), s.file(".h5"))
		}
	}
}

// TestGroupFilesMeanTheirBytes: times in a file are those of the store, also where the array has
// attributes that say otherwise. Those get another name. A text with a NUL is not truncated.
func TestGroupFilesMeanTheirBytes(t *testing.T) {
	zarrfs(t)
	store := filepath.Join(t.TempDir(), "meaning.zarr")
	generate(t, viewsPython(t), "interop/group_files.py", "make", "meaning", store)
	s := groupStore{store, mount(t, store), "meaning"}
	if n := len(compareGroupFiles(t, "meaning", store, s.file(".nc"), s.file(".h5"))); n != 4 {
		t.Errorf("%d readers", n)
	}
}

// TestGroupFilesAreExported: `zarrfs cat` writes the file that the mount shows.
func TestGroupFilesAreExported(t *testing.T) {
	bin := zarrfs(t)
	for _, s := range groupStores(t, "annotated") {
		for _, suffix := range []string{"h5", "nc"} {
			shown, err := os.ReadFile(s.file("." + suffix))
			if err != nil {
				t.Fatal(err)
			}
			exported, err := exec.Command(bin, "cat", "--view", suffix, s.store).Output()
			if err != nil || !bytes.Equal(shown, exported) {
				t.Errorf(
					"%s of %s: %v; %d bytes, expected %d",
					suffix,
					s.name,
					err,
					len(exported),
					len(shown),
				)
			}
		}
	}
}

// TestGroupFilesAreWritten: elements that h5py and netCDF4 write in place arrive in the store.
func TestGroupFilesAreWritten(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"climate": {"h5py": 10, "netCDF4": 3}, "types": {"h5py": 30, "netCDF4": 14},
	} {
		for _, s := range groupStores(t, name) {
			n := compareGroupFiles(t, "write", s.store, s.file(".h5"), s.file(".nc"))
			if !maps.Equal(n, want) {
				t.Errorf("%s: %v arrays were written, expected %v", s.name, n, want)
			}
		}
	}
}

// TestGroupFilesKeepTheirStructure: each of 200 changes of the structure of a file is refused, with
// EPERM where the library says which error it was. It changes neither the file nor the store, and
// succeeds in an ordinary copy of the file. The log has the reason.
func TestGroupFilesKeepTheirStructure(t *testing.T) {
	s := groupStores(t, "climate")[1]
	before := storedTree(t, s.store)
	if n := compareGroupFiles(t, "edit", s.file(".h5"), s.file(".nc"))["edit"]; n != 200 {
		t.Errorf("%d changes tried, expected 200", n)
	}
	if after := storedTree(t, s.store); after != before {
		t.Error("the store has changed")
	}
	out, err := command(zarrfs(t), "errors", s.dir)
	if err != nil || !strings.Contains(string(out), "only elements of arrays can be written") {
		t.Errorf("zarrfs errors: %v\n%s", err, out)
	}
}

// storedTree returns the names and bytes of all files below a folder.
func storedTree(t *testing.T, dir string) string {
	t.Helper()
	var tree strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&tree, "%s %x\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree.String()
}

// TestGroupFilesAreDerived: the files of groups are listed only if they are asked for, and have the
// size that is shown. Removing or renaming them does not change the group.
func TestGroupFilesAreDerived(t *testing.T) {
	s := groupStores(t, "climate")[0]
	if names := listed(t, s.dir); strings.Contains(names, ".nc") || strings.Contains(names, ".h5") {
		t.Errorf("listed: %s", names)
	}
	dir := mount(t, s.store, "--views", "npy,json,nc")
	if names := listed(t, dir); !strings.Contains(names, "climate2.nc ") ||
		!strings.Contains(names, "forecast.nc ") ||
		!strings.Contains(names, "t2m.nc ") {
		t.Errorf("listed: %s", names)
	}
	for _, name := range []string{"climate2.nc", "forecast.nc", "t2m.nc", "t2m.h5"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		info, err2 := os.Stat(path)
		if err != nil || err2 != nil || info.Size() != int64(len(text)) || len(text) < 1000 {
			t.Errorf("%s: %v, %v; %d bytes", name, err, err2, len(text))
		}
		if err := os.Rename(path, filepath.Join(dir, "other.nc")); err == nil {
			t.Errorf("%s was renamed", name)
		}
		other := filepath.Join(dir, "other.txt")
		must(t, os.WriteFile(other, []byte(`{"attributes":{"units":"lost"}}`), 0o666))
		if err := os.Rename(other, path); !errors.Is(err, syscall.EPERM) {
			t.Errorf("a file was renamed onto %s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o666); !errors.Is(err, syscall.EPERM) {
			t.Errorf("%s was made again: %v", name, err)
		}
	}
	doc, err := os.ReadFile(filepath.Join(dir, "t2m.json"))
	if !bytes.Contains(doc, []byte("2 metre")) {
		t.Errorf("the document is %s, %v", doc, err)
	}
	for _, name := range []string{"forecast", "t2m.npy"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestGroupFilesAreRemovedWithTheirGroup: programs that remove or move a tree do so where the files
// of groups are listed too. A file that is copied before its group is not listed twice.
func TestGroupFilesAreRemovedWithTheirGroup(t *testing.T) {
	s := groupStores(t, "climate")[1]
	dir := mount(t, s.store, "--views", "json,npy,raw,nc,h5")
	python, moved := viewsPython(t), filepath.Join(t.TempDir(), "moved")
	for _, words := range [][]string{
		{"rm", "-r", "g"}, {"find", "g", "-delete"}, {"mv", "g", moved},
		{python, "-c", "import shutil; shutil.rmtree('g')"},
	} {
		must(t, os.MkdirAll(filepath.Join(dir, "g", "sub", "below"), 0o777))
		must(t, os.MkdirAll(filepath.Join(dir, "g", "other"), 0o777))
		cmd := limited(t, words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", words, err, out)
		}
		if _, err := os.Lstat(filepath.Join(dir, "g")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: the group is there: %v", words, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(moved, "sub.nc"))
	if err != nil || !bytes.HasPrefix(text, []byte("\x89HDF")) {
		t.Errorf("the file of a group that was moved: %v, %.20q", err, text)
	}
	must(t, os.WriteFile(filepath.Join(dir, "late.nc"), text, 0o666))
	must(t, os.Mkdir(filepath.Join(dir, "late"), 0o777))
	if names := listed(t, dir); strings.Count(names, " late.nc ") != 1 {
		t.Errorf("listed: %s", names)
	}
}

// TestGroupFilesAreSnapshots: an open file keeps its structure, and its elements are those of now.
// Rows that an array has lost cannot be read, and there is a reason.
func TestGroupFilesAreSnapshots(t *testing.T) {
	dir, bin := emptyMount(t), zarrfs(t)
	raw := filepath.Join(dir, "g", "a.raw")
	if out, err := command(bin, "create", filepath.Join(filepath.Dir(dir), "store.zarr"), "g/a",
		"--shape", "4,1000", "--dtype", "u1"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must(t, os.WriteFile(raw, bytes.Repeat([]byte{1}, 4000), 0o666))
	open, err := os.Open(filepath.Join(dir, "g.h5"))
	must(t, err)
	defer open.Close()
	before, err := os.ReadFile(open.Name())
	must(t, err)
	ones := bytes.Index(before, bytes.Repeat([]byte{1}, 4000))
	read := func() ([]byte, error) {
		now := make([]byte, 4000)
		_, err := open.ReadAt(now, int64(ones))
		return now, err
	}
	// A row more.
	must(t, os.WriteFile(raw, bytes.Repeat([]byte{2}, 5000), 0o666))
	if now, err := read(); err != nil || !bytes.Equal(now, bytes.Repeat([]byte{2}, 4000)) {
		t.Errorf("after a row was appended: %v, %d", err, now[0])
	}
	if info, err := open.Stat(); err != nil || info.Size() != int64(len(before)) {
		t.Errorf("%v, a file of %d bytes, expected %d", err, info.Size(), len(before))
	}
	must(t, os.Truncate(raw, 2000))
	if _, err := read(); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("after rows were truncated: %v", err)
	}
	out, _ := command(bin, "errors", dir)
	if !strings.Contains(string(out), "open the file again") {
		t.Errorf("zarrfs errors: %s", out)
	}
}

// TestGroupFilesOfRemovedArrays: what is written to an array that was removed is an error at the
// write or at the close. A new array of that name stays as it is.
func TestGroupFilesOfRemovedArrays(t *testing.T) {
	dir, bin := emptyMount(t), zarrfs(t)
	store := filepath.Join(filepath.Dir(dir), "store.zarr")
	create := func(name string) {
		out, err := command(bin, "create", store, "g/"+name, "--shape", "4,1000", "--dtype", "u1")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	names := []string{"again", "before", "first", "kept"}
	for i, name := range names {
		create(name)
		raw := filepath.Join(dir, "g", name+".raw")
		must(t, os.WriteFile(raw, bytes.Repeat([]byte{byte(i + 1)}, 4000), 0o666))
	}
	shown, err := os.ReadFile(filepath.Join(dir, "g.h5"))
	must(t, err)
	var open [4]*os.File
	write := func(i int) error {
		at := bytes.Index(shown, bytes.Repeat([]byte{byte(i + 1)}, 4000))
		_, err := open[i].WriteAt([]byte{77}, int64(at+8))
		return err
	}
	for i := range names {
		open[i], err = os.OpenFile(filepath.Join(dir, "g.h5"), os.O_RDWR, 0)
		must(t, err)
		if i != 2 {
			must(t, write(i))
		}
	}
	must(t, open[0].Sync())
	for _, name := range names[:3] {
		for _, suffix := range []string{".npy", ".raw", ".json"} {
			must(t, os.Remove(filepath.Join(dir, "g", name+suffix)))
		}
	}
	create(names[0])
	for i, name := range names[:3] {
		if err := write(i); !errors.Is(err, syscall.ESTALE) {
			t.Errorf("%s: written after it was removed: %v", name, err)
		}
	}
	for i, want := range []error{nil, syscall.ESTALE, nil, nil} {
		if err := open[i].Close(); !errors.Is(err, want) {
			t.Errorf("%s: closed: %v, expected %v", names[i], err, want)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "g", "again.raw"))
	if err != nil || !bytes.Equal(raw, make([]byte, 4000)) {
		t.Errorf("the new array of that name: %v, %d", err, raw[8])
	}
	if _, err := os.Stat(filepath.Join(store, "g", "before")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the removed array: %v", err)
	}
}

// createdArrays mounts a group g with an array of 4×500 bytes of each of these names, filled with
// 1, 2 and so on.
func createdArrays(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = emptyMount(t)
	store := filepath.Join(filepath.Dir(dir), "store.zarr")
	for i, name := range names {
		out, err := command(
			zarrfs(t), "create", store, "g/"+name, "--shape", "4,500", "--dtype", "u1")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		raw := filepath.Join(dir, "g", name+".raw")
		must(t, os.WriteFile(raw, bytes.Repeat([]byte{byte(i + 1)}, 2000), 0o666))
	}
	return dir
}

// openedAt opens a file for reading and writing, and returns where the value fills 2000 bytes.
func openedAt(t *testing.T, path string, value byte) (f *os.File, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	text, err := os.ReadFile(path)
	must(t, err)
	return f, int64(bytes.Index(text, bytes.Repeat([]byte{value}, 2000)))
}

// TestGroupFilesFollowRenames: what a program reads and writes through one open file belongs to one
// array, also where a rename has given the array's name to another. The HDF5 library writes back
// the bytes around an element as it has read them, so that those of another array would be lost.
func TestGroupFilesFollowRenames(t *testing.T) {
	dir := createdArrays(t, "u", "v")
	group := filepath.Join(dir, "g")
	open, at := openedAt(t, group+".h5", 1)
	row := make([]byte, 2000)
	_, err := open.ReadAt(row, at)
	must(t, err)
	for _, names := range [][2]string{{"u", "tmp"}, {"v", "u"}, {"tmp", "v"}} {
		must(t, os.Rename(
			filepath.Join(group, names[0]+".npy"), filepath.Join(group, names[1]+".npy")))
	}
	row[0] = 0
	if _, err := open.ReadAt(row, at); err != nil || row[0] != 1 {
		t.Errorf("after the renames: %v, %d", err, row[0])
	}
	row[1] = 9
	_, err = open.WriteAt(row, at)
	must(t, err)
	must(t, open.Close())
	for name, wanted := range map[string]byte{"u": 2, "v": 1} {
		now, err := os.ReadFile(filepath.Join(group, name+".raw"))
		if err != nil || now[0] != wanted || now[1999] != wanted || name == "v" && now[1] != 9 {
			t.Errorf("%s begins with %d, %v; expected %d", name, now[:3], err, wanted)
		}
	}
}

// TestGroupFilesShowNoRemovedArray: an open file shows no bytes of an array that was removed, nor
// of the next one of that name, and accepts none for them.
func TestGroupFilesShowNoRemovedArray(t *testing.T) {
	dir := createdArrays(t, "u", "v", "w", "x")
	group := filepath.Join(dir, "g")
	refused := func(what string, f *os.File, at int64) {
		t.Helper()
		row := make([]byte, 2000)
		if _, err := f.ReadAt(row, at); !errors.Is(err, syscall.ESTALE) {
			t.Errorf("a read of an array that was removed %s: %v", what, err)
		}
		if _, err := f.WriteAt(row, at); !errors.Is(err, syscall.ESTALE) {
			t.Errorf("a write of an array that was removed %s: %v", what, err)
		}
	}
	var files []*os.File
	var at []int64
	for value := range 4 {
		f, off := openedAt(t, group+".h5", byte(value+1))
		if value < 3 { // the last array is not opened before
			_, err := f.WriteAt([]byte{byte(value + 1)}, off)
			must(t, err)
		}
		files, at = append(files, f), append(at, off)
	}
	for _, name := range []string{"u.npy", "u.raw", "u.json", "v.npy", "v.raw", "v.json"} {
		must(t, os.Remove(filepath.Join(group, name)))
	}
	refused("through the mount", files[0], at[0])
	store := filepath.Join(filepath.Dir(dir), "store.zarr")
	out, err := command(zarrfs(t), "create", store, "g/v", "--shape", "4,500", "--dtype", "u1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	refused("and made again", files[1], at[1])
	must(t, os.RemoveAll(filepath.Join(store, "g/x")))
	refused("in the store", files[3], at[3])
}

// TestGroupFilesAreMapped: a mapping of an open file keeps the structure of that file, also after
// arrays were made or removed and the file was opened again.
func TestGroupFilesAreMapped(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	dir := createdArrays(t, "b", "c", "d", "z") // z and a have no page in common
	store := filepath.Join(filepath.Dir(dir), "store.zarr")
	path := filepath.Join(dir, "g.h5")
	keeps := func(when string, change func()) {
		t.Helper()
		open, err := os.Open(path)
		must(t, err)
		defer open.Close()
		before, err := os.ReadFile(path)
		must(t, err)
		mapped, err := syscall.Mmap(
			int(open.Fd()), 0, len(before), syscall.PROT_READ, syscall.MAP_SHARED)
		must(t, err)
		defer syscall.Munmap(mapped)
		change()
		again, err := os.Open(path)
		must(t, err)
		defer again.Close()
		now, err := os.ReadFile(path)
		must(t, err)
		next, err := syscall.Mmap(
			int(again.Fd()), 0, len(now), syscall.PROT_READ, syscall.MAP_SHARED)
		must(t, err)
		defer syscall.Munmap(next)
		info, err := open.Stat()
		if err != nil || info.Size() != int64(len(before)) || len(now) == len(before) {
			t.Errorf("%s: %d and %d bytes, expected %d", when, info.Size(), len(now), len(before))
		}
		if !bytes.Equal(next, now) {
			t.Errorf("%s: the new mapping differs from the file", when)
		}
		at := bytes.Index(before, bytes.Repeat([]byte{4}, 2000))
		if !bytes.Equal(mapped[at:at+2000], before[at:at+2000]) {
			t.Errorf("%s: the old mapping shows another array", when)
		}
	}
	keeps("an array was added", func() {
		out, err := command(zarrfs(t), "create", store, "g/a", "--shape", "40,500", "--dtype", "u1")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	keeps("an array was removed", func() {
		for _, suffix := range []string{".npy", ".raw", ".json"} {
			must(t, os.Remove(filepath.Join(dir, "g", "a"+suffix)))
		}
	})
}

// TestGroupHasNameOfGroupFile: a group with the name of another group's file hides that file. The
// file then has its second name. The kernel refuses to make such a group by mkdir or mv, because
// the file is there.
func TestGroupHasNameOfGroupFile(t *testing.T) {
	dir := createdArrays(t, "u")
	store := filepath.Join(filepath.Dir(dir), "store.zarr")
	path := filepath.Join(dir, "g.nc")
	must(t, os.Mkdir(filepath.Join(dir, "other"), 0o777))
	if err := os.Mkdir(path, 0o777); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("mkdir: %v", err)
	}
	if err := syscall.Rename(filepath.Join(dir, "other"), path); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("rename: %v", err)
	}
	out, err := command(zarrfs(t), "create", store, "g.h5/a", "--shape", "4", "--dtype", "u1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if info, err := os.Stat(filepath.Join(dir, "g.h5")); err != nil || !info.IsDir() {
		t.Errorf("the group: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "g.h5", "a.npy")); err != nil || info.IsDir() {
		t.Errorf("the array of the group: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "g%.h5"))
	if err != nil || !bytes.Contains(text, bytes.Repeat([]byte{1}, 2000)) {
		t.Errorf("the file of the other group: %v", err)
	}
}

// TestGroupFilesSayWhatTheyLack: what a file cannot hold is left out, and named.
func TestGroupFilesSayWhatTheyLack(t *testing.T) {
	dir, bin := emptyMount(t), zarrfs(t)
	store := filepath.Join(filepath.Dir(dir), "store.zarr")
	for _, name := range []string{"g/whole", "g/broken"} {
		out, err := command(bin, "create", store, name, "--shape", "4", "--dtype", "u1")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	must(t, os.Symlink("whole", filepath.Join(store, "g", "link")))
	must(t, os.Mkdir(filepath.Join(store, "g/wide"), 0o777))
	must(t, os.WriteFile(filepath.Join(store, "g/wide/zarr.json"), []byte(wideDocument), 0o666))
	must(t, os.WriteFile(filepath.Join(store, "g/broken/zarr.json"), []byte("{"), 0o666))
	long := fmt.Sprintf(`{"zarr_format":3,"node_type":"group",
		"attributes":{"kept":1,"long":[1%s]}}`, strings.Repeat(",1", 9999))
	must(t, os.WriteFile(filepath.Join(store, "g/zarr.json"), []byte(long), 0o666))
	cmd := exec.Command(bin, "cat", "--view", "h5", store, "g")
	var said bytes.Buffer
	cmd.Stderr = &said
	file, err := cmd.Output()
	holds := func(name string) bool { return bytes.Contains(file, []byte(name)) }
	if err == nil || !holds("whole") || !holds("kept") {
		t.Errorf("%v, a file of %d bytes", err, len(file))
	}
	for _, name := range []string{"g/broken", "g/link", "attribute long"} {
		if !strings.Contains(said.String(), name) {
			t.Errorf("%s is not named in: %s", name, said.String())
		}
	}
	python := "import h5py, sys; print(h5py.File(sys.argv[1])['wide'].dtype)"
	out, err := command(viewsPython(t), "-c", python, filepath.Join(dir, "g.h5"))
	if err != nil || strings.TrimSpace(string(out)) != "|V100000" {
		t.Errorf("%v: h5py reads a wide array as %s", err, out)
	}
	shown, err := os.ReadFile(filepath.Join(dir, "g.h5"))
	if err != nil || !bytes.Equal(shown, file) {
		t.Errorf("the mount shows %d bytes, expected %d: %v", len(shown), len(file), err)
	}
}

// TestGroupFilesHaveExactSizes: stat returns the size of the file that is read, also after a change
// of its arrays. A file that would be larger than files can be does not exist.
func TestGroupFilesHaveExactSizes(t *testing.T) {
	dir, bin := emptyMount(t), zarrfs(t)
	store := filepath.Join(filepath.Dir(dir), "store.zarr")
	create := func(args ...string) func() {
		return func() {
			out, err := command(bin, append([]string{"create", store}, args...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	put := func(name, text string) func() {
		return func() { must(t, os.WriteFile(filepath.Join(dir, "g", name), []byte(text), 0o666)) }
	}
	for i, change := range []func(){
		create("g/a", "--shape", "4", "--dtype", "u1"), func() {},
		create("g/sub/b", "--shape", "4", "--dtype", "string"),
		put("a.json", `{"attributes": {"units": "m"}}`),
		put("sub/b.jsonl", "\"short\"\n\"a longer text, which makes the file larger\"\n"),
		put("a.raw", "four and more"),
		func() {
			must(t, os.Mkdir(filepath.Join(store, "huge"), 0o777))
			document := filepath.Join(store, "huge", "zarr.json")
			must(t, os.WriteFile(document, []byte(hugeDocument), 0o666))
		},
	} {
		change()
		for _, name := range []string{"g.h5", "g.nc", "g/sub.h5"} {
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			text, _ := os.ReadFile(path)
			if i > 1 && (err != nil || info.Size() != int64(len(text)) || len(text) < 48) {
				t.Errorf("%d: %s: %v, %d bytes were read", i, name, err, len(text))
			}
		}
	}
	for _, name := range []string{"huge.h5", "huge.nc"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	out, _ := command(bin, "errors", dir)
	if !strings.Contains(string(out), "more bytes than a file can have") {
		t.Errorf("zarrfs errors: %s", out)
	}
}

// TestGroupFilesHideNoName: an array that the netCDF library would show under the name of another
// is left out of .nc, and named. The .h5 has both.
func TestGroupFilesHideNoName(t *testing.T) {
	s := groupStores(t, "named")[1]
	must(t, exec.Command("cp", "-r", filepath.Join(s.store, "q"),
		filepath.Join(s.store, "_nc4_non_coord_curv")).Run())
	must(t, os.RemoveAll(filepath.Join(s.store, "_nc4_non_coord_curv", "c")))
	python := `import sys, h5py, netCDF4
h = h5py.File(sys.argv[1])
print(h["curv"][...].sum(), h["_nc4_non_coord_curv"].shape, end=" ")
n = netCDF4.Dataset(sys.argv[2])
print(n["curv"].shape, n["curv"].dimensions, len(n.variables))`
	out, err := command(viewsPython(t), "-c", python, s.file(".h5"), s.file(".nc"))
	want := "270 (7,) (4, 5) ('curv', 'x') 7"
	if got := strings.TrimSpace(string(out)); err != nil || got != want {
		t.Errorf("%v: %s, expected %s", err, got, want)
	}
	cmd := exec.Command(zarrfs(t), "cat", "--view", "nc", s.store)
	var said bytes.Buffer
	cmd.Stderr = &said
	if cmd.Run() == nil || !strings.Contains(said.String(), `"_nc4_non_coord_curv" is left out`) {
		t.Errorf("zarrfs cat does not name the array: %s", said.String())
	}
}

// hugeDocument is that of an array of 2^63-1 bytes, with which no file has room for a header.
const hugeDocument = `{"zarr_format":3,"node_type":"array","shape":[9223372036854775807],
	"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1000000]}},
	"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}`

// wideDocument is that of an array with a fill value that no header of HDF5 can hold.
const wideDocument = `{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"r800000",
	"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
	"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}`

// emptyMount mounts a new store, which is store.zarr beside the mountpoint.
func emptyMount(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	store, dir := filepath.Join(base, "store.zarr"), filepath.Join(base, "mnt")
	must(t, os.Mkdir(dir, 0o777))
	for _, args := range [][]string{{"create", store, "--group"}, {"mount", store, dir}} {
		if out, err := command(zarrfs(t), args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}

// listed returns the names in a folder, each with a space behind it.
func listed(t *testing.T, dir string) (names string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		names += entry.Name() + " "
	}
	return names
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestGroupFilesOpenWithoutData: programs that read the first megabytes of a file when they open
// it, as netCDF4 for Python does, have no chunk decoded. Here the first plane lies in all chunks.
func TestGroupFilesOpenWithoutData(t *testing.T) {
	store := filepath.Join(t.TempDir(), "years.zarr")
	const makeStore = `import sys, numpy, zarr
a = zarr.open_group(sys.argv[1], mode="w").create_array(
    "t2m", shape=(256, 64, 64), chunks=(256, 8, 8), dtype="f4")
a[...] = numpy.arange(256 * 64 * 64, dtype="f4").reshape(a.shape)`
	runPython(t, pythonThree(t), "-c", makeStore, store)
	dir := mount(t, store)
	for _, suffix := range []string{".nc", ".h5"} {
		run(t, "head", "-c", "4M", filepath.Join(dir, "years"+suffix))
	}
	if n := chunksDecoded(t, dir); n != 0 {
		t.Errorf("the first 4 MiB have %d chunks decoded", n)
	}
	run(t, "cp", filepath.Join(dir, "years.nc"), t.TempDir())
	if n := chunksDecoded(t, dir); n != 64 {
		t.Errorf("a copy has %d chunks decoded, expected 64", n)
	}
}
