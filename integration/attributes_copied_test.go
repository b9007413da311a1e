package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// needAttributes skips a test where the file system has no extended attributes of users.
func needAttributes(t *testing.T, dir string, tools ...string) {
	t.Helper()
	for _, tool := range append(tools, "setfattr") {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	if err := unix.Setxattr(dir, "user.kept", []byte("1"), 0); err != nil {
		t.Skipf("%s keeps no extended attributes: %v", dir, err)
	}
	unix.Removexattr(dir, "user.kept")
}

// tarAll is tar with all extended attributes.
const tarAll = `tar --xattrs --xattrs-include='*'`

// TestEditedBackupIsRestored copies arrays and groups out of the mount with all their extended
// attributes, edits the documents of the copy, and copies that back. The documents count.
func TestEditedBackupIsRestored(t *testing.T) {
	const (
		edited = `for n in ("a.json", "zarr.json", "g/zarr.json"):
	d = json.load(open(m + n)); assert d["attributes"] == want[n], (n, d["attributes"])
assert list(np.load(m + "a.npy")) == [0, 1, 2, 3]`
		untar = tarAll + ` -c -C b . | ` + tarAll + ` -x -C m`
		one   = `want["zarr.json"] = want["g/zarr.json"] = {"title": "old"}
`
	)
	formats(t, func(t *testing.T, format string) {
		for name, tc := range map[string]struct{ script, want string }{
			"cp":            {script: `cp -a b/. m/`},
			"cp anew":       {script: `rm -r m/a.* m/g; cp -a b/. m/`},
			"as it was":     {script: `for f in b/*.json; do cp $f z; cat z>$f; done; cp -a b/. m`},
			"mv":            {`mv b/a.json b/a.npy b/a.raw m/`, one},
			"mv it last":    {`mv b/a.npy b/a.raw b/a.json m/`, one},
			"mv one by one": {`mv b/a.json m/; mv b/a.npy m/; mv b/a.raw m/`, one},
			"mv anew":       {`rm m/a.*; mv b/a.npy b/a.json b/a.raw m/`, one},
			"tar":           {script: untar},
			"rsync":         {script: `rsync -aX b/ m/`},
			"rsync anew":    {script: `rm -r m/a.* m/g; rsync -aX b/ m/`},
			"tar anew":      {script: `rm -r m/a.* m/g; ` + untar},
			"tar in place":  {script: untar + " --overwrite"},
		} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				needAttributes(t, dir, "tar", "rsync")
				run(t, zarrfs(t), "create", filepath.Join(dir, "s"), "--group", "--format", format)
				mnt := mount(t, filepath.Join(dir, "s"))
				shell(t, dir, "ln -s "+mnt+" m")
				inPython(t, mnt, `np.save("a.npy", np.arange(4))
os.mkdir("g")
for n in ("a.npy", ".", "g"):
	os.setxattr(n, "user.zarr.attr.title", b"old")
	os.setxattr(n, "user.zarr.attr.gone", b"1")`)
				shell(t, dir, "cp -a m/. b")
				inPython(t, filepath.Join(dir, "b"), `
for n in ("a.json", "zarr.json", "g/zarr.json"):
	d = json.load(open(n)); d["attributes"] = {"title": "new"}
	json.dump(d, open(n, "w"))`)
				restore := tc.script
				if tc.want != "" {
					restore = `setfattr -x user.zarr.attr.gone m/ m/g; ` + restore
				}
				shell(t, dir, restore)
				inPython(t, dir, `m = "m/"
want = dict.fromkeys(("a.json", "zarr.json", "g/zarr.json"), {"title": "new"})
`+tc.want+edited)
				if out := run(t, zarrfs(t), "errors", mnt); !strings.HasPrefix(out, "no errors") {
					t.Errorf("the copies have left errors:\n%s", out)
				}
			})
		}
	})
}

