package integration

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// This test is the script of `make everyday`: commands of people who have not read our documents,
// each in a mount of its own, on both formats. Afterwards the store is mounted again and compared
// with what should be in it, by the mount and by zarr-python.

// Sources of the commands, in $SRC: new.npy and new.raw have the shape and type of the array a,
// other.npy has other ones.
const everydaySources = `
import os, numpy as np
old = np.arange(40, dtype="<i2").reshape(10, 4)
np.save("old.npy", old)
np.save("new.npy", -old)
np.save("other.npy", np.linspace(0, 1, 6))
(-old).tofile("new.raw")
os.makedirs("tree")
np.save("tree/a.npy", -old)
np.save("tree/c.npy", np.linspace(0, 1, 6))
`

// Contents of an array of the store: the bytes of these files.
const (
	old   = "old.npy"
	fresh = "new.npy"
	other = "other.npy"
)

// everydayArray is what an array should be: the content of a file of $SRC, and its attribute units,
// "" for none.
type everydayArray struct{ content, units string }

// everydayStore is what a store should hold: arrays by path, and groups by path with nothing else.
type everydayStore map[string]everydayArray

// with returns the store with other arrays in place of those that are named; an array without
// content is missing.
func (s everydayStore) with(others everydayStore) everydayStore {
	s = maps.Clone(s)
	for path, a := range others {
		if s[path] = a; a.content == "" {
			delete(s, path)
		}
	}
	return s
}

// everydayMapping removes a file and maps a new one, as numpy.memmap does with mode w+: it extends
// a file that is too short.
const everydayMapping = `python3 -c '
import os, mmap
new = open(os.environ["SRC"] + "/new.raw", "rb").read()
os.remove("a.raw")
f = open("a.raw", "w+b")
if f.seek(0, 2) < len(new):
    f.seek(len(new) - 1); f.write(bytes(1)); f.flush()
mmap.mmap(f.fileno(), len(new))[:] = new'`

// before is the store before a command: an array with attributes, chunks and codecs that no new
// array has, and a group of two others.
var before = everydayStore{"a": {old, "K"}, "g/b": {old, "m"}, "g/sub/c": {old, ""}}

