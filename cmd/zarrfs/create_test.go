package main

import (
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCreate creates a store, groups on the way, and an array, and looks at them.
func TestCreate(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(t.TempDir(), "new.zarr")
		for _, args := range [][]string{
			{"create", "--format", format, "--attributes", `{"title": "new"}`, "--group", store},
			{"create", store, "a/b/c", "--shape", "10,20", "--dtype", "float32", "--chunks", "5,5",
				"--attributes", `{"units": "K"}`},
			{"create", store, "one", "--shape", "()", "--dtype", "<i4", "--fill-value", "7"},
			{"create", store, "points", "--shape", "3", "--dtype", "[('x', '<f4'), ('y', '<i2')]",
				"--codecs", "none"},
		} {
			if code, out := zarrfs(t, args...); code != 0 || strings.Count(out, "\n") != 1 {
				t.Fatalf("%q: exit code %d: %s", args, code, out)
			}
		}
		for args, want := range map[string]string{
			"info STORE": "    title     new\n", "info STORE a/b/c": "chunks      5 × 5, 0 of 8 " +
				"stored\n", "info --json STORE a/b/c": `"zarr_format": ` + format,
			"info STORE a/b": "1 array, 0 groups", "cat --view raw STORE one": "\x07\x00\x00\x00",
			"info STORE points":        `[["x","<f4"],["y","<i2"]]`,
			"info --json STORE a/b/c ": `"units": "K"`,
		} {
			code, out := zarrfs(t, strings.Fields(strings.ReplaceAll(args, "STORE", store))...)
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("format %s: zarrfs %s: exit code %d; it should say %q:\n%s", format, args,
					code, want, out)
			}
		}
		if left, err := filepath.Glob(filepath.Join(store, ".zarrfs*")); err != nil ||
			len(left) > 0 {
			t.Errorf("%v is left in the store, %v", left, err)
		}
	}
}

// TestIsEmpty: only a folder that can be read and has no name in it is empty.
func TestIsEmpty(t *testing.T) {
	empty, full := t.TempDir(), t.TempDir()
	file := filepath.Join(full, "zarr.json")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(full, "pipe")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{
		empty: true, full: false, file: false, pipe: false,
		filepath.Join(empty, "missing"): false, "": false,
	} {
		if got := isEmpty(folder); got != want {
			t.Errorf("isEmpty(%q) = %v, want %v", folder, got, want)
		}
	}
}

// TestRefusedCreateLeavesNothing: a command line that cannot be carried out makes no store and no
// group on the way, and counts as wrong. That is so whether the store is new or not.
func TestRefusedCreateLeavesNothing(t *testing.T) {
	for _, args := range []string{
		"p/a --shape 10,20 --dtype f4 --chunks 5,5 --shards 5,5 --format 2",
		"p/a --shape 4294967296,4294967296 --dtype f4",
		"p/a --shape 5,5 --dtype f4 --chunks 4294967296,4294967296",
		"p/a --shape 5,5 --dtype f4 --chunks 5",
		"p/a --shape 5 --dtype i1 --fill-value 300",
		`p/a --shape 3 --dtype i1 --codecs ["bytes","nonsense"]`,
		`p/a --shape 3 --dtype i1 --codecs ["vlen-utf8"]`,
		"p/zarr.json --shape 3 --dtype i1",
		".zgroup/p --group",
		"p//q --group",
		"p/.. --group",
		"p/./q --shape 3 --dtype i1",
		"p/" + strings.Repeat("x", 256) + " --group",
		`p --group --attributes {},"more":{}`,
		"p/q --group --attributes {\"title\":\"\xff\"}",
	} {
		// that of the store; "" if it is still to be made
		for _, format := range []string{"", "2"} {
			store := filepath.Join(t.TempDir(), "s.zarr")
			if format != "" {
				must(t, "create", store, "--group", "--format", format)
			}
			before := namesIn(t, store)
			if code, out := zarrfs(t,
				append([]string{"create", store}, strings.Fields(args)...)...); code != exitUsage {
				t.Errorf("zarrfs create %s: exit code %d, want %d: %s", args, code, exitUsage, out)
			}
			if left := namesIn(t, store); !slices.Equal(left, before) {
				t.Errorf("zarrfs create %s, store of format %q: there is %q, before it was %q",
					args, format, left, before)
			}
		}
	}
}