// TestCopiedAttributes copies one file of an array, without the document, with all its extended
// attributes. The copy has the array's attributes. What a program sets itself counts, also if a
// document was copied just before.
func TestCopiedAttributes(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		dir := t.TempDir()
		needAttributes(t, dir, "tar", "rsync")
		run(t, zarrfs(t), "create", filepath.Join(dir, "s"), "--group", "--format", format)
		mnt := mount(t, filepath.Join(dir, "s"))
		inPython(t, mnt, `np.save("a.npy", np.arange(4))
os.setxattr("a.npy", "user.zarr.attr.units", b"K")`)
		shell(t, mnt, `cp -a a.npy b.npy; grep -q '"K"' b.json
			rsync -aX a.npy d.npy; grep -q '"K"' d.json
			cmp a.npy d.npy
			`+tarAll+` -c a.npy |`+"\n"+tarAll+` --transform s/a/e/ -x
			grep -q '"K"' e.json; cmp a.npy e.npy
			setfattr -n user.zarr.attr.units -v m e.npy
			rsync -aXI a.npy e.npy; grep -q '"K"' e.json
			cp -a a.json c.json
			setfattr -n user.zarr.attr.units -v psu c.npy; grep -q '"psu"' c.json`)
		inPython(t, mnt, `open("c.json", "w").write(open("a.json").read())
os.setxattr("c.json", "user.zarr.attr.units", b"m")
assert json.load(open("c.json"))["attributes"] == {"units": "m"}
import shutil, tempfile
saved = shutil.copy2("c.json", tempfile.mkdtemp(dir=os.path.dirname(os.getcwd())))
d = json.load(open(saved)); d["attributes"]["units"] = "edited"; json.dump(d, open(saved, "w"))
shutil.copy2(saved, "c.json")
assert json.load(open("c.json"))["attributes"] == {"units": "m"}`)
	})
}

// TestCopiedFilesTakeNoAttributes: rsync -X removes from each file and folder what its source does
// not have. A source outside of a mount has no attributes of Zarr, so nothing is removed for it.
// What another kind of program removes is gone.
func TestCopiedFilesTakeNoAttributes(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		dir := t.TempDir()
		needAttributes(t, dir, "rsync")
		run(t, zarrfs(t), "create", filepath.Join(dir, "s"), "--group", "--format", format,
			"--attributes", `{"title": "root"}`)
		mnt := mount(t, filepath.Join(dir, "s"))
		inPython(t, mnt, `np.save("a.npy", np.arange(4))
os.mkdir("../src"); np.save("../src/a.npy", -np.arange(4))
os.setxattr("a.npy", "user.zarr.attr.units", b"K")
os.setxattr("a.npy", "user.zarr.dimension_names", b'["x"]')
os.setxattr(".", "user.zarrfs.create.chunks", b"2")`)
		shell(t, mnt, `rsync -aXI ../src/ ./; rsync -aXI --inplace ../src/ ./
			cmp ../src/a.npy a.npy
			touch -r a.npy ../src/a.npy; rsync -aHAX ../src/ ./
			grep -q '"K"' a.json; grep -q '"x"' a.json; grep -q '"root"' zarr.json
			getfattr -n user.zarrfs.create.chunks . >/dev/null
			setfattr -x user.zarr.attr.units a.npy; ! grep -q '"K"' a.json`)
	})
}

