package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mistakes are what new users and administrators do wrong, as shell commands. Each text must name the cause and the cure. They run one after
// the other in a folder with the store s.zarr, which is mounted at mnt, and with a.npy, a file of NumPy.
var mistakes = []struct {
	number      int
	command     string
	cause, cure string
}{
	{1, "zarrfs mount nope.zarr m1", "nope.zarr: no such folder", "To make a new store: zarrfs create nope.zarr --group"},
	{2, "zarrfs mount S m1", "no such folder", "did you mean"},
	{3, "mkdir none; echo x > none/x; zarrfs mount none m1", "none is not a Zarr store", "looked for zarr.json, .zgroup, .zarray"},
	{4, "zarrfs mount s.zarr/g/b/c m1", "is not a Zarr store", "it lies in the store"},
	{4, "zarrfs mount s.zarr/zarr.json m1", "is a file", "it lies in the store"},
	{5, "zarrfs mount s.zarr/g m1 && ls m1 && zarrfs umount m1", "zarr.json", ""}, // a group is a store of its own: nothing is wrong
	{6, "touch x.zip; zarrfs mount x.zip m1", "zip stores cannot be mounted", "unzip x.zip -d x.zarr"},
	{6, "zarrfs mount s3://bucket/x.zarr m1", "mounts local folders", "Mount the bucket first (rclone mount, mount-s3)"},
	{7, "zarrfs mount s.zarr nowhere", "does not exist", "create it with `mkdir -p"},
	{7, "zarrfs mount s.zarr a.npy", "is a file", "must be an empty folder"},
	{7, "zarrfs mount s.zarr none", "is not empty", "--nonempty"},
	{7, "zarrfs mount s.zarr s.zarr/g", "lies inside the store", "the mount would contain itself"},
	{8, "zarrfs mount s.zarr mnt", "is already mounted", "unmount it first with `zarrfs umount"},
	{8, "zarrfs mount mnt m1", "is in the mount of", "name the store itself"},
	{14, "zarrfs muont s.zarr m1", `unknown command "muont"`, `Did you mean "mount"?`},
	{14, "zarrfs ls s.zarr", `unknown command "ls"`, `Did you mean "tree"?`},
	{14, "zarrfs unmount m1", "is not a mount", ""}, // the name is taken
	{15, "zarrfs mount --readonly s.zarr m1", "unknown flag --readonly", "Did you mean --read-only?"},
	{15, "zarrfs mount --chunk 3 s.zarr m1", "unknown flag --chunk", "Did you mean --create-chunks?"},
	{16, "zarrfs mount --cache-size lots s.zarr m1", `size "lots"`, "expected a number and a unit, as 128MiB"},
	{16, "zarrfs create s.zarr x --shape 3 --dtype f4 --codecs frob", "--codecs: expected", "a codec such as zstd:3"},
	{16, "zarrfs create s.zarr x --shape 3 --dtype f4 --chunks a", `found "a"`, "--chunks: expected auto, rows, or a length for each axis"},
	{16, "zarrfs mount --views hdf s.zarr m1", `no view "hdf"`, "there are json, npy, raw, jsonl"},
	{17, "zarrfs tree -L x s.zarr", "-L x: expected a number of levels", "such as 2"},
	{18, "zarrfs create s.zarr g/b --shape 3 --dtype f4", `array "g/b" exists`, "Choose another name, or remove it first: rm -r s.zarr/g/b"},
	{19, "zarrfs create s.zarr x --group --shape 3", "--group and --shape exclude each other", ""},
	{19, "zarrfs create s.zarr x --shape 3,4", "--shape 3,4 needs --dtype", "such as --dtype float32"},
	{20, "echo hello world > t.txt; cp t.txt mnt/x.npy; zarrfs errors mnt", `not a NumPy file: it starts with "hello world`, "save it with numpy.save"},
	{22, "head -c 3000 a.npy > cut.npy; cp cut.npy mnt/cut.npy; zarrfs errors mnt", "3000 of 8128 bytes were copied", "copy it again"},
	{23, "cp o.npy mnt/o.npy; zarrfs errors mnt", "dtype object (Python objects) cannot be stored", "convert it by a.astype(str)"},
	{24, "cp a.npy 'mnt/50%.npy'; zarrfs errors mnt", `"50%" cannot be a file name here`, "write it 50%25"},
	{24, "cp a.npy mnt/.npy; zarrfs errors mnt", `".npy" is the end of a name only`, "an array needs a name before it"},
	{25, "cp a.npy mnt/$(printf %0250d 0).npy", "File name too long", ""},
	{26, `echo '{"attributes": {"x"' > mnt/g/b.json; getfattr -n user.zarrfs.error --only-values mnt/g/b.json`, "line 2, column 1", "expected"},
	{27, "sleep 30 < mnt/g/b.raw & zarrfs umount mnt; kill $!", "is in use by sleep (pid", "end that, or use `zarrfs umount --lazy"},
	{28, "zarrfs umount none", "is not a mount", ""},
	{28, "zarrfs umount /proc", "is a mount of type proc", "not of zarrfs"},
	{34, "ln mnt/g/b.raw mnt/hard.raw; mkfifo mnt/pipe; zarrfs errors mnt", "no pipes, sockets or devices", "copy the file instead"},
	{36, "mkdir -p s.zarr/bad; echo x > s.zarr/bad/.zarray; sleep 1; cat mnt/bad.npy; zarrfs errors mnt", ".zarray: line 1, column 1", "expected a value"},
	{37, "mkdir v2.zarr; echo '{x' > v2.zarr/.zgroup; zarrfs mount v2.zarr m1", ".zgroup: line 1, column 2", "mend it"},
	{39, "zarrfs mount s.zarr m1 && cmp mnt/g/b.raw m1/g/b.raw && zarrfs umount m1 && echo same", "same", ""}, // nothing is wrong
	{40, "zarrfs umount none mnt", "none is not a mount", ""},                                                 // and mnt is unmounted
	{33, "zarrfs mount s.zarr mnt; rm -r s.zarr; cp a.npy mnt/new.npy; zarrfs errors mnt; zarrfs umount --force mnt", "was removed", "make it again and mount it again"},
}