// TestCreateByTheGroupsRecipe: what the group above says is checked before anything is made, and
// flags say it better.
func TestCreateByTheGroupsRecipe(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	must(t, "create", store, "--group", "--format", "2")
	must(t, "create", store, "g", "--group", "--attributes",
		`{"zarrfs": {"chunks": "2,2", "codecs": "none"}}`)
	before := namesIn(t, store)
	if code, out := zarrfs(t, "create", store, "g/p/a", "--shape", "4,4", "--dtype", "i1",
		"--shards", "4,4"); code != exitUsage ||
		!strings.Contains(out, "expected none in format 2") {
		t.Errorf("shards: exit code %d: %s", code, out)
	}
	if left := namesIn(t, store); !slices.Equal(left, before) {
		t.Errorf("there is %q, before it was %q", left, before)
	}
	for _, tc := range []struct {
		name, flag, value,
		chunks string
	}{{"g/p/a", "--format", "2", "2,2"}, {"g/b", "--chunks", "3,4", "3,4"}} {
		must(t, "create", store, tc.name, "--shape", "8,8", "--dtype", "i1", tc.flag, tc.value)
		var doc struct {
			Chunks     []int
			Compressor any
		}
		text, err := os.ReadFile(filepath.Join(store, tc.name, ".zarray"))
		if err = errors.Join(err, json.Unmarshal(text, &doc)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Trim(strings.ReplaceAll(fmt.Sprint(doc.Chunks), " ", ","),
			"[]"); got != tc.chunks || doc.Compressor != nil {
			t.Errorf("%s has chunks %s, want %s, and the compressor %v", tc.name, got, tc.chunks,
				doc.Compressor)
		}
	}
	if code, out := zarrfs(t, "create", store, "g/b/c/d", "--shape", "3", "--dtype",
		"i1"); code != exitStore || !strings.Contains(out, `"g/b" is an array`) {
		t.Errorf("below an array: exit code %d: %s", code, out)
	}
}

// must runs the program, which is to succeed.
func must(t *testing.T, args ...string) {
	t.Helper()
	if code, out := zarrfs(t, args...); code != 0 {
		t.Fatalf("zarrfs %q: exit code %d: %s", args, code, out)
	}
}

// names returns the paths of all that is at dir and below it, none if that is missing.
func namesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ iofs.DirEntry, err error) error {
		if err == nil {
			list = append(list, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		t.Fatal(err)
	}
	return list
}

// TestNumPyNames: create takes the names that NumPy has for types. want is what NumPy 2.4 says of
// them: numpy.dtype(name).str.
func TestNumPyNames(t *testing.T) {
	for name, want := range map[string]string{
		"bool": "|b1", "bool_": "|b1", "?": "|b1", "byte": "|i1", "ubyte": "|u1", "b": "|i1",
		"B": "|u1", "short": "<i2", "ushort": "<u2", "h": "<i2", "H": "<u2",
		"intc": "<i4", "uintc": "<u4", "i": "<i4", "I": "<u4", "int": "<i8", "int_": "<i8",
		"uint": "<u8", "long": "<i8", "ulong": "<u8", "longlong": "<i8",
		"ulonglong": "<u8", "intp": "<i8", "uintp": "<u8", "l": "<i8", "L": "<u8", "q": "<i8",
		"Q": "<u8", "p": "<i8", "P": "<u8",
		"int8": "|i1", "uint16": "<u2", "int32": "<i4", "uint64": "<u8", "half": "<f2", "e": "<f2",
		"single": "<f4", "f": "<f4", "float": "<f8",
		"double": "<f8", "d": "<f8", "float16": "<f2", "float32": "<f4", "float64": "<f8",
		"complex": "<c16", "csingle": "<c8", "cdouble": "<c16", "F": "<c8", "D": "<c16",
		"complex64": "<c8", "complex128": "<c16", "datetime64[ns]": "<M8[ns]",
		"timedelta64[s]": "<m8[s]",
		"M8[D]":          "<M8[D]", "datetime64[10us]": "<M8[10us]", "i4": "<i4", "u8": "<u8",
		"f2": "<f2", "c16": "<c16", "b1": "|b1", "S8": "|S8", "U5": "<U5", "V16": "|V16",
		"a5": "|S5", "|a5": "|S5", "c": "|S1", "=f4": "<f4", ">i2": ">i2",
	} {
		got, err := parseType(name)
		if err != nil || got.Descr() != "'"+want+"'" {
			t.Errorf("%s is %s, %v, want %s", name, got.Descr(), err, want)
		}
	}
	got, err := parseType("f4, int,S3")
	want := "[('f0', '<f4'), ('f1', '<i8'), ('f2', '|S3')]" // numpy.dtype("f4, int,S3").descr
	if err != nil || got.Descr() != want {
		t.Errorf("a structure is %s, %v, want %s", got.Descr(), err, want)
	}
	got, err = parseType("m8[ns],a5,c")
	want = "[('f0', '<m8[ns]'), ('f1', '|S5'), ('f2', '|S1')]"
	if err != nil || got.Descr() != want {
		t.Errorf("a structure is %s, %v, want %s", got.Descr(), err, want)
	}
	for _, name := range []string{"str", "str_", "U", "unicode", "string"} {
		if got, err := parseType(name); err != nil || got.Name != "string" {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
	for name, why := range map[string]string{
		"object": "for texts take string", "O": "for bytes take bytes",
		"longdouble": "take float64", "void": "such as V16", "int7": "no type",
		"datetime64": "such as datetime64[ns]", "M8": "give a unit", "M": "give a unit",
		"timedelta64": "give a unit", "m8": "give a unit", "m": "give a unit",
		"M8[generic]": "give a unit", "i4,M8": "give a unit",
		"[('a', [('b', '<m8')])]": "give a unit",
		"T":                       "take that", "i4,T": "take that",
		"S0": "take bytes", "|a0": "take bytes", "i4,U0": "for texts string",
		"2i4": "add the lengths to --shape", "(2,3)f8": "add the lengths to --shape",
		"i4,(2,3)f8": "as in i4,f8,f8", "i4, 2f8": "as in i4,f8,f8",
	} {
		if _, err := parseType(name); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", name, err, why)
		}
	}
}

// TestDimensionNames: create names the axes, in both formats, beside attributes.
func TestDimensionNames(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(t.TempDir(), "new.zarr")
		code, out := zarrfs(t, "create", store, "x", "--format", format, "--shape", "2,3",
			"--dtype", "float",
			"--dimension-names", "lat,lon", "--attributes", `{"units": "K"}`)
		if code != 0 {
			t.Fatalf("format %s: exit code %d: %s", format, code, out)
		}
		_, out = zarrfs(t, "info", "--json", store, "x")
		out = strings.Join(strings.Fields(out), "")
		if !strings.Contains(out, `"dimension_names":["lat","lon"]`) ||
			!strings.Contains(out, `"units":"K"`) {
			t.Errorf("format %s:\n%s", format, out)
		}
		if code, out := zarrfs(t, "create", store, "y", "--shape", "2,3", "--dtype", "float",
			"--dimension-names", "lat"); code != exitUsage ||
			!strings.Contains(out, "expected 2 names") {
			t.Errorf("too few names: exit code %d: %s", code, out)
		}
	}
}

// TestStoreFollowsUmask: what is made in a store has the modes that the user's umask leaves, as
// with any program.
func TestStoreFollowsUmask(t *testing.T) {
	needFuse(t)
	needTools(t, "setfattr")
	for _, umask := range []uint32{0o002, 0o027, 0o077} {
		work := t.TempDir()
		makeScripts(t, work)
		write(t, work, "a.npy", string(npyFile("abcdef", 1, "(3,)")))
		script := fmt.Sprintf(`umask %o; zarrfs create s.zarr --group 2>said; mkdir mnt
			zarrfs mount s.zarr mnt || exit
			mkdir mnt/g; cp a.npy mnt/g; cp a.npy mnt
			setfattr -n user.zarr.attr.units -v K mnt/a.npy; zarrfs umount mnt
			zarrfs create s.zarr h/lines --shape 3 --dtype str 2>said`, umask)
		if out := shell(t, work, script); out != "" {
			t.Fatalf("umask %03o: %s", umask, out)
		}
		files := 0
		err := filepath.Walk(filepath.Join(work, "s.zarr"), func(path string, info os.FileInfo,
			err error) error {
			want := os.FileMode(0o666 &^ umask)
			if info != nil && info.IsDir() {
				want = os.FileMode(0o777 &^ umask)
			} else {
				files++
			}
			if err == nil && info.Mode().Perm() != want {
				t.Errorf("umask %03o: %s has mode %v, want %v", umask, path, info.Mode(), want)
			}
			return err
		})
		if err != nil || files < 7 {
			t.Errorf("umask %03o: %d files, %v", umask, files, err)
		}
	}
}

// TestCreateSaysWhatItMade: one line on stderr names what was made, and whether the store is new.
// On stdout there is nothing.
func TestCreateSaysWhatItMade(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range [][2]string{
		{"typo.zarr g/a --shape 10,20 --dtype float32 --chunks 5,5",
			"zarrfs: created array g/a in the new store typo.zarr: " +
				"float32 (10, 20), chunks 5 × 5\n"},
		{"typo.zarr b --shape 8 --dtype >i2 --chunks 2 --shards 4",
			"zarrfs: created array b in typo.zarr: int16 big-endian (8,), chunks 2, shards 4\n"},
		{"typo.zarr words --shape 3 --dtype string",
			"zarrfs: created array words in typo.zarr: string (3,), chunks 3\n"},
		{"typo.zarr point --shape () --dtype bool",
			"zarrfs: created array point in typo.zarr: bool (), chunks 1\n"},
		{"typo.zarr h/i --group", "zarrfs: created group h/i in typo.zarr\n"},
		{"new.zarr --group", "zarrfs: created the new store new.zarr: Zarr v3, an empty group\n"},
	} {
		cmd := ourProgram(t, append([]string{"create"}, strings.Fields(tc[0])...)...)
		var said strings.Builder
		cmd.Dir, cmd.Stderr = dir, &said
		out, err := cmd.Output()
		if err != nil || len(out) > 0 || said.String() != tc[1] {
			t.Errorf("create %s: %v, stdout %q, stderr %q, want %q",
				tc[0], err, out, said.String(), tc[1])
		}
	}
}
