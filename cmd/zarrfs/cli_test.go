package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRefusals(t *testing.T) {
	store := makeStore(t)
	dir, empty := filepath.Dir(store), t.TempDir()
	full := t.TempDir()
	write(t, full, "file", "x")
	write(t, full, "a.zip", "x")
	zipped := filepath.Join(full, "zipped")
	zipStore(t, store, zipped)
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"frob", exitUsage, `unknown command "frob"; `},
		{"mont s.zarr " + empty, exitUsage, `unknown command "mont". Did you mean "mount"?`},
		{"info", exitUsage, "usage: zarrfs info STORE [NODE] (found 0 arguments; `zarrfs " +
			"help info`"},
		{"info --frob x", exitUsage, "info: unknown flag --frob; "},
		{"mount " + store, exitUsage, "usage: zarrfs mount STORE DIR"},
		{"mount --views hdf " + store + " " + empty, exitUsage, "there are json, npy, raw"},
		{"mount --io fast " + store + " " + empty, exitUsage, "auto, cached, direct"},
		{"mount --cache-size lots " + store + " " + empty, exitUsage, "128MiB"},
		{"mount --workers -1 " + store + " " + empty, exitUsage, "expected 1 or more"},
		{"mount --log stderr " + store + " " + empty, exitUsage, "use --foreground or --log FILE"},
		{"mount -o frob " + store + " " + empty, exitUsage, "-o frob: no such option"},
		{"mount sftp://host/x " + empty, exitUsage, "zarrfs cannot mount sftp stores, only " +
			"folders and these URLs: abfs, abfss, az, file, gs, http, https, s3, zip. Mount it"},
		{"mount " + full + " " + empty, exitStore, "not a Zarr store"},
		{"create --group " + dir + " x", exitStore, "is a folder of stores, and not a store " +
			"itself; name one of them"},
		{"mount " + dir + "/other " + empty, exitStore, "To make a new store: zarrfs create " +
			dir + "/other --group"},
		{"mount " + full + "/a.zip " + empty, exitStore, "its directory, which is at the end, is " +
			"missing"},
		{"create zip:" + zipped + " x --shape 3 --dtype i4", exitStore,
			"Unpack it: unzip " + zipped},
		{"migrate zip:" + zipped + " --to 2", exitStore,
			"zarrfs does not change zip files. Unpack it"},
		{"mount " + zipped + " " + empty, exitStore, "another name: zip:" + zipped},
		{"mount " + store + "/a/c " + empty, exitStore, "it lies in the store " + store},
		{"mount " + store + "/zarr.json " + empty, exitStore, "is a file"},
		{"mount " + dir + "/Test " + empty, exitStore, "did you mean " + store},
		{"mount " + store + " " + dir + "/nothing", exitMount,
			"does not exist; create it with `mkdir -p"},
		{"mount " + store + " " + store + "/zarr.json", exitMount, "is a file"},
		{"mount " + store + " " + full, exitMount, "is not empty"},
		{"mount " + store + " " + store + "/ocean", exitMount, "lies inside the store"},
		{"umount " + empty, exitMount, "is not a mount"},
		{"umount " + empty + "/nothing", exitMount, "no such file"},
		{"umount /proc", exitMount, "a mount of type proc"},
		{"info " + store + " ocean/b.npy", exitStore,
			`an array "ocean/b", of which .npy is a view`},
		{"info " + store + " nothing", exitStore, `no array or group "nothing"`},
		{"cat --view hdf " + store, exitUsage, "there are json, npy, raw"},
		{"cat --view npy " + store + " ocean", exitStore, "not an array"},
		{"cat " + store + " strange", exitStore, "mystery"},
		{"mount " + empty + " " + empty, exitStore, "is an empty folder; `zarrfs create " + empty +
			" --group`"},
		{"mount " + empty + " " + store, exitStore, "give the store first"},
		{"mount --read-only --create-format 3 " + empty + " " + empty, exitStore,
			"is an empty folder, and a read-only mount makes no store of it; `zarrfs create " +
				empty + " --group` does"},
		{"mount --create-chunks 3,x " + store + " " + empty, exitUsage, "--create-chunks: "},
		{"mount --create-format 4 " + store + " " + empty, exitUsage, "--create-format: "},
		{"create --shape 3 --dtype in4 " + store + " x", exitUsage, `--dtype: no type "in4"`},
		{"create " + store, exitUsage, "expected --group, or --shape and --dtype"},
		{"create --group --shape 3 " + store, exitUsage, "--group and --shape exclude each other"},
		{"create --shape 3 " + store + " x", exitUsage,
			"--shape 3 needs --dtype, such as --dtype float32"},
		{"create --shape 3 --dtype int8 " + store, exitUsage, "an array needs a NODE"},
		{"create --shape 3,x --dtype int8 " + store + " x", exitUsage,
			"expected lengths such as 10,20"},
		{"create --shape 3 --dtype int99 " + store + " x", exitUsage, "--dtype: "},
		{"create --shape 3 --dtype int8 --chunks 2,2 " + store + " x", exitUsage, "chunks"},
		{"create --shape 3 --dtype int8 --codecs frob " + store + " x", exitUsage, "--codecs: "},
		{"create --group --attributes [1] " + store + " x", exitUsage, "expected a JSON object"},
		{"create --group " + store, exitStore, "is a store already"},
		{"create --group " + store + " ocean", exitStore,
			`group "ocean" exists. Choose another name, or remove it first: rm -r ` + store +
				"/ocean"},
		{"create --group --format 2 " + store + " x", exitStore, "the store has format 3"},
		{"create --group " + store + " a/x", exitStore, `"a" is an array`},
		{"create --group " + store + "/new", exitStore, "it lies in the store " + store},
		{"create --group " + full, exitStore, "not a Zarr store"},
		{"create --group " + empty + "/nothing/new", exitStore, "no such file"},
	} {
		code, out := zarrfs(t, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(out, tc.want) ||
			!strings.HasPrefix(out, "zarrfs: ") {
			t.Errorf("zarrfs %s: exit code %d, want %d; it should say %q:\n%s", tc.args, code,
				tc.code, tc.want, out)
		}
	}
}

