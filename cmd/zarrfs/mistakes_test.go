package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mistakes are what new users and administrators do wrong, as shell commands. Each text must name
// the cause and the cure. They run one after the other in a folder with the store s.zarr, which is
// mounted at mnt, and with a.npy, a file of NumPy. `machine COMMAND` runs a command with file
// systems of its own and /dev/fuse for everybody. `nobody COMMAND` runs it as another user, and
// `server DIR` prints the process of a mount.
var mistakes = []struct {
	number      int
	command     string
	cause, cure string // cure is empty where nothing is wrong
}{
	{1, "zarrfs mount nope.zarr m1", "nope.zarr: no such folder",
		"To make a new store: zarrfs create nope.zarr --group"},
	{2, "zarrfs mount S m1", "no such folder", "did you mean"},
	{3, "mkdir none; echo x > none/x; zarrfs mount none m1", "none is not a Zarr store",
		"To make a store in it: zarrfs create none/new.zarr --group"},
	{4, "zarrfs mount s.zarr/g/b/c m1", "is not a Zarr store", "give that folder"},
	{4, "zarrfs mount s.zarr/zarr.json m1", "is a file", "give that folder"},
	// a group is a store of its own
	{5, "zarrfs mount s.zarr/g m1 && ls m1 && zarrfs umount m1", "zarr.json", ""},
	{6, "touch x.zip; zarrfs mount x.zip m1", "cannot read the zip file",
		"the file is not complete"},
	{6, "zip -qr s.zip s.zarr; zarrfs create s.zip n --shape 3 --dtype i4",
		"zarrfs does not change zip files", "Unpack it: unzip s.zip -d"},
	{6, "zarrfs mount sftp://host/x.zarr m1", "cannot mount sftp stores",
		"Mount it with `rclone mount`"},
	{7, "zarrfs mount s.zarr nowhere", "does not exist", "create it with `mkdir -p"},
	{7, "zarrfs mount s.zarr a.npy", "is a file", "must be an empty folder"},
	{7, "zarrfs mount s.zarr none", "is not empty", "--nonempty"},
	{7, "zarrfs mount s.zarr s.zarr/g", "lies inside the store", "choose a folder outside"},
	{8, "zarrfs mount s.zarr mnt", "is already mounted", "unmount it first with `zarrfs umount"},
	{8, "zarrfs mount mnt m1", "is in the mount of", "name the store itself"},
	{9, "cp -r s.zarr p.zarr; chmod 700 p.zarr; nobody zarrfs mount p.zarr m1",
		"p.zarr: permission denied", "its owner can let user 65534 in with chmod"},
	{9, "machine nobody zarrfs mount s.zarr m1", "you have no write permission there",
		"have it made yours: chown 65534"},
	{10, "machine 'rm /dev/fuse; zarrfs mount s.zarr m1'", "there is no /dev/fuse",
		"load the kernel module with `modprobe fuse`"},
	{10, "machine 'chmod 600 /dev/fuse; nobody zarrfs mount s.zarr theirs'",
		"you may not open /dev/fuse", "for good with a udev rule"},
	{11, "machine 'hide fusermount3 fusermount; nobody zarrfs mount s.zarr theirs'",
		"fusermount3 is not installed", "apt install fuse3"},
	{12, "setpriv --bounding-set -sys_admin --inh-caps -sys_admin zarrfs mount s.zarr m1",
		"root may not mount here", "--cap-add SYS_ADMIN"},
	{13, "machine 'mount --bind /dev/null /etc/fuse.conf; nobody zarrfs mount --allow-other " +
		"s.zarr theirs'", "needs the line `user_allow_other`",
		"let an administrator add it"},
	{14, "zarrfs muont s.zarr m1", `unknown command "muont"`, `Did you mean "mount"?`},
	{14, "zarrfs ls s.zarr", `unknown command "ls"`, `Did you mean "tree"?`},
	// the verb has this name, too
	{14, "zarrfs unmount m1", "is not a mount", "`zarrfs status` lists the mounts"},
	{15, "zarrfs mount --readonly s.zarr m1", "unknown flag --readonly",
		"Did you mean --read-only?"},
	{15, "zarrfs mount --chunk 3 s.zarr m1", "unknown flag --chunk",
		"Did you mean --create-chunks?"},
	{16, "zarrfs mount --cache-size lots s.zarr m1", `size "lots"`,
		"expected a number and a unit, such as 128MiB"},
	{16, "zarrfs create s.zarr x --shape 3 --dtype f4 --codecs frob", "--codecs: expected",
		"a codec such as zstd:3"},
	{16, "zarrfs create s.zarr x --shape 3 --dtype f4 --chunks a", `found "a"`,
		"--chunks: expected auto, rows, or a length for each axis"},
	{16, "zarrfs mount --views hdf s.zarr m1", `no view "hdf"`, "there are json, npy, raw, jsonl"},
	{17, "zarrfs tree -L x s.zarr", "-L x: expected a number of levels", "such as 2"},
	{18, "zarrfs create s.zarr g/b --shape 3 --dtype f4", `array "g/b" exists`,
		"Choose another name, or remove it first: rm -r s.zarr/g/b"},
	{19, "zarrfs create s.zarr x --group --shape 3", "--group and --shape exclude each other",
		"leave out --group for an array"},
	{19, "zarrfs create s.zarr x --shape 3,4", "--shape 3,4 needs --dtype",
		"such as --dtype float32"},
	{20, "echo hello world > t.txt; cp t.txt mnt/x.npy; zarrfs errors mnt",
		`not a NumPy file: it starts with "hello world`, "save it with numpy.save"},
	{21, "echo a,b > t.csv; cp t.csv mnt/t.csv; zarrfs umount mnt; zarrfs mount s.zarr mnt",
		"files that are not arrays, and so not in the store", "are kept in"},
	{22, "head -c 3000 a.npy > cut.npy; cp cut.npy mnt/cut.npy; zarrfs errors mnt",
		"expected 8128 bytes, as the header says, found 3000", "copy it again"},
	{23, "cp o.npy mnt/o.npy; zarrfs errors mnt", "arrays of Python objects (|O) cannot be stored",
		"convert the array with a.astype(str)"},
	{24, "cp a.npy 'mnt/50%.npy'; zarrfs errors mnt", `"50%" cannot be a file name here`,
		"write it 50%25"},
	{24, "cp a.npy mnt/.npy; zarrfs errors mnt", `".npy" is the end of a name only`,
		"an array needs a name before it"},
	{25, "cp a.npy mnt/$(printf %0250d 0).npy", "File name too long", ""}, // and why:
	{25, "zarrfs errors mnt", "the name has 250 bytes, expected at most 240",
		"choose a shorter one"},
	{26,
		`echo '{"attributes": {"x"' > mnt/g/b.json; getfattr -n user.zarrfs.error --only-values ` +
			`mnt/g/b.json`, "line 2, column 1", "expected"},
	{27, "sleep 30 < mnt/g/b.raw & zarrfs umount mnt; kill $!", "is in use by sleep (pid",
		"end that, or use `zarrfs umount --lazy"},
	{28, "zarrfs umount none", "is not a mount", "`zarrfs status` lists the mounts"},
	{28, "zarrfs umount /proc", "is a mount of type proc, not of zarrfs",
		"unmount it with `umount /proc`"},
	{29, "zarrfs mount s.zarr m1; kill -9 $(server m1); sleep 1; zarrfs mount s.zarr m1; zarrfs " +
		"umount m1", "is a stale mount", "remove it with `zarrfs umount"},
	{30, "zarrfs mount s.zarr m1; p=$(server m1); kill -STOP $p; sleep 1; zarrfs umount m1; kill " +
		"-CONT $p; zarrfs umount m1", "does not answer, because it is stopped",
		"Continue it with `kill -CONT"},
	{31, `machine 'mkdir full; mount -t tmpfs -o size=1m none full
		zarrfs create full/s.zarr x --shape 3000000 --dtype u1 --codecs none
		zarrfs mount full/s.zarr m1; head -c 3000000 /dev/urandom > m1/x.raw; zarrfs umount m1
		zarrfs umount --force m1'`,
		`cannot store "x": chunk x/c/`, "Remove the cause and try again"},
	{32, "machine 'mkdir ro; mount --bind s.zarr ro; mount -o remount,bind,ro ro; zarrfs mount " +
		"ro m1; cp a.npy m1; zarrfs umount m1'",
		"ro is mounted read-only: the store cannot be written to (read-only file system)",
		"make it writable and mount it again"},
	{34, "ln mnt/g/b.raw mnt/hard.raw; mkfifo mnt/pipe; zarrfs errors mnt",
		"no pipes, sockets or devices", "copy the file instead"},
	{35, "chmod 600 mnt/g/b.raw; chown 1 mnt/g/b.raw; grep chmod state/zarrfs/zarrfs.log",
		"chmod and chown have no effect in a mount", "change them there, or set them by --uid, " +
			"--gid and --umask"},
	{36, "mkdir -p s.zarr/bad; echo x > s.zarr/bad/.zarray; sleep 1; cat mnt/bad.npy; zarrfs " +
		"errors mnt", ".zarray: line 1, column 1", "expected a value"},
	{37, "mkdir v2.zarr; echo '{x' > v2.zarr/.zgroup; zarrfs mount v2.zarr m1",
		".zgroup: line 1, column 2", "mend it"},
	{38, "cp -r p2.zarr pickled.zarr; zarrfs cat pickled.zarr", "decoding it executes code",
		"if you trust it, read it with zarr-python"},
	{39, "zarrfs mount s.zarr m1 && cmp mnt/g/b.raw m1/g/b.raw && zarrfs umount m1 && echo same",
		"same", ""},
	// and mnt is unmounted
	{40, "zarrfs umount none mnt", "none is not a mount", "`zarrfs status` lists the mounts"},
	{33, "zarrfs mount s.zarr mnt; rm -r s.zarr; cp a.npy mnt/new.npy; zarrfs errors mnt; zarrfs " +
		"umount --force mnt", "was removed", "recreate it and mount it again"},
}

