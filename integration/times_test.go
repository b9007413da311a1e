package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Programs that copy only what has changed, as rsync, cp -u, find -newer, tar and make do, compare
// modification times. These tests hold that each change moves the time of the views that show it.

// A timedArray is how an array of int32 is stored, by the flags of zarrfs create.
type timedArray struct {
	name, shape, chunks string
	format              string
	size, chunk         int64  // bytes of the array, and of its first chunk
	other               string // index of a chunk, in Python, that another program changes
}

var timedArrays = []timedArray{
	{"few objects, format 3", "40", "10", "3", 160, 40, "20:30"},
	{"few objects, format 2", "40", "10", "2", 160, 40, "20:30"},
	{"many objects, format 3", "5000", "1", "3", 20000, 4, "4321"},
	{"many objects, format 2", "5000", "1", "2", 20000, 4, "4321"},
	{"few objects in directories", "4,4,4", "1,2,4", "3", 256, 32, "2, 2:4"},
	{"many objects in directories", "1000,5", "1,1", "3", 20000, 4, "432, 1"},
}

// store returns the path of a store with the array x, in which each element is 1.
func (a timedArray) store(t *testing.T, interpreter string) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "s")
	run(t, zarrfs(t), "create", store, "x", "--dtype", "int32",
		"--shape", a.shape, "--chunks", a.chunks, "--format", a.format)
	a.assign(t, interpreter, store, "...", 1)
	return store
}

// assign has zarr-python set elements of x.
func (a timedArray) assign(t *testing.T, interpreter, store, index string, value int) {
	t.Helper()
	const script = "import zarr; zarr.open(%q, mode='r+')[%s] = %d"
	run(t, interpreter, "-c", fmt.Sprintf(script, store+"/x", index, value))
}

// modified returns the time of a file.
func modified(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// TestEveryChangeMovesTheTime: a change is later than all times that were shown before it, at once
// and in the next mount. It is made by this mount, or by zarr-python while nothing is mounted.
func TestEveryChangeMovesTheTime(t *testing.T) {
	interpreter := python(t, "ZARRFS_PY3", ".venv-v3")
	for _, a := range timedArrays {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			store := a.store(t, interpreter)
			changes := []struct {
				name   string
				inside func(raw string) error // nil: by zarr-python
				value  int
			}{
				{"a write", write(a.chunk, "abcd"), 0},
				{"a second write", write(a.chunk, "efgh"), 0},
				{"a write that sets times", writeAndSetTimes(a.chunk, "ijkl"), 0},
				{"a write of the fill value", write(0, strings.Repeat("\x00", int(a.chunk))), 0},
				{"zarr-python writes a chunk", nil, 7},
				{"zarr-python deletes a chunk", nil, 0},
				{"truncate", truncate(a.size / 2), 0},
				{"extend", truncate(a.size), 0},
				{"truncate an open file", truncateOpen(a.size/2, 0), 0},
				{"open and truncate", truncateOpen(0, os.O_TRUNC), 0},
				{"extend an open file", truncateOpen(a.size, 0), 0},
			}
			var last time.Time
			for _, c := range changes {
				m := mountOnce(t, store)
				raw := filepath.Join(m.dir, "x.raw")
				before := modified(t, raw)
				if before.Before(last) {
					t.Errorf("before %s: it was %v, and is %v in a new mount", c.name, last, before)
				}
				if c.inside != nil {
					if err := c.inside(raw); err != nil {
						t.Fatal(err)
					}
					last = modified(t, raw)
				}
				m.end()
				if c.inside == nil {
					a.assign(t, interpreter, store, a.other, c.value)
					last = before.Add(1)
				}
				if !last.After(before) {
					t.Errorf("%s: the time stays at %v", c.name, before)
				}
				m = mountOnce(t, store)
				after := modified(t, filepath.Join(m.dir, "x.npy"))
				if !after.After(before) || after.Before(last) {
					t.Errorf("%s: it was %v, then %v, and is %v in a new mount",
						c.name, before, last, after)
				}
				m.end()
			}
		})
	}
}

func write(off int64, data string) func(raw string) error {
	return func(raw string) error { return writeAt(raw, []byte(data), off) }
}

// writeAndSetTimes sets the times of a file after it has written it and before it closes it, as `cp
// -p` does.
func writeAndSetTimes(off int64, data string) func(raw string) error {
	return func(raw string) error {
		f, err := os.OpenFile(raw, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte(data), off)
		old := []unix.Timespec{{Sec: 1 << 30}, {Sec: 1 << 30}}
		set := unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprint("/proc/self/fd/", f.Fd()), old, 0)
		return errors.Join(err, set, f.Close())
	}
}

func truncate(size int64) func(raw string) error {
	return func(raw string) error { return os.Truncate(raw, size) }
}

// truncateOpen is truncate by way of a descriptor, as truncate(1) and shells do it.
func truncateOpen(size int64, flags int) func(raw string) error {
	return func(raw string) error {
		f, err := os.OpenFile(raw, os.O_WRONLY|flags, 0)
		if err != nil {
			return err
		}
		if flags&os.O_TRUNC == 0 {
			err = f.Truncate(size)
		}
		return errors.Join(err, f.Close())
	}
}

// onceMounted is a mount that ends before the test does.
type onceMounted struct {
	dir string
	end func()
}