// everydayCommands are the commands, run in the mount, and what the store holds afterwards.
var everydayCommands = []struct {
	script string
	after  everydayStore
	views  string // of the mount; "": all
}{
	// One view is replaced.
	{script: `jq '.attributes.units = "cm"' a.json > $TMP/x && mv $TMP/x a.json`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `jq '.attributes.units = "cm"' a.json > $TMP/x && install -m 644 $TMP/x a.json`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `jq '.attributes.units = "cm"' a.json > $TMP/x && cp --remove-destination ` +
		`$TMP/x a.json`, after: everydayStore{"a": {old, "cm"}}},
	{script: `jq '.attributes.units = "cm"' a.json > a.tmp && mv a.tmp a.json`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `jq '.attributes.units = "cm"' a.json > b.json && mv b.json a.json`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `jq '.attributes.units = "cm"' a.json > .b.json && mv -f .b.json a.json`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `cp a.json b.json; sed -i 's/"K"/"cm"/' a.json; mv b.json a.json`,
		after: everydayStore{"a": {old, "K"}}},
	{script: `mkdir bk; cp a.json bk; sed -i 's/"K"/"cm"/' a.json; mv bk/a.json . && rmdir bk`,
		after: everydayStore{"a": {old, "K"}}},
	{script: `python3 -c 'import os; t = open("a.json").read(); open("b.json", ` +
		`"w").write(t.replace("\"K\"", "\"cm\"")); os.replace("b.json", "a.json")'`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `jq '.attributes.units = "cm"' a.json > $TMP/a.json && tar -C $TMP -cf $TMP/t.tar ` +
		`a.json && tar -xf $TMP/t.tar`, after: everydayStore{"a": {old, "cm"}}},
	{script: `jq '.attributes.units = "cm"' a.json > $TMP/a.json && (cd $TMP && zip -q t.zip ` +
		`a.json) && unzip -qo $TMP/t.zip`, after: everydayStore{"a": {old, "cm"}}},
	{script: `python3 -c 'import os; t = open("a.json").read(); os.remove("a.json"); ` +
		`open("a.json", "w").write(t.replace("\"K\"", "\"cm\""))'`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `sed -i 's/"K"/"cm"/' a.json`, after: everydayStore{"a": {old, "cm"}}},
	{script: `perl -pi -e 's/"K"/"cm"/' a.json`, after: everydayStore{"a": {old, "cm"}}},
	{script: `perl -pi.bak -e 's/"K"/"cm"/' a.json; rm a.json.bak`,
		after: everydayStore{"a": {old, "cm"}}},
	{script: `vim -es -c '%s/"K"/"cm"/' -c wq a.json`, after: everydayStore{"a": {old, "cm"}}},
	{script: `cp $SRC/new.raw $TMP/t.raw && mv $TMP/t.raw a.raw`,
		after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp $SRC/new.npy $TMP/n.npy && mv $TMP/n.npy a.npy`,
		after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp $SRC/other.npy $TMP/n.npy && mv $TMP/n.npy a.npy`,
		after: everydayStore{"a": {other, "K"}}},
	{script: `cp $SRC/new.npy t.npy && mv t.npy a.npy`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp $SRC/other.npy t.npy; mv -f t.npy a.npy`, after: everydayStore{"a": {other, "K"}}},
	{script: `cp $SRC/new.npy n.npy && python3 -c 'import os; os.replace("n.npy", "a.npy")'`,
		after: everydayStore{"a": {fresh, "K"}}},
	{script: `install $SRC/new.npy a.npy`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `install $SRC/new.raw a.raw`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp --remove-destination $SRC/new.npy a.npy`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp --remove-destination $SRC/new.raw a.raw`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp $SRC/new.npy a.npy`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp $SRC/new.raw a.raw`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `cp -f $SRC/other.npy a.npy`, after: everydayStore{"a": {other, "K"}}},
	{script: `tar -C $SRC/tree -cf $TMP/t.tar a.npy && tar -xf $TMP/t.tar`,
		after: everydayStore{"a": {fresh, "K"}}},
	{script: `bsdtar -C $SRC/tree -cf $TMP/t.tar a.npy && bsdtar -xf $TMP/t.tar`,
		after: everydayStore{"a": {fresh, "K"}}},
	{script: `(cd $SRC/tree && zip -q $TMP/t.zip a.npy) && unzip -qo $TMP/t.zip`,
		after: everydayStore{"a": {fresh, "K"}}},
	{script: `rsync -a $SRC/new.npy a.npy && rsync -a $SRC/new.npy a.npy`,
		after: everydayStore{"a": {fresh, "K"}}},
	{script: `rsync -a --inplace $SRC/new.raw a.raw`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `python3 -c 'import os, shutil; os.remove("a.npy"); shutil.copy(os.environ["SRC"] + ` +
		`"/new.npy", "a.npy")'`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `python3 -c 'import os, shutil; os.remove("a.raw"); shutil.copy(os.environ["SRC"] + ` +
		`"/new.raw", "a.raw")'`, after: everydayStore{"a": {fresh, "K"}}},
	{script: `rm a.npy; cp $SRC/new.npy a.npy`, after: everydayStore{"a": {fresh, "K"}}},
	{script: everydayMapping, after: everydayStore{"a": {fresh, "K"}}},
	{script: `rm a.raw; touch a.raw`, after: everydayStore{"a": {old, "K"}}},
	{script: `rm a.npy; touch a.npy; rm a.json; touch a.json`},
	{script: `jq '.attributes.title = "x"' zarr.json > $TMP/x && mv $TMP/x zarr.json`},
	{script: `jq '.attributes.units = "cm"' g/zarr.json > $TMP/x && install $TMP/x g/zarr.json`},

	// One view goes, the array stays.
	{script: `rm *.raw g/*.raw; rm g/sub/*.raw; [ ! -e a.raw ] && [ -e a.npy ]`},
	{script: `rm -f *.npy`},
	{script: `find . -name '*.raw' -delete; [ -z "$(find . -name '*.raw')" ]`},
	{script: `find . -name '*.npy' -exec rm {} +`},
	{script: `mv a.raw $TMP/`},
	{script: `mv a.json $TMP/ && mv $TMP/a.json .`},
	{script: `python3 -c 'import os; os.remove("a.json"); os.unlink("a.raw")'; ls a.npy`},
	{script: `rsync -a --remove-source-files a.npy g/b.raw $TMP/`},
	{script: `rsync -a --delete $SRC/tree/ ./`,
		after: everydayStore{"a": {fresh, "K"}, "c": {other, ""}, "g/b": {}, "g/sub/c": {}}},
	{script: `rsync -a --delete-after $SRC/tree/ ./ && rsync -a --delete $SRC/tree/ ./`,
		after: everydayStore{"a": {fresh, "K"}, "c": {other, ""}, "g/b": {}, "g/sub/c": {}}},
	{script: `rsync -a --delete-before --exclude=g $SRC/tree/ ./`,
		after: everydayStore{"a": {fresh, "K"}, "c": {other, ""}}},
	{script: `rm a.raw; mv a.npy z.npy; [ ! -e z.raw ]`,
		after: everydayStore{"a": {}, "z": {old, "K"}}},
	{script: `rm g/b.json; mv g h; [ ! -e h/b.json ]; cmp h/b.npy $SRC/old.npy`,
		after: everydayStore{"g/b": {}, "g/sub/c": {}, "h/b": {old, "m"}, "h/sub/c": {old, ""}}},

	// The whole array goes, or moves.
	{script: `rm a.*`, after: everydayStore{"a": {}}},
	{script: `rm a.npy a.json a.raw`, after: everydayStore{"a": {}}},
	{script: `rm a.raw; rm a.json; rm a.npy; [ ! -e a.npy ]`, after: everydayStore{"a": {}}},
	{script: `rm -r g`, after: everydayStore{"g/b": {}, "g/sub/c": {}}},
	{script: `rm g/b.raw; rm -rf g`, after: everydayStore{"g/b": {}, "g/sub/c": {}}},
	{script: `find g -delete`, after: everydayStore{"g/b": {}, "g/sub/c": {}}},
	{script: `python3 -c 'import shutil; shutil.rmtree("g")'`,
		after: everydayStore{"g/b": {}, "g/sub/c": {}}},
	{script: `mv a.* $TMP/; cmp $TMP/a.npy $SRC/old.npy`, after: everydayStore{"a": {}}},
	{script: `mv a.npy z.npy`, after: everydayStore{"a": {}, "z": {old, "K"}}},
	{script: `mv a.json z.json; cmp z.npy $SRC/old.npy`,
		after: everydayStore{"a": {}, "z": {old, "K"}}},
	{script: `mv a.* g/; ls g/a.npy g/a.raw g/a.json; cmp g/a.npy $SRC/old.npy`,
		after: everydayStore{"a": {}, "g/a": {old, "K"}}},
	{script: `mv a.raw a.npy a.json g/sub/`, after: everydayStore{"a": {}, "g/sub/a": {old, "K"}}},
	{script: `mv -n a.* g/ && mv -f g/b.* .`,
		after: everydayStore{"a": {}, "g/a": {old, "K"}, "g/b": {}, "b": {old, "m"}}},
	{script: `busybox mv a.* g/`, after: everydayStore{"a": {}, "g/a": {old, "K"}}},
	{script: `mv g h`,
		after: everydayStore{"g/b": {}, "g/sub/c": {}, "h/b": {old, "m"}, "h/sub/c": {old, ""}}},
	{script: `mv g/b.npy a.npy`, after: everydayStore{"a": {old, "m"}, "g/b": {}}},
	{script: `rm a.npy; mv g/b.npy a.npy`, after: everydayStore{"a": {old, "m"}, "g/b": {}}},
	{script: `mv g $TMP/; mv $TMP/g .`},

	// Trees are copied, twice.
	{script: `cp -r g $TMP/; cp -r $TMP/g h; cp -r $TMP/g/. h`,
		after: everydayStore{"h/b": {old, "m"}, "h/sub/c": {old, ""}}},
	{script: `cp -rn g h; cp -rn g/. h`,
		after: everydayStore{"h/b": {old, "m"}, "h/sub/c": {old, ""}}},
	{script: `tar -cf $TMP/t.tar g; rm -r g; tar -xf $TMP/t.tar; tar -xf $TMP/t.tar`},
	{script: `tar -cf $TMP/t.tar g a.json a.npy; cp $SRC/new.raw a.raw; tar -xf $TMP/t.tar`},
	{script: `tar -cf $TMP/t.tar a.npy a.raw a.json; rm a.*; cp $SRC/old.npy a.npy; ` +
		`tar -xf $TMP/t.tar`},
	{script: `bsdtar -cf $TMP/t.tar g; bsdtar -xf $TMP/t.tar; rm -r g; bsdtar -xf $TMP/t.tar`},
	{script: `zip -qr $TMP/t.zip g; unzip -qo $TMP/t.zip; rm -r g; unzip -q $TMP/t.zip`},
	{script: `rsync -a g/ h/; rsync -a g/ h/; rsync -a --delete g/ h/`,
		after: everydayStore{"h/b": {old, "m"}, "h/sub/c": {old, ""}}},

	// One view is listed: it goes with its array, and a program that replaces it keeps the
	// attributes.
	{views: "npy", script: `rm a.npy`, after: everydayStore{"a": {}}},
	{views: "npy", script: `rm a.raw a.json; cmp a.npy $SRC/old.npy`},
	{views: "npy", script: `cp $SRC/new.npy $TMP/n.npy && mv $TMP/n.npy a.npy`,
		after: everydayStore{"a": {fresh, "K"}}},
	{views: "npy", script: `install $SRC/other.npy a.npy`, after: everydayStore{"a": {other, "K"}}},
	{views: "npy", script: `tar -C $SRC/tree -cf $TMP/t.tar a.npy && tar -xf $TMP/t.tar`,
		after: everydayStore{"a": {fresh, "K"}}},
	{views: "npy", script: `python3 -c 'import os, shutil; os.remove("a.npy"); ` +
		`shutil.copy(os.environ["SRC"] + "/new.npy", "a.npy")'`,
		after: everydayStore{"a": {fresh, "K"}}},
	{views: "npy", script: `rm a.npy; cp $SRC/new.npy a.npy`,
		after: everydayStore{"a": {fresh, ""}}},
	{views: "npy", script: `rm -r g`, after: everydayStore{"g/b": {}, "g/sub/c": {}}},
	{views: "raw", script: `cp $SRC/new.raw $TMP/t.raw && mv $TMP/t.raw a.raw`,
		after: everydayStore{"a": {fresh, "K"}}},
	{views: "raw", script: everydayMapping, after: everydayStore{"a": {fresh, "K"}}},
	{views: "json,raw", script: `rm a.raw; cp $SRC/new.raw a.raw; rm g/b.json g/b.raw`,
		after: everydayStore{"a": {fresh, "K"}, "g/b": {}}},
}