// TestCopiesByPythonLeaveNoLine: Python's shutil tries to set all extended attributes of what it
// copies, and ignores those that are refused. They are not among the errors of the mount. What is
// set by hand is.
func TestCopiesByPythonLeaveNoLine(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		dir := t.TempDir()
		needAttributes(t, dir)
		store := filepath.Join(dir, "s")
		run(t, python(t, "ZARRFS_PY3", ".venv-v3"), "-c", `import sys, zarr, numpy as np
root = zarr.create_group(sys.argv[1], zarr_format=int(sys.argv[2]), attributes={"title": "x"})
group = root.create_group("g", attributes={"a": 1})
for name, data in {"n": np.arange(12.).reshape(3, 4), "s": np.array(["a", "", "bc"])}.items():
	a = group.create_array(name, shape=data.shape, chunks=(2,) * data.ndim, dtype=data.dtype
		if name == "n" else str, attributes={"units": "K"}, fill_value=-1 if name == "n" else "")
	a[...] = data`, store, format)
		mnt := mount(t, store)
		inPython(t, mnt, `import shutil
out = os.path.dirname(os.path.realpath(".")) + "/out" + str(os.getpid())
shutil.copytree("g", "h"); shutil.copytree(".", out); shutil.copytree(out, "back")
shutil.move(out + "/g", "moved"); shutil.move("moved", "again"); shutil.copy2("g/n.npy", "n.npy")
shutil.rmtree(out)
for g in "h", "back/g", "again":
	for n in os.listdir("g"):
		assert open(g + "/" + n, "rb").read() == open("g/" + n, "rb").read(), (g, n)`)
		if errs := run(t, zarrfs(t), "errors", mnt); !strings.Contains(errs, "no errors") {
			t.Errorf("after the copies:\n%s", errs)
		}
		err := unix.Setxattr(filepath.Join(mnt, "g/n.npy"), "user.zarr.shape", []byte("[1]"), 0)
		errs := run(t, zarrfs(t), "errors", mnt)
		if err != unix.EPERM || !strings.Contains(errs, "user.zarr.shape follows from") {
			t.Errorf("a shape that is set: %v\n%s", err, errs)
		}
	})
}

// TestMadeByMknod makes files of the mount by mknod(2), as tar does that sets extended attributes.
// Each is empty until it is written.
func TestMadeByMknod(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		mnt := mount(t, replacedStore(t, format))
		inPython(t, mnt, `import stat
text = open("a.json").read(); raw = open("a.raw", "rb").read()
os.mknod("new.json", stat.S_IFREG | 0o644); open("new.json", "r+").write(text)
assert open("new.json").read() == text
os.mknod("note.txt"); open("note.txt", "w").write("x"); os.remove("note.txt")
os.remove("a.json"); os.mknod("a.json"); assert os.stat("a.json").st_size == 0
open("a.json", "r+").write(json.dumps(json.loads(text)))
assert json.load(open("a.json")) == json.loads(text) and open("a.raw", "rb").read() == raw
for make in (lambda: os.mkfifo("p"), lambda: os.mknod("b.json")):
	try: make()
	except OSError: pass
	else: raise AssertionError("it was made")`)
	})
}

// nonFinite are attributes with NaN, infinities, and strings that read like them.
const nonFinite = `{"missing": float("nan"), "range": [-float("inf"), {"top/~": float("inf")}],
	"text": "NaN", "texts": ["Infinity", float("inf")], "units": "K"}`

// TestCopiesKeepNaN copies arrays and groups with such attributes, as Python writes them. The
// copies have numbers where the original has them, and strings where it has those.
func TestCopiesKeepNaN(t *testing.T) {
	const edit = `import json, os
d = json.load(open("m/a.json")); d["attributes"]["units"] = "m"
json.dump(d, open("m/a.json", "w")); os.system("cp m/a.json m/c.json")
d["attributes"]["units"] = "K"; json.dump(d, open("m/c.json", "w"))`
	formats(t, func(t *testing.T, format string) {
		other := map[string]string{"2": "3", "3": "2"}[format]
		for name, tc := range map[string]struct{ script, copies string }{
			"document":      {`cp m/a.json m/c.json; cp m/a.npy m/c.npy`, "s/c"},
			"over another":  {`cp m/d.npy m/c.npy; cp m/a.json m/c.json`, "s/c"},
			"over strings":  {`cp m/d.json m/c.json; cp m/a.json m/c.json`, "s/c"},
			"tree":          {`cp -r m/. m2/`, "s2/a s2"},
			"other format":  {`cp -r m/. m3/`, "s3/a s3"},
			"all of a file": {`cp -a m/a.npy m/c.npy`, "s/c"},
			"by way of tar": {tarAll + ` -c -C m . | tar -x -C m2`, "s2/a s2"},
			"edited":        {"python3 -c '" + edit + "'", "s/c"},
			"backup":        {`cp m/a.json b; rm m/a.*; cp b m/a.json`, "s/a"},
			"put back":      {`cp m/a.json b; cp m/d.json m/a.json; cp b m/a.json`, "s/a"},
		} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				needAttributes(t, dir, "tar")
				peer := python(t, "ZARRFS_PY"+format, ".venv-v"+format)
				run(t, peer, "-c", `import sys, zarr
g = zarr.open_group(sys.argv[1], mode="w")
g.attrs.update(`+nonFinite+`)
make = getattr(g, "create_array", None) or g.create_dataset
make("a", shape=(2, 3), chunks=(1, 2), dtype="<i8").attrs.update(`+nonFinite+`)
make("d", shape=(2, 3), chunks=(1, 2), dtype="<i8").attrs.update({"missing": "NaN",
	"range": ["-Infinity", {"top/~": "Infinity"}], "text": float("nan"), "texts": ["Infinity"] * 2,
	"units": "K"})`, filepath.Join(dir, "s"))
				for at, format := range map[string]string{"": "", "2": format, "3": other} {
					store := filepath.Join(dir, "s"+at)
					if format != "" {
						run(t, zarrfs(t), "create", store, "--group", "--format", format)
					}
					shell(t, dir, "ln -s "+mount(t, store)+" m"+at)
				}
				shell(t, dir, tc.script)
				shell(t, dir, "! grep -r non_finite s s2 s3")
				for _, copied := range strings.Fields(tc.copies) {
					checkNonFinite(t, format, filepath.Join(dir, copied))
				}
			})
		}
	})
}