// asRoot are the mistakes that only root can replay, because they need another user or another
// machine.
var asRoot = []int{9, 10, 11, 12, 13, 31, 32}

// TestMistakes replays them and prints each text.
func TestMistakes(t *testing.T) {
	needFuse(t)
	needTools(t, "fusermount3", "getfattr")
	work := t.TempDir()
	allowOthers(t, work)
	noError(t, "a store", os.Rename(makeStore(t), filepath.Join(work, "s.zarr")))
	noError(t, "a group", os.Rename(filepath.Join(work, "s.zarr/ocean"),
		filepath.Join(work, "s.zarr/g")))
	write(t, work, "a.npy", string(npyFile(strings.Repeat("x", 8000), 1, "(4000,)")))
	write(t, work, "o.npy", strings.Replace(string(npyFile("", 1, "(3,)")), "'<u2'", "'|O' ", 1))
	write(t, work, "p2.zarr/.zarray", pickledArray)
	for _, dir := range []string{"mnt", "m1", "theirs"} {
		noError(t, "mkdir", os.Mkdir(filepath.Join(work, dir), 0o777))
	}
	makeScripts(t, work)
	t.Cleanup(func() {
		for _, dir := range []string{"mnt", "m1", "theirs"} {
			zarrfs(t, "umount", "--lazy", filepath.Join(work, dir))
		}
	})
	if text := shell(t, work, "zarrfs mount --log log s.zarr mnt"); text != "" {
		t.Fatalf("mount: %s", text)
	}
	replayed, bad := map[int]bool{}, map[int]bool{}
	for _, m := range mistakes {
		if slices.Contains(asRoot, m.number) && os.Getuid() != 0 {
			t.Logf("%d. NOT REPLAYED, only root can: $ %s", m.number, m.command)
			continue
		}
		replayed[m.number] = true
		text := shell(t, work, m.command)
		t.Logf("%d. $ %s\n%s", m.number, m.command, text)
		if !strings.Contains(text, m.cause) || !strings.Contains(text, m.cure) {
			t.Errorf("%d. %s: expected the cause %q and the cure %q", m.number, m.command, m.cause,
				m.cure)
			bad[m.number] = true
		}
	}
	t.Logf("mistakes: 40, replayed: %d, without cause and cure: %d", len(replayed), len(bad))
	if os.Getuid() == 0 && len(replayed) != 40 {
		t.Errorf("%d of 40 mistakes are replayed", len(replayed))
	}
}