func TestCommandOutput(t *testing.T) {
	store := makeStore(t)
	for _, tc := range []struct{ args, want string }{
		{"", "zarrfs help mount"}, {"help", "Exit codes:"}, {"--help", "Commands:"},
		{"help mount", "zarrfs mount STORE DIR"}, {"mount --help", "--cache-size"},
		{"version", "zarrfs " + version}, {"version --json", `"version": "` + version + `"`},
		{"--version", "zarrfs "},
		{"info STORE", "3 arrays, 1 group\n  all levels  4 arrays, 1 group: 128 KiB, stored " +
			"80 KiB\n"}, {"info STORE a", "8192, 5 of 8 stored\n"},
		{"info STORE a", "uint16 (65536)"},
		{"info STORE a", "128 KiB (131072 bytes)\n  stored      80 KiB (81920 bytes) (1.6×)\n"},
		{"info STORE a", "codecs      bytes(little)"}, {"info STORE strange", "mystery"},
		{"info --json STORE /a/", `"stored_bytes": 81920`}, {"info file://STORE", "Zarr v3 group"},
		{"tree STORE", "├── a                          uint16  65536                      128 " +
			"KiB → 80 KiB\n├── enormous"},
		{"tree STORE", "└── strange [cannot be read]   uint16  8                          16 " +
			"bytes → 0 bytes   mystery\n\n4 arrays, 1 group: 128 KiB, stored 80 KiB\n`zarrfs info"},
		{"tree -L 1 STORE", "├── ocean/\n└── strange"}, {"tree --json STORE", `"path": "/ocean/b"`},
		{"tree STORE ocean", "ocean/\n└── b"},
		{"cat STORE ocean/b", "'shape': (3, 2)"}, {"cat --view raw STORE ocean/b", chunk(0, 6)},
		{"cat STORE ocean", `"title": "test"`},
	} {
		args := strings.Fields(strings.ReplaceAll(tc.args, "STORE", store))
		code, out := zarrfs(t, args...)
		if code != 0 || !strings.Contains(out, tc.want) {
			t.Errorf("zarrfs %s: exit code %d; it should say %q:\n%s", tc.args, code, tc.want, out)
		}
	}
}

