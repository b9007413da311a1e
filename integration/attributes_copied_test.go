package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// needAttributes skips a test where the folder keeps no extended attributes of users.
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
					t.Errorf("the copies left errors:\n%s", out)
				}
			})
		}
	})
}

// TestCopiedAttributes copies one file of an array, without the document, with all its extended
// attributes. The copy has the array's attributes. A program that sets them itself is obeyed, also
// if a document was copied just before.
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