// TestEveryday runs the commands.
func TestEveryday(t *testing.T) {
	need(t, "python3")
	src := t.TempDir()
	interpreter := python(t, "ZARRFS_PY3", ".venv-v3")
	out, err := limited(t, interpreter, "-c",
		"import os; os.chdir("+fmt.Sprintf("%q", src)+")\n"+everydaySources).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("SRC", src)
	zarrPython := startPeer(t, interpreter)
	ran, lost := 0, 0
	for _, format := range []string{"2", "3"} {
		empty := everydayTemplate(t, format, src)
		for _, tc := range everydayCommands {
			t.Run("v"+format+" "+tc.views+" "+tc.script, func(t *testing.T) {
				needAll(t, tc.script)
				store := filepath.Join(t.TempDir(), "s.zarr")
				run(t, "cp", "-r", empty, store)
				everydayRun(t, store, tc.script, tc.views)
				ran++
				wrong := everydayCompare(t, zarrPython, store, src, before.with(tc.after))
				if len(wrong) > 0 {
					lost++
					t.Errorf("%s\n%s", tc.script, strings.Join(wrong, "\n"))
				}
			})
		}
	}
	t.Logf("everyday commands: %d, lost: %d", ran, lost)
}

// needAll skips a command aloud if this machine does not have a program of it.
func needAll(t *testing.T, script string) {
	t.Helper()
	words := strings.FieldsFunc(script, func(r rune) bool {
		return strings.ContainsRune(" ();&", r)
	})
	for _, program := range []string{
		"jq", "zip", "unzip", "rsync", "bsdtar", "busybox", "vim", "perl",
	} {
		if slices.Contains(words, program) {
			if _, err := exec.LookPath(program); err != nil {
				cannot(t, "this command needs "+program)
			}
		}
	}
}