// pickledArray is an array of objects of Python.
const pickledArray = `{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|O",
	"compressor": null, "fill_value": null, "order": "C",
	"filters": [{"id": "pickle"}]}`

// allowOthers lets other users look into a folder of a test, and gives them the one at theirs in
// it.
func allowOthers(t *testing.T, work string) {
	t.Helper()
	for dir := work; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		noError(t, "let others in", os.Chmod(dir, 0o755))
	}
}

// makeScripts makes the programs that the commands of mistakes use, in the folder bin. The test's
// own program is copied there, for other users cannot run it where it is.
func makeScripts(t *testing.T, work string) {
	t.Helper()
	self, err := os.Executable()
	noError(t, "this program", err)
	program := filepath.Join(work, "bin/program")
	for _, dir := range []string{"bin", "tmp"} {
		noError(t, "mkdir", os.Mkdir(filepath.Join(work, dir), 0o777))
	}
	noError(t, "copy", exec.Command("cp", self, program).Run())
	for name, script := range map[string]string{
		"zarrfs": asProgram + "=1 exec " + program + ` "$@"`,
		"nobody": `chown 65534:65534 theirs; ` +
			`exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"`,
		"server": `zarrfs status --json "$1" | sed -n 's/.*"pid": \([0-9]*\).*/\1/p'`,
		"hide": `for name; do path=$(command -v $name) && mount --bind /dev/null "$path"; ` +
			`done; true`,
		"machine": `exec unshare -m sh -c 'mount -t tmpfs -o mode=755 none /dev &&
			mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 &&
			mknod -m 666 /dev/fuse c 10 229; '"$*"`,
	} {
		noError(t, name, os.WriteFile(filepath.Join(work, "bin", name),
			[]byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
}

// shell runs a command as a user would type it, and returns all that it prints.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"), "HOME="+dir,
		"XDG_STATE_HOME="+dir+"/state", "TMPDIR="+dir+"/tmp")
	out, _ := cmd.CombinedOutput() // that it fails is the point
	return string(out)
}