// elsewhere are the mistakes that are not replayed here, and why.
var elsewhere = map[int]string{
	9:  "a store that another user may not look into: not replayed, needs another user",
	10: "no /dev/fuse: not replayed, needs another machine; the texts are in checkFuse",
	11: "no fusermount3: not replayed, needs another machine; the text is fs.ErrNoFusermount",
	12: "no CAP_SYS_ADMIN: not replayed, needs another machine; the text is in explainMount",
	13: "--allow-other without user_allow_other: not replayed, needs another user; the text is in checkFuse",
	21: "files that are no arrays: by the tests of transient files",
	29: "a mount whose program was killed: TestStaleMount",
	30: "a mount whose program is stopped: TestUmountOfSilentMount",
	31: "a full disk: TestFullDisk",
	32: "a store that cannot be written to: TestReadOnlyIsSaid",
	35: "chmod and chown have no effect: SEMANTICS.md",
	38: "pickled elements: the tests of formats",
}

// TestMistakes replays them and prints each text.
func TestMistakes(t *testing.T) {
	needFuse(t)
	work := t.TempDir()
	noError(t, "a store", os.Rename(makeStore(t), filepath.Join(work, "s.zarr")))
	noError(t, "a group", os.Rename(filepath.Join(work, "s.zarr/ocean"), filepath.Join(work, "s.zarr/g")))
	write(t, work, "a.npy", string(npyFile(strings.Repeat("x", 8000), 1, "(4000,)")))
	write(t, work, "o.npy", strings.Replace(string(npyFile("", 1, "(3,)")), "'<u2'", "'|O' ", 1))
	for _, dir := range []string{"mnt", "m1"} {
		noError(t, "mkdir", os.Mkdir(filepath.Join(work, dir), 0o777))
	}
	t.Cleanup(func() {
		for _, dir := range []string{"mnt", "m1"} {
			zarrfs(t, "umount", "--lazy", filepath.Join(work, dir))
		}
	})
	if code, out := zarrfs(t, "mount", filepath.Join(work, "s.zarr"), filepath.Join(work, "mnt")); code != 0 {
		t.Fatalf("mount: exit code %d: %s", code, out)
	}
	met := map[int]bool{}
	for _, m := range mistakes {
		met[m.number] = true
		text := shell(t, work, m.command)
		t.Logf("%d. $ %s\n%s", m.number, m.command, text)
		if !strings.Contains(text, m.cause) || !strings.Contains(text, m.cure) {
			t.Errorf("%d. %s: expected the cause %q and the cure %q", m.number, m.command, m.cause, m.cure)
		}
	}
	for n := 1; n <= 40; n++ {
		if elsewhere[n] != "" {
			t.Logf("%d. %s", n, elsewhere[n])
		} else if !met[n] {
			t.Errorf("mistake %d is not replayed", n)
		}
	}
}

// shell runs a command as a user would type it, and returns all that it prints.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	self, err := os.Executable()
	noError(t, "this program", err)
	cmd := exec.Command("sh", "-c", "zarrfs() { "+asProgram+"=1 '"+self+"' \"$@\"; }\n"+command)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // that it fails is the point
	return string(out)
}