// TestTextsEndInNewline: what is shown of documents does not run into a shell's prompt.
func TestTextsEndInNewline(t *testing.T) {
	store := makeStore(t)
	for _, args := range []string{"cat STORE", "cat --view json STORE a", "info --json STORE a",
		"tree STORE"} {
		_, out := zarrfs(t, strings.Fields(strings.ReplaceAll(args, "STORE", store))...)
		if !strings.HasSuffix(out, "}\n") && args != "tree STORE" ||
			strings.HasSuffix(out, "\n\n") {
			t.Errorf("%s ends in %q", args, out[max(0, len(out)-5):])
		}
	}
	dir := mounted(t, store)
	for _, name := range []string{"a.json", "zarr.json", "ocean/zarr.json"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		noError(t, "stat", err)
		if text := string(bytesOf(t, path)); !strings.HasSuffix(text, "}\n") ||
			info.Size() != int64(len(text)) {
			t.Errorf("%s has %d bytes, %d by its size, and ends in %q", name, len(text),
				info.Size(), text[max(0, len(text)-5):])
		}
	}
	before := bytesOf(t, filepath.Join(store, "a/zarr.json"))
	noError(t, "write what is shown",
		os.WriteFile(filepath.Join(dir, "a.json"), bytesOf(t, filepath.Join(dir, "a.json")), 0o666))
	if after := bytesOf(t, filepath.Join(store, "a/zarr.json")); string(after) != string(before) {
		t.Errorf("writing what is shown changes the document to\n%s", after)
	}
}