func mountOnce(t *testing.T, store string) onceMounted {
	t.Helper()
	bin, dir := zarrfs(t), t.TempDir()
	run(t, bin, "mount", store, dir)
	return onceMounted{dir, func() { unmount(t, dir) }}
}

// TestTimesNeverGoBack: while objects are counted, stored, and deleted by another program, the time
// of a view grows or stays. So it does where the whole array is replaced by an older one.
func TestTimesNeverGoBack(t *testing.T) {
	interpreter := python(t, "ZARRFS_PY3", ".venv-v3")
	for _, a := range timedArrays[:3] {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			store := a.store(t, interpreter)
			older := filepath.Join(t.TempDir(), "x")
			run(t, "cp", "-a", store+"/x", older)
			raw := filepath.Join(mount(t, store), "x.raw")
			last := modified(t, raw)
			grows := func(what string, isOther bool) {
				t.Helper()
				before := last
				for range 20 {
					now := modified(t, raw)
					if now.Before(last) {
						t.Errorf("%s: the time went back from %v to %v", what, last, now)
					}
					last = now
					time.Sleep(50 * time.Millisecond)
				}
				if isOther && !last.After(before) {
					t.Errorf("%s: the time stays at %v", what, last)
				}
			}
			grows("counting", false)
			if err := writeAt(raw, []byte("abcd"), a.size-4); err != nil {
				t.Fatal(err)
			}
			grows("a write", true)
			a.assign(t, interpreter, store, "...", 0)
			grows("zarr-python deletes all chunks", true)
			if err := os.RemoveAll(store + "/x"); err != nil {
				t.Fatal(err)
			}
			run(t, "cp", "-a", older, store+"/x")
			before := last
			grows("an older array comes in its place", false)
			isSmall := a.chunks != "1"              // many objects are counted less often
			deadline := time.Now().Add(time.Minute) // a count is kept for 10 s or longer
			for isSmall && !last.After(before) && time.Now().Before(deadline) {
				grows("an older array is counted", false)
			}
			if isSmall && !last.After(before) {
				t.Errorf("an older array came in its place: the time stays at %v", before)
			}
		})
	}
}

// attributesEdits are edits of the attributes of a.npy, in the mount m.
var attributesEdits = map[string]string{
	"setfattr": "setfattr -n user.zarr.attr.u -v 1 m/a.npy",
	"sed":      `sed -i 's/"attributes": {}/"attributes": {"u": 1}/' m/a.json`,
	"cp -u": `sed -i 's/"attributes": {}/"attributes": {"u": 1}/' b/a.json
		sleep 0.01; cp -u b/a.json m/`,
}

// TestAttributesLeaveTheTimeOfData: an edit of attributes moves the time of the document and of no
// other view, now and in the next mount. So cp -u copies data that was saved before the edit.
func TestAttributesLeaveTheTimeOfData(t *testing.T) {
	need(t, "setfattr")
	interpreter := python(t, "ZARRFS_PY3", ".venv-v3")
	for _, format := range []string{"2", "3"} {
		for name, edit := range attributesEdits {
			t.Run("format "+format+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				defer command("fusermount3", "-u", "-z", filepath.Join(dir, "m"))
				script := fmt.Sprintf(attributesScript, edit)
				run(t, "sh", "-ec", script, zarrfs(t), interpreter, dir, format)
			})
		}
	}
}

const attributesScript = `
cd "$2"; mkdir m; "$0" create s --group --format "$3"; "$0" mount s m
"$1" -c 'import numpy as np; np.save("m/a.npy", np.arange(10))'
cp -r m b; sleep 0.1
shown() { stat -c %%.9Y m/a.npy m/a.raw; }
shown > data; stat -c %%.9Y m/a.json > document
"$1" -c 'import numpy as np; np.save("b/a.npy", np.arange(10) + 100)'
sleep 0.1
%s
sleep 1.1
shown | diff data -
grep -q '"u": 1' m/a.json
if stat -c %%.9Y m/a.json | diff -q document -; then
	echo "the time of the document stays"; exit 1
fi
"$0" umount m; "$0" mount s m
shown | diff data -
cp -u b/a.npy m/
cmp b/a.npy m/a.npy
"$0" umount m`

// TestWritesLeaveTheTimeOfTheRoot: what is written far below the root changes nothing in it. tar
// fails with "file changed as we read it" where the time of a folder moves meanwhile.
func TestWritesLeaveTheTimeOfTheRoot(t *testing.T) {
	store := libraryStore(t, "3")
	mnt := mount(t, store)
	shell(t, mnt, "cp a.npy g/b.npy")
	staged := func() bool {
		found, err := filepath.Glob(filepath.Join(store, ".zarrfs-*"))
		return err != nil || len(found) > 0
	}
	soon := func() {
		for until := time.Now().Add(10 * time.Second); staged() && time.Now().Before(until); {
			time.Sleep(20 * time.Millisecond)
		}
	}
	soon()
	want := modified(t, store)
	shell(t, mnt, "head -c 24 /dev/urandom > g/b.raw; cp a.npy g/c.npy")
	if now := modified(t, store); !now.Equal(want) {
		t.Errorf("after a write in g the root has the time %s, expected %s", now, want)
	}
	soon()
	if now := modified(t, mnt); !now.Equal(want) || staged() {
		t.Errorf("a while later the root has the time %s, expected %s", now, want)
	}
}