// everydayTemplate makes the store that each command begins with.
func everydayTemplate(t *testing.T, format, src string) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{
		{"create", store, "--group", "--format", format, "--attributes", `{"title": "root"}`},
		{"create", store, "a", "--shape", "10,4", "--dtype", "<i2", "--chunks", "3,3", "--codecs",
			"gzip:1", "--attributes", `{"units": "K"}`},
		{"create", store, "g", "--group"},
		{"create", store, "g/b", "--shape", "10,4", "--dtype", "<i2", "--chunks", "10,2",
			"--attributes", `{"units": "m"}`},
		{"create", store, "g/sub", "--group"},
		{"create", store, "g/sub/c", "--shape", "10,4", "--dtype", "<i2", "--codecs", "none"},
	} {
		run(t, zarrfs(t), args...)
	}
	everydayRun(t, store, "for a in a g/b g/sub/c; do cp $SRC/old.npy $a.npy; done", "")
	return store
}

// everydayRun runs a script in a mount of the store. It must exit 0 and leave nothing but arrays.
func everydayRun(t *testing.T, store, script, views string) {
	t.Helper()
	mnt := t.TempDir()
	args := []string{"mount", store, mnt}
	if views != "" {
		args = append(args, "--views", views)
	}
	run(t, zarrfs(t), args...)
	cmd := limited(t, "sh", "-ec", script)
	cmd.Dir, cmd.Env = mnt, append(os.Environ(), "TMP="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
	out := run(t, zarrfs(t), "umount", mnt)
	for line := range strings.Lines(out) { // another test may have a copy of the mount for a moment
		if !strings.Contains(line, "but copies of the mount go on") {
			t.Errorf("%s: umount says: %s", script, line)
		}
	}
}

// everydayCompare returns what differs between the store, as a new mount and as zarr-python shows
// it, and what it should hold.
func everydayCompare(
	t *testing.T, zarrPython *peer, store, src string, want everydayStore,
) (wrong []string) {
	t.Helper()
	mnt := mount(t, store)
	for path, a := range want {
		shown, err := os.ReadFile(filepath.Join(mnt, path+".npy"))
		if content := read(t, filepath.Join(src, a.content)); string(shown) != string(content) {
			wrong = append(wrong, fmt.Sprintf("%s.npy has %d bytes other than the %d of %s: %v",
				path, len(shown), len(content), a.content, err))
		}
	}
	found := map[string][2]string{}
	err := zarrPython.ask(request{"do": "contents", "path": store, "sources": src}, &found)
	if err != nil {
		return append(wrong, err.Error())
	}
	expected := map[string][2]string{}
	for path, a := range want {
		expected[path] = [2]string{a.content, a.units}
	}
	if !reflect.DeepEqual(found, expected) {
		wrong = append(wrong, fmt.Sprintf("zarr-python finds %v, expected %v", found, expected))
	}
	return wrong
}