// checkNonFinite reads attributes by zarr-python.
func checkNonFinite(t *testing.T, format, path string) {
	t.Helper()
	peer := python(t, "ZARRFS_PY3", ".venv-v3")
	if format == "2" && !strings.Contains(path, "s3") {
		peer = python(t, "ZARRFS_PY2", ".venv-v2")
	}
	run(t, peer, "-c", `import sys, zarr
want, have = `+nonFinite+`, dict(zarr.open(sys.argv[1], mode="r").attrs)
assert sorted(have) == sorted(want), have
assert repr(have) == repr({key: want[key] for key in have}), have`, path)
}

// TestAccessListsAreRefused sets access lists and labels. Each program gets the reason once, and
// the array has no error. A program that copies labels leaves no line.
func TestAccessListsAreRefused(t *testing.T) {
	const list = "0200000001000600ffffffff02000400e803000004000400ffffffff" +
		"10000400ffffffff20000400ffffffff"
	dir := t.TempDir()
	needAttributes(t, dir, "python3", "cp")
	store := filepath.Join(dir, "s")
	run(t, zarrfs(t), "create", store, "--group")
	for _, name := range []string{"a", "b"} {
		run(t, zarrfs(t), "create", store, name, "--shape", "3", "--dtype", "f4")
	}
	mnt := mount(t, store)
	shell(t, mnt, `! setfattr -n system.posix_acl_access -v 0x`+list+` a.npy 2>/dev/null
		python3 -c '
import os
for name in ("b.npy", "b.raw", "a.npy", "a.raw"):
	try: os.setxattr(name, "system.posix_acl_access", bytes.fromhex("`+list+`"))
	except OSError: continue
	raise SystemExit("set")'`)
	out := run(t, zarrfs(t), "errors", mnt)
	if n := strings.Count(out, "access lists, labels and capabilities are not kept"); n != 2 {
		t.Errorf("%d reasons, expected one of setfattr and one of python3:\n%s", n, out)
	}
	if unix.Setxattr(dir, "trusted.note", []byte("1"), 0) == nil { // as root
		shell(t, dir, `cp `+mnt+`/a.npy x; setfattr -n trusted.note -v 1 x; cp -a x `+mnt+`/c.npy`)
	}
	if now := run(t, zarrfs(t), "errors", mnt); now != out {
		t.Errorf("a copy of labels leaves\n%s", now)
	}
	for _, name := range []string{"a.npy", "b.raw"} {
		path := filepath.Join(mnt, name)
		if _, err := unix.Getxattr(path, "user.zarrfs.error", nil); err != unix.ENODATA {
			t.Errorf("%s has an error: %v", name, err)
		}
	}
}
