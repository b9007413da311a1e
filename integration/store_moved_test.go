package integration

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoreMovedUnderItsMount renames the folder of a store that is mounted, and then changes and
// reads the mount in all ways. A mount holds its store's folder, wherever that is. So all goes on
// in the renamed folder. What was written before, and is not stored yet, is stored there.
func TestStoreMovedUnderItsMount(t *testing.T) {
	need(t, "setfattr")
	py := absolute(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	for _, format := range []string{"2", "3"} {
		store, tmp := libraryStore(t, format), t.TempDir()
		moved := filepath.Join(t.TempDir(), "moved.zarr")
		put(t, tmp, "bytes", "12345678")
		run(t, py, "-c", `import numpy as n, sys
n.save(sys.argv[1], n.arange(12.).reshape(3, 4))`, tmp+"/x.npy")
		d := started(t, store)
		shell(t, d.dir, `cp `+tmp+`/x.npy rows.npy; mkdir dir
			for f in gone old g/in; do cp rows.npy $f.npy; done`)
		dirty, err := os.OpenFile(d.path("rows.raw"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dirty.WriteAt(make([]byte, 8), 8); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(store, moved); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dirty.Sync(), dirty.Close()); err != nil {
			t.Errorf("what was written before is not stored: %v", err)
		}
		shell(t, d.dir, `
			test "$(ls -d *.npy dir g | tr '\n' ' ')" = "a.npy dir g gone.npy old.npy rows.npy "
			cmp old.npy `+tmp+`/x.npy; test "$(stat -c %s old.raw)" = 96
			mkdir made; cp `+tmp+`/x.npy made/c.npy; cp -r made again; cp `+tmp+`/x.npy new.npy
			cat `+tmp+`/bytes `+tmp+`/bytes `+tmp+`/bytes `+tmp+`/bytes >> rows.raw
			dd if=`+tmp+`/bytes of=g/in.raw bs=8 seek=1 conv=notrunc,fsync status=none
			rm gone.*; mv old.npy renamed.npy; mv g/in.npy in.npy; rmdir dir; ln -s new.npy link.npy
			setfattr -n user.zarr.attr.units -v '"m"' a.npy
			echo '{"attributes": {"title": "now"}}' > zarr.json
			echo text > notes.txt; test "$(cat notes.txt)" = text; rm notes.txt
			truncate -s 64 new.raw`)
		run(t, py, "-c", `import numpy, sys; d = sys.argv[1]
numpy.save(d + "/saved.npy", numpy.ones(3))
a = numpy.load(d + "/renamed.npy", "r+"); a[0] = 7; a.flush()
f = open(d + "/made/c.npy", "r+b"); f.seek(-8, 2); f.write(bytes(8)); f.close()`, d.dir)
		if errs := run(t, zarrfs(t), "errors", d.dir); !strings.Contains(errs, "no errors") {
			t.Errorf("format %s: zarrfs errors prints\n%s", format, errs)
		}
		if err := d.stop(); err != nil {
			t.Errorf("format %s: %v\n%s", format, err, d.logged())
		}
		if _, err := os.Lstat(store); !os.IsNotExist(err) {
			t.Errorf("format %s: something has the store's old name: %v", format, err)
		}
		checkMoved := limited(t, py, "-c", `import zarr, numpy as n, sys
r = zarr.open_group(sys.argv[1], mode="r")
found = set(r.keys()) - {"link"}
assert found == {"a", "again", "g", "in", "made", "new", "renamed", "rows", "saved"}, found
x = n.arange(12.).reshape(3, 4)
def same(name, want): assert n.array_equal(r[name][:], want), (name, r[name][:])
x.flat[1] = 0; same("rows", n.vstack([x, n.frombuffer(b"12345678" * 4)])); x.flat[1] = 1
part = x.copy(); part.flat[1] = n.frombuffer(b"12345678")[0]; same("in", part)
first = x.copy(); first[0] = 7; same("renamed", first)
last = x.copy(); last[2, 3] = 0; same("made/c", last)
same("again/c", x); same("new", x[:2]); same("saved", n.ones(3))
assert r["a"].attrs["units"] == "m" and r.attrs["title"] == "now", dict(r.attrs)`, moved)
		if out, err := checkMoved.CombinedOutput(); err != nil {
			t.Errorf("format %s: %v\n%s", format, err, out)
		}
	}
}