// TestCatRefusesTerminal: binary data are not written to a terminal, unless that is asked for. A
// text is.
func TestCatRefusesTerminal(t *testing.T) {
	store := makeStore(t)
	for args, want := range map[string]string{
		"cat STORE ocean/b":            "is binary, and standard output is a terminal. Redirect it",
		"cat --view raw STORE ocean/b": "is binary",
		"cat --force STORE ocean/b":    "NUMPY", "cat --view json STORE ocean/b": "uint16",
	} {
		master, slave := openTerminal(t)
		cmd := ourProgram(t, strings.Fields(strings.ReplaceAll(args, "STORE", store))...)
		cmd.Stdout, cmd.Stderr = slave, slave
		err := cmd.Run()
		out := make([]byte, 1<<12)
		n, readErr := master.Read(out)
		if refused := err != nil; refused != strings.Contains(want, "is binary") ||
			readErr != nil || !strings.Contains(string(out[:n]), want) {
			t.Errorf("%s: %v, %v: %q, want %q", args, err, readErr, out[:n], want)
		}
	}
}

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("SKIPPED: terminals, because of: ", err)
	}
	noError(t, "unlock", unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	noError(t, "number", err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	noError(t, "open", err)
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

// TestInfoOfOtherGrids holds that info does not name one shape for chunks that have several.
func TestInfoOfOtherGrids(t *testing.T) {
	store := filepath.Join(t.TempDir(), "test.zarr")
	doc := strings.Replace(fmt.Sprintf(testArray, "5", "0", ""),
		`{"name": "regular", "configuration": {"chunk_shape": [0]}}`,
		`{"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 3]]}}`, 1)
	write(t, store, "zarr.json", doc)
	if code, out := zarrfs(t, "info", store); code != 0 ||
		!strings.Contains(out, "objects     differ in shape, up to 3, 0 of 2 stored\n") ||
		strings.Contains(out, "chunks") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if code, out := zarrfs(t, "cat", "--view", "raw", store); code != 0 ||
		out != strings.Repeat("\x00", 10) {
		t.Errorf("exit code %d: %q", code, out)
	}
}

// TestMigrateVerb migrates a store and takes that back.
func TestMigrateVerb(t *testing.T) {
	store := filepath.Join(t.TempDir(), "old.zarr")
	write(t, store, ".zgroup", `{"zarr_format": 2}`)
	write(t, store, "a/.zarray",
		`{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|u1", "fill_value": 0, `+
			`"order": "C", "compressor": null, "filters": null}`)
	write(t, store, "a/0", "abc")
	for _, step := range []struct {
		args string
		code int
		want string
	}{
		{"--to 4 STORE", exitUsage, "--to 4: expected 2 or 3"},
		{"--undo --to 2 STORE", exitUsage, "leave out --to"},
		{"--to 2 STORE", exitOK, "nothing to do: all is of format 2 already"},
		{"--undo STORE", exitOK, "nothing to do: there is no .zarrfs-migration.json"},
		{"--dry-run STORE", exitOK, "write   zarr.json\nwrite   a/zarr.json\nremove  " +
			".zgroup\nremove  a/.zarray\nwould migrate 1 array and 1 group of format 2 to format " +
			"3; nothing was changed\n"},
		{"STORE nothing", exitStore, `no array or group "nothing"`},
		{"STORE", exitOK, "migrated 1 array and 1 group of format 2 to format 3; the old " +
			"documents are in .zarrfs-migration.json"},
		{"--json STORE", exitOK, `"unchanged": "nothing to do: all is of format 3 already"`},
		{"--to 2 STORE", exitStore, `nothing was changed:` + "\n" + `root: it has format 3`},
		{"--undo --dry-run --json STORE", exitOK, `"written": [` + "\n    \".zgroup\",\n    " +
			"\"a/.zarray\"\n  ]"},
		{"--undo STORE", exitOK, "put back 1 array and 1 group of format 3 to format 2\n"},
	} {
		code, out := zarrfs(t,
			strings.Fields("migrate "+strings.ReplaceAll(step.args, "STORE", store))...)
		if code != step.code || !strings.Contains(out, step.want) {
			t.Errorf("zarrfs migrate %s: exit code %d, want %d; it should say %q:\n%s", step.args,
				code, step.code, step.want, out)
		}
	}
	if code, out := zarrfs(t, "cat", "--view", "raw", store, "a"); code != 0 || out != "abc" {
		t.Errorf("exit code %d: %q", code, out)
	}
}

func TestChooseVerb(t *testing.T) {
	for argv, want := range map[string]string{
		"zarrfs": "", "zarrfs -h": "", "zarrfs mount a b": "mount",
		"zarrfs /store /dir -o rw": "mount", "/sbin/mount.zarrfs /store /dir -o ro": "mount",
		"zarrfs frob": "", "zarrfs -f x y": "", "zarrfs tree a": "tree",
	} {
		got := ""
		if v, _ := chooseVerb(strings.Fields(argv)); v != nil {
			got = v.name
		}
		if got != want {
			t.Errorf("%q: verb %q, want %q", argv, got, want)
		}
	}
}

func TestMountinfo(t *testing.T) {
	line := `42 27 0:39 / /mnt/my\040store ro,nosuid shared:1 - fuse.zarrfs /data/a\040b.zarr ` +
		`ro,user_id=1000,group_id=100`
	m, ok := parseMountinfo(line)
	if want := (mountEntry{"/mnt/my store", "fuse.zarrfs", "/data/a b.zarr", "0:39",
		"ro,user_id=1000,group_id=100", "/"}); !ok || m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
	if uid, known := m.owner(); uid != 1000 || !known {
		t.Errorf("it was mounted by user %d, %t, want 1000", uid, known)
	}
	if _, ok := parseMountinfo("nonsense"); ok {
		t.Error("nonsense is a mount")
	}
	if m, ok := mountAt("/proc"); !ok || m.kind != "proc" {
		t.Errorf("/proc is %+v, %v", m, ok)
	} else if _, known := m.owner(); known {
		t.Error("/proc has an owner")
	}
}

func TestSplitScheme(t *testing.T) {
	for name, want := range map[string][2]string{
		"/a/b.zarr": {"file", "/a/b.zarr"}, "b.zarr": {"file", "b.zarr"},
		"file:///a/b%20c":    {"file", "/a/b c"},
		"file://localhost/a": {"file", "/a"}, "s3://bucket/x": {"s3", "bucket/x"},
		"./odd://name": {"file", "./odd://name"},
	} {
		if scheme, location := splitScheme(name); [2]string{scheme, location} != want {
			t.Errorf("%s: %q %q, want %q", name, scheme, location, want)
		}
	}
}

func TestTexts(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB",
		1536: "1.5 KiB", 1 << 30: "1 GiB", 1<<63 - 1: "8 EiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for want, shape := range map[string][]int64{"()": {}, "(3,)": {3}, "(3, 4)": {3, 4}} {
		if got := shapeText(shape); got != want {
			t.Errorf("%v is %q, want %q", shape, got, want)
		}
	}
	if baseName("/a/b.zarr") != "b" || baseName("/a/b") != "b" || baseName("/a/.zarr") != ".zarr" {
		t.Error("base names of stores are wrong")
	}
}

// TestBrokenRoot: if the document of a store's root cannot be understood, the store is described as
// far as possible, and not mounted.
func TestBrokenRoot(t *testing.T) {
	for _, tc := range []struct{ name, file, doc, node, why string }{
		{"a v3 document that is truncated", "zarr.json", `{"zarr_format": 3, "node_type": "group"`,
			"Zarr v3 node\n", "zarr.json: line 1, column 40"},
		{"a v3 array without a grid", "zarr.json", `{"zarr_format": 3, "node_type": "array"}`,
			"Zarr v3 array\n", "chunk_grid: expected a name or an object"},
		{"a v2 group that is not JSON", ".zgroup", `{x`, "Zarr v2 group\n",
			".zgroup: line 1, column 2"},
		{"a v2 array that is not JSON", ".zarray", `[`, "Zarr v2 array\n",
			".zarray: line 1, column 2"},
	} {
		store := filepath.Join(t.TempDir(), "broken.zarr")
		write(t, store, tc.file, tc.doc)
		for args, expected := range map[string][]string{
			"info":        {tc.why, tc.node},
			"info --json": {`"error": "cannot open the root: `},
			"mount":       {tc.why, "mend it"},
		} {
			command := append(strings.Fields(args), store)
			if args == "mount" {
				command = append(command, t.TempDir())
			}
			code, out := zarrfs(t, command...)
			for _, want := range expected {
				if code != exitStore || !strings.Contains(out, want) {
					t.Errorf("%s: %s: exit code %d, expected %q:\n%s", tc.name, args, code, want,
						out)
				}
			}
		}
	}
}

// TestBrokenGroup: a group below the root whose document cannot be understood is shown without
// attributes, and says why.
func TestBrokenGroup(t *testing.T) {
	store, log := makeStore(t), filepath.Join(t.TempDir(), "log")
	write(t, store, "ocean/zarr.json", `{"zarr_format": 3, "node_type": "group", "attributes": 3}`)
	if code, out := zarrfs(t, "info", store, "ocean"); code != exitStore ||
		!strings.Contains(out, "attributes: expected") {
		t.Errorf("info: exit code %d:\n%s", code, out)
	}
	dir := mounted(t, store, "--log", log)
	if _, err := os.ReadFile(filepath.Join(dir, "ocean/b.raw")); err != nil {
		t.Error(err)
	}
	saysWhy(t, filepath.Join(dir, "ocean"), "attributes: expected")
	if b, err := os.ReadFile(log); strings.Count(string(b), "attributes: expected") != 1 {
		t.Errorf("the log has %s: %v", b, err)
	}
}

func TestTypeText(t *testing.T) {
	for spelled, want := range map[string]string{
		"<f4": "float32", ">f4": "float32 big-endian", "|b1": "bool", "|i1": "int8",
		"<u2": "uint16", "<c16": "complex128", "|S8": "S8", "<U5": "U5", "|V16": "V16",
		"<M8[ns]": "datetime64[ns]", "<m8[10us]": "timedelta64[10us]", "string": "string", "": "",
	} {
		if got := typeText(spelled); got != want {
			t.Errorf("%s is %q, want %q", spelled, got, want)
		}
	}
}

func TestCodecsText(t *testing.T) {
	chain := `[{"name": "sharding_indexed",
		"configuration": {"chunk_shape": [2],
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
		{"name": "zstd", "configuration": {"level": 3, "checksum": false}}],
		"index_codecs": [{"name": "crc32c"}], "index_location": "end"}}]`
	if got, want := codecsText([]byte(chain)),
		"sharding_indexed[bytes(little) → zstd(3)]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBadTmpdirIsNamed: a scratch folder that is not there is said to be what named it.
func TestBadTmpdirIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noError(t, "file", os.WriteFile(file, nil, 0o600))
	for _, tc := range []struct{ tmpdir, flag, want string }{
		{"/nowhere/tmp", "", "TMPDIR, which is the scratch folder without --scratch-dir: " +
			"/nowhere/tmp: no such file or directory"},
		{file, "", "TMPDIR, which is the scratch folder without --scratch-dir: " + file +
			" is not a folder"},
		{"/nowhere/tmp", "--scratch-dir=/nowhere/scratch",
			"zarrfs: --scratch-dir /nowhere/scratch: no such file or directory"},
	} {
		args := []string{"mount", makeStore(t), t.TempDir()}
		if tc.flag != "" {
			args = append(args, tc.flag)
		}
		cmd := ourProgram(t, args...)
		cmd.Env = append(cmd.Env, "TMPDIR="+tc.tmpdir)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), tc.want) {
			t.Errorf("TMPDIR=%s %s: exit code %d: %s", tc.tmpdir, tc.flag,
				cmd.ProcessState.ExitCode(), out)
		}
	}
}
