package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// This file tests the rights of users in a mount: nobody has more than in the store itself.

// Users who need not exist on the machine.
const (
	owner    = 4321 // of private files
	stranger = 4322
	team     = 4323  // a group
	nobody   = 65534 // fusermount3 knows this user by name
)

// asUser runs a script of the shell as another user, in one group besides their own.
func asUser(t *testing.T, uid, group uint32, script string) ([]byte, error) {
	cmd := limited(t, "sh", "-c", script)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid,
		Groups: []uint32{group}}}
	return cmd.CombinedOutput()
}

// everybodysDir returns a folder that other users may enter, unlike those of testing.T.
func everybodysDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zarrfs-exposure-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// document is the name of an array's document in a format.
func document(format string) string {
	return map[string]string{"2": ".zarray", "3": "zarr.json"}[format]
}

// exposed makes a store with arrays of several owners and modes, and returns its path. All hold
// sevens.
func exposed(t *testing.T, format string) string {
	t.Helper()
	store := filepath.Join(everybodysDir(t), "store")
	run(t, zarrfs(t), "create", store, "--group", "--format", format)
	for _, a := range []struct {
		path         string
		folder, file os.FileMode
		uid, gid     int
	}{
		{"open", 0o755, 0o644, 0, 0}, {"private", 0o700, 0o600, owner, owner},
		{"hidden", 0o755, 0o600, owner, owner},
		{"closed", 0o700, 0o644, owner, owner}, {"ours", 0o770, 0o660, owner, team},
		{"read", 0o750, 0o640, owner, team},
		{"fixed", 0o555, 0o644, owner, owner}, {"public", 0o777, 0o666, 0, 0},
		{"group/inner", 0o755, 0o644, owner, owner},
	} {
		run(t, zarrfs(t), "create", store, a.path, "--shape", "64", "--dtype", "u1", "--chunks",
			"32", "--codecs", "none", "--fill-value", "7", "--format", format)
		rights(t, filepath.Join(store, a.path), a.folder, a.file, a.uid, a.gid)
	}
	rights(t, filepath.Join(store, "group"), 0o700, 0o600, owner, owner)
	return store
}

// rights sets the mode and owner of a folder and of the files in it.
func rights(t *testing.T, dir string, folder, file os.FileMode, uid, gid int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil && !e.IsDir() {
			path := filepath.Join(dir, e.Name())
			err = os.Chown(path, uid, gid)
			os.Chmod(path, file)
		}
	}
	if err == nil {
		err = os.Chown(dir, uid, gid)
		os.Chmod(dir, folder)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOthersSeeWhatTheStoreShows: with --allow-other, files and folders have the modes and owners
// of the store. A user can do with an array of the mount what they can do with it in the store.
func TestOthersSeeWhatTheStoreShows(t *testing.T) {
	needRoot(t)
	for _, format := range []string{"2", "3"} {
		t.Run("format "+format, func(t *testing.T) {
			store := exposed(t, format)
			mnt := filepath.Join(everybodysDir(t), "mnt")
			os.Mkdir(mnt, 0o755)
			run(t, zarrfs(t), "mount", "--allow-other", store, mnt)
			defer unmount(t, mnt)

			for _, tc := range []struct {
				path     string
				mode     uint32
				uid, gid uint32
			}{
				{"open.npy", 0o644, 0, 0}, {"private.npy", 0o600, owner, owner},
				{"private.json", 0o600, owner, owner},
				{"hidden.raw", 0o600, owner, owner}, {"closed.raw", 0o600, owner, owner},
				{"ours.npy", 0o660, owner, team},
				{"read.npy", 0o640, owner, team}, {"fixed.npy", 0o444, owner, owner},
				{"public.raw", 0o666, 0, 0},
				{"group", 0o700, owner, owner}, {"group/zarr.json", 0o600, owner, owner},
				{"group/inner.npy", 0o644, owner, owner}, {"", 0o755, 0, 0},
			} {
				var st unix.Stat_t
				if err := unix.Stat(filepath.Join(mnt, tc.path), &st); err != nil ||
					st.Mode&0o7777 != tc.mode || st.Uid != tc.uid || st.Gid != tc.gid {
					t.Errorf("%s: mode %o of %d:%d (%v), want %o of %d:%d",
						tc.path, st.Mode&0o7777, st.Uid, st.Gid, err, tc.mode, tc.uid, tc.gid)
				}
			}
			for _, who := range []struct{ uid, group uint32 }{
				{owner, owner}, {stranger, stranger}, {stranger, team},
			} {
				for _, array := range []string{
					"open", "private", "hidden", "closed", "ours", "read", "fixed", "public",
					"group/inner",
				} {
					inStore, inMount := filepath.Join(store, array), filepath.Join(mnt, array)
					same(t, who.uid, who.group, "reads "+array, "cat "+inStore+"/"+document(format),
						"cat "+inMount+".npy "+inMount+".raw "+inMount+".json")
					same(t, who.uid, who.group, "writes "+array,
						"test -w "+inStore+" -a -x "+inStore+" -a -w "+inStore+"/"+document(format),
						"printf 7 | dd of="+inMount+".raw conv=notrunc status=none")
				}
				same(t, who.uid, who.group, "lists a group", "ls "+store+"/group",
					"ls "+mnt+"/group")
				same(t, who.uid, who.group, "makes an array", "test -w "+store,
					"echo > "+mnt+"/new.txt")
				out, err := asUser(t, who.uid, who.group, "cat "+mnt+"/.zarrfs/status.json")
				if err == nil {
					t.Errorf("user %d reads status.json: %s", who.uid, out)
				}
			}
			run(t, "cat", mnt+"/.zarrfs/status.json")
		})
	}
}

// same fails the test if a user can do only one of two things.
func same(t *testing.T, uid, group uint32, what, inStore, inMount string) {
	t.Helper()
	_, storeErr := asUser(t, uid, group, inStore)
	out, mountErr := asUser(t, uid, group, inMount)
	if (storeErr == nil) != (mountErr == nil) {
		t.Errorf("user %d in group %d %s: in the store %v, in the mount %v: %s",
			uid, group, what, storeErr, mountErr, bytes.TrimSpace(out))
	}
}

// TestOthersReadNoAttributesOfPrivateDocuments: with --allow-other, a user who may not read the
// document of a group or array reads, lists and sets no extended attribute of it.
func TestOthersReadNoAttributesOfPrivateDocuments(t *testing.T) {
	needRoot(t, "getfattr", "setfattr", "python3")
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(everybodysDir(t), "store")
		alike := []string{"--format", format, "--attributes", `{"secret": "swordfish"}`}
		run(t, zarrfs(t), append([]string{"create", store, "g", "--group"}, alike...)...)
		ofArray := append([]string{"create", store, "a", "--shape", "3", "--dtype", "u1"}, alike...)
		run(t, zarrfs(t), ofArray...)
		rights(t, filepath.Join(store, "g"), 0o777, 0o600, owner, owner)
		rights(t, filepath.Join(store, "a"), 0o777, 0o600, owner, owner)
		mnt := filepath.Join(everybodysDir(t), "mnt")
		os.Mkdir(mnt, 0o755)
		run(t, zarrfs(t), "mount", "--allow-other", store, mnt)
		defer unmount(t, mnt)
		for _, file := range []string{"g", "a.npy"} {
			keepsAttributes(t, filepath.Join(mnt, file))
		}
		out, err := asUser(t, owner, owner, "getfattr -d --absolute-names "+mnt+"/g")
		if err != nil || !strings.Contains(string(out), "swordfish") {
			t.Errorf("format %s: the owner reads %q (%v)", format, out, err)
		}
	}
}

// keepsAttributes fails if a stranger learns, or sets, an extended attribute of a file or folder.
func keepsAttributes(t *testing.T, file string) {
	t.Helper()
	for _, script := range []string{
		"getfattr -n user.zarr.attr.secret ", "getfattr -n user.zarrfs.error ",
		"getfattr -d -m - ", "setfattr -n user.zarr.attr.mine -v 1 ",
		"setfattr -x user.zarr.attr.secret ",
	} {
		out, err := asUser(t, stranger, team, script+file)
		text := string(out)
		refused := strings.Contains(text, "Permission denied")
		if !refused || strings.Contains(text, "secret=") {
			t.Errorf("%s%s as a stranger: %q (%v)", script, file, out, err)
		}
	}
	list := fmt.Sprintf("python3 -c 'import os; print(os.listxattr(%q))'", file)
	out, err := asUser(t, stranger, team, list)
	if err != nil || string(out) != "['user.zarr.node']\n" {
		t.Errorf("%s: a stranger lists %s (%v)", file, out, err)
	}
}

// privateObjects makes a store with arrays of bytes and of strings, of which one object, or the
// folder of one, belongs to owner alone. Everybody may read their documents and the other objects.
func privateObjects(t *testing.T, format, private string) (store string) {
	t.Helper()
	store = filepath.Join(everybodysDir(t), "store")
	run(t, zarrfs(t), "create", store, "--group", "--format", format)
	for name, dtype := range map[string]string{"a": "u1", "s": "string"} {
		run(t, zarrfs(t), "create", store, name, "--shape", "2,2", "--chunks", "1,2",
			"--dtype", dtype)
	}
	mnt := t.TempDir()
	run(t, zarrfs(t), "mount", store, mnt)
	shell(t, mnt, `printf abcd > a.raw; printf '"e"\n"f"\n"g"\n"h"\n' > s.jsonl`)
	unmount(t, mnt)
	for _, array := range []string{"a", "s"} {
		path, mode := filepath.Join(store, array, private), os.FileMode(0o600)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			mode = 0o700
		}
		if err := errors.Join(os.Chown(path, owner, owner), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// TestOthersReadNoPrivateObjects: with --allow-other, what only its owner may read in the store is
// given to nobody else, even after the owner has read it.
func TestOthersReadNoPrivateObjects(t *testing.T) {
	needRoot(t)
	for _, where := range []struct{ format, private string }{
		{"2", "1.0"}, {"3", "c/1/0"}, {"3", "c/1"}, {"3", "c"},
	} {
		for _, io := range []string{"auto", "cached", "direct"} {
			store := privateObjects(t, where.format, where.private)
			mnt := filepath.Join(everybodysDir(t), "mnt")
			os.Mkdir(mnt, 0o755)
			run(t, zarrfs(t), "mount", "--allow-other", "--io", io, store, mnt)
			defer unmount(t, mnt)
			for _, uid := range []uint32{stranger, owner, 0, stranger} {
				for file, want := range map[string]string{
					"a.raw": "abcd", "a.npy": "abcd", "s.jsonl": `"h"`, "s.npy": "h",
				} {
					out, err := asUser(t, uid, team, "cat "+mnt+"/"+file)
					text := strings.ReplaceAll(string(out), "\x00", "")
					if uid != stranger && (err != nil || !strings.Contains(text, want)) {
						t.Errorf("user %d reads %q of %s (%v)", uid, out, file, err)
					}
					refused := strings.Contains(text, "Permission denied")
					if uid == stranger && (!refused || strings.Contains(text, want)) {
						t.Errorf("%v, %s: a stranger reads %q of %s", where, io, out, file)
					}
				}
			}
			why := run(t, zarrfs(t), "errors", mnt)
			if !strings.Contains(why, "may not read all objects of") {
				t.Errorf("errors prints %s", why)
			}
		}
	}
}

// TestOthersRemoveWhatTheyCanInTheStore: with --allow-other, a user can remove, replace and move an
// array or group of the mount only if they can do so in the store.
func TestOthersRemoveWhatTheyCanInTheStore(t *testing.T) {
	needRoot(t)
	for _, format := range []string{"2", "3"} {
		for _, folder := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o755} {
			for _, who := range []struct{ uid, group uint32 }{
				{owner, owner}, {stranger, stranger}, {stranger, team},
			} {
				store, mnt := removable(t, format, folder), filepath.Join(everybodysDir(t), "mnt")
				base := filepath.Dir(store)
				run(t, "cp", "-a", store, base+"/twin")
				run(t, "cp", "-a", store, base+"/trial") // of replacing, which changes owners
				os.Mkdir(mnt, 0o755)
				run(t, zarrfs(t), "mount", "--allow-other", store, mnt)
				for _, name := range []string{"open", "ours", "public", "sticky", "unlisted"} {
					// a new file belongs to the user who mounted, until it is an array
					if folder&os.ModeSticky == 0 {
						same(t, who.uid, who.group, "replaces "+name,
							fmt.Sprintf("cd %s/trial && mv %s new && mv new %[2]s && cd %[2]s && "+
								"cp %[3]s .new && mv -f .new %[3]s", base, name, document(format)),
							fmt.Sprintf("cd %s && cp open.npy new-%s.txt && mv -f new-%[2]s.txt "+
								"%[2]s.npy", mnt, name))
					}
					same(t, who.uid, who.group, "moves "+name,
						fmt.Sprintf("cd %s/twin && mv %s to && mv to/%[2]s .", base, name),
						fmt.Sprintf("cd %s && mv %s.json to && mv to/%[2]s.json .", mnt, name))
					same(t, who.uid, who.group, "removes "+name, "rm -r "+base+"/twin/"+name,
						fmt.Sprintf("cd %s && rm -f %s.*", mnt, name))
				}
				same(t, who.uid, who.group, "removes a group", "rm -r "+base+"/twin/group",
					"rmdir "+mnt+"/group")
				unmount(t, mnt)
			}
		}
	}
}

// removable makes a store with arrays and a group that different users may remove, in a folder of
// some mode.
func removable(t *testing.T, format string, folder os.FileMode) (store string) {
	t.Helper()
	store = filepath.Join(everybodysDir(t), "store")
	run(t, zarrfs(t), "create", store, "--group", "--format", format)
	for _, n := range []struct {
		name     string
		mode     os.FileMode
		uid, gid int
	}{
		{"open", 0o755, 0, 0}, {"ours", 0o770, owner, team}, {"public", 0o777, owner, owner},
		{"sticky", 0o777 | os.ModeSticky, owner, owner}, {"unlisted", 0o733, owner, owner},
		{"group", 0o755, 0, 0}, {"to", 0o777, 0, 0},
	} {
		kind := []string{"--shape", "64", "--dtype", "u1", "--chunks", "32", "--codecs", "none"}
		if n.name == "group" || n.name == "to" {
			kind = []string{"--group"}
		}
		run(t, zarrfs(t), append([]string{"create", store, n.name, "--format", format}, kind...)...)
		rights(t, filepath.Join(store, n.name), n.mode, 0o666, n.uid, n.gid)
	}
	rights(t, store, folder, 0o644, 0, 0)
	return store
}

// TestReplacedObjectsStayTheirOwners: what is written through a mount keeps the modes, owners and
// attributes of the objects.
func TestReplacedObjectsStayTheirOwners(t *testing.T) {
	needRoot(t)
	for _, format := range []string{"2", "3"} {
		store := exposed(t, format)
		mnt := mount(t, store)
		chunk := filepath.Join(store, "private", map[string]string{"2": "0", "3": "c/0"}[format])
		for _, step := range []func() error{
			func() error {
				return os.WriteFile(mnt+"/private.raw", bytes.Repeat([]byte{1}, 64), 0o644)
			},
			func() error { return os.Chmod(chunk, 0o640) },
			func() error { return os.Chown(chunk, owner, team) },
			func() error { return unix.Setxattr(chunk, "user.mark", []byte("kept"), 0) },
			func() error {
				return os.WriteFile(mnt+"/private.raw", bytes.Repeat([]byte{2}, 64), 0o644)
			},
			func() error {
				return unix.Setxattr(mnt+"/private.npy", "user.zarr.attr.units", []byte(`"K"`), 0)
			},
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		var st unix.Stat_t
		value := make([]byte, 16)
		n, err := unix.Getxattr(chunk, "user.mark", value)
		if unix.Stat(chunk, &st); st.Mode&0o7777 != 0o640 || st.Uid != owner || st.Gid != team ||
			err != nil || string(value[:n]) != "kept" {
			t.Errorf("format %s: the chunk: mode %o of %d:%d, user.mark %q (%v)",
				format, st.Mode&0o7777, st.Uid, st.Gid, value[:max(n, 0)], err)
		}
		if data, _ := os.ReadFile(chunk); !bytes.Equal(data, bytes.Repeat([]byte{2}, 32)) {
			t.Errorf("format %s: the chunk was not replaced", format)
		}
		doc := filepath.Join(store, "private", document(format))
		if unix.Stat(doc, &st); st.Mode&0o7777 != 0o600 || st.Uid != owner {
			t.Errorf("format %s: the document: mode %o of %d", format, st.Mode&0o7777, st.Uid)
		}
	}
}

// TestNewObjectsStayPrivate: whatever becomes of a private array in a mount, its objects stay those
// of its owner, and what only its owner may read stays so.
func TestNewObjectsStayPrivate(t *testing.T) {
	needRoot(t)
	for _, format := range []string{"2", "3"} {
		store := exposed(t, format)
		mnt := mount(t, store)
		chunks := filepath.Join(store, "hidden", map[string]string{"2": ".", "3": "c"}[format])
		unix.Setxattr(filepath.Join(store, "hidden"), "user.mark", []byte("kept"), 0)
		for _, step := range []struct{ script, objects string }{
			{"head -c 64 /dev/zero > hidden.raw", "0 1"},
			{"truncate -s 0 hidden.raw; sync hidden.raw", ""},
			{"head -c 33 /dev/zero > hidden.raw", "0 1"},
			{"head -c 33 /dev/zero >> hidden.raw", "0 1 2"},
			{"sed -z 's/32/16/' hidden.json > x; rm hidden.json; cp x hidden.json", "0 1 2 3 4"},
			{"(head -c 128 open.npy | sed s/u1/i1/; head -c 64 open.raw | tr '\\7' '\\1') > x; " +
				"cat x > hidden.npy", "0"},
		} {
			shell(t, mnt, step.script+"; sync .")
			rightsOf(t, filepath.Join(store, "hidden"), owner, 0)
			found, err := filepath.Glob(chunks + "/[0-9]")
			for i, name := range found {
				found[i] = filepath.Base(name)
			}
			if got := strings.Join(found, " "); err != nil || got != step.objects {
				t.Errorf("format %s: %s: objects %q (%v)", format, step.script, got, err)
			}
		}
		value := make([]byte, 16)
		n, err := unix.Getxattr(filepath.Join(store, "hidden"), "user.mark", value)
		if err != nil || string(value[:n]) != "kept" {
			t.Errorf("format %s: the folder has lost its attribute: %v", format, err)
		}
	}
}

// rightsOf complains of a folder of mode 0755 and of files below it that are not the owner's, or
// that others have more rights to.
func rightsOf(t *testing.T, dir string, uid, others uint32) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Stat(path, &st)
		}
		if err != nil || st.Uid != uid || !d.IsDir() && st.Mode&0o077 != others {
			t.Errorf("%s: mode %o of %d (%v)", path, st.Mode&0o7777, st.Uid, err)
		}
		return nil
	})
}

// TestUnwritableArraysShowIt: the mode of an array that cannot be written says so. Opening it for
// writing fails, and user.zarrfs.error has the reason.
func TestUnwritableArraysShowIt(t *testing.T) {
	needRoot(t, "fusermount3", "getfattr", "unshare", "setpriv", "mknod")
	for _, format := range []string{"2", "3"} {
		base := everybodysDir(t)
		store := filepath.Join(base, "store")
		run(t, zarrfs(t), "create", store, "--group", "--format", format)
		for _, name := range []string{"plain", "fixed", "strange", "sealed"} {
			run(t, zarrfs(t), "create", store, name, "--shape", "4", "--dtype", "bool", "--codecs",
				"none", "--format", format)
		}
		decodedOnly(t, filepath.Join(store, "strange", document(format)), format)
		os.Chmod(filepath.Join(store, "fixed"), 0o555)
		os.Mkdir(filepath.Join(store, "plain", "c"), 0o755)
		os.Mkdir(filepath.Join(store, "sealed", "c"), 0o555)
		out := mountedByUser(t, base, `for name in plain fixed strange sealed; do
			file=$base/mnt/$name.raw
			stat -c "$name has mode %a" $file
			(exec 3<> $file) 2> /dev/null && echo "$name can be opened"
			echo "$name: $(getfattr --only-values -n user.zarrfs.error $file 2> /dev/null)"
		done
		for name in strange sealed; do
			printf '{"attributes": {"a": 1}}' > $base/mnt/$name.json &&
				echo "$name can be given attributes"
		done`)
		sealed := []string{"sealed has mode 644", "sealed can be opened"} // nothing is in that c
		if format == "3" {
			sealed = []string{"sealed has mode 444",
				"sealed: the folder of its chunks in the store may not be changed"}
		}
		for _, want := range append(sealed, "sealed can be given attributes",
			"plain has mode 644", "plain can be opened", "plain: \n",
			"fixed has mode 444", "fixed: its folder in the store may not be changed",
			"strange has mode 444", `strange: codec "numcodecs.bitround" cannot be written`,
			"strange can be given attributes") {
			if !strings.Contains(out, want) {
				t.Errorf("format %s: expected %q", format, want)
			}
		}
		if strings.Contains(out, "fixed can be opened") ||
			strings.Contains(out, "strange can be opened") ||
			format == "3" && strings.Contains(out, "sealed can be opened") {
			t.Errorf("format %s: what cannot be written can be opened for it", format)
		}
		if t.Failed() {
			t.Log(out)
		}
	}
}

// mountedByUser runs a script as a user who owns all in the folder base and has mounted base/store
// at base/mnt. They do so in namespaces of their own, where everybody may open /dev/fuse. It
// returns what the script prints.
func mountedByUser(t *testing.T, base, script string) string {
	t.Helper()
	run(t, "cp", zarrfs(t), filepath.Join(base, "zarrfs"))
	os.Mkdir(filepath.Join(base, "mnt"), 0o755)
	run(t, "chown", "-R", fmt.Sprint(nobody), base)
	run(t, "mknod", "-m", "666", filepath.Join(base, "fuse"), "c", "10", "229")
	user := fmt.Sprintf("export base=%s XDG_STATE_HOME=%[1]s/state; $base/zarrfs mount "+
		"$base/store $base/mnt || exit\n%s\n$base/zarrfs umount $base/mnt", base, script)
	file := filepath.Join(base, "script")
	if err := os.WriteFile(file, []byte(user), 0o755); err != nil {
		t.Fatal(err)
	}
	// With copies of the mounts of other tests, their umount would wait.
	root := "awk '$3 == \"fuse.zarrfs\" { print $2 }' /proc/mounts | xargs -r umount -l; "
	root += fmt.Sprintf("mount --bind %s/fuse /dev/fuse && setpriv --reuid %d --regid %[2]d "+
		"--clear-groups sh %s", base, nobody, file)
	return run(t, "unshare", "-m", "sh", "-c", root)
}

// decodedOnly gives an array of booleans a codec that cannot encode them.
func decodedOnly(t *testing.T, path, format string) {
	t.Helper()
	doc := map[string]any{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if format == "2" {
		doc["filters"] = []any{map[string]any{"id": "bitround", "keepbits": 3}}
	} else {
		round := map[string]any{"name": "numcodecs.bitround",
			"configuration": map[string]any{"keepbits": 3}}
		doc["codecs"] = append([]any{round}, doc["codecs"].([]any)...)
	}
	if err == nil {
		text, err = json.Marshal(doc)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sharedChunks makes a store with arrays of bytes and of strings, which everybody may change. Only
// one folder of each, private, has the given mode, and belongs to owner and team.
func sharedChunks(t *testing.T, private string, mode os.FileMode) (store string) {
	t.Helper()
	store = filepath.Join(everybodysDir(t), "store")
	run(t, zarrfs(t), "create", store, "--group")
	for name, dtype := range map[string]string{"a": "u1", "s": "string"} {
		run(t, zarrfs(t), "create", store, name, "--shape", "2,2", "--chunks", "1,2",
			"--dtype", dtype)
	}
	mnt := t.TempDir()
	run(t, zarrfs(t), "mount", store, mnt)
	shell(t, mnt, `printf abcd > a.raw; printf '"e"\n"f"\n"g"\n"h"\n' > s.jsonl`)
	unmount(t, mnt)
	run(t, "chmod", "-R", "a+rwX", store)
	for _, array := range []string{"a", "s"} {
		path := filepath.Join(store, array, private)
		if err := errors.Join(os.Chown(path, owner, team), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// contentsOf returns the names of all files and folders of a store, and the bytes and times of
// files.
func contentsOf(t *testing.T, store string) string {
	t.Helper()
	script := `cd "$0" && find a s -printf '%p %m %u %T@\n' -type f -exec md5sum {} \; | sort`
	return run(t, "sh", "-c", script, store)
}

// writes are the ways in which a user may write to the arrays of sharedChunks, one after the other.
var writes = []string{
	"printf AB | dd of=a.raw conv=notrunc status=none", "printf efgh > a.raw", "printf ij >> a.raw",
	"truncate -s 4 a.raw", "fallocate -o 0 -l 2 --punch-hole --keep-size a.raw",
	`python3 -c "import mmap; f = open('a.raw', 'r+b'); mmap.mmap(f.fileno(), 4)[0] = 65"`,
	"printf AB | dd of=a.nrrd conv=notrunc bs=1 seek=$(($(stat -c %s a.nrrd) - 2)) status=none",
	`printf '"i"\n"j"\n' >> s.jsonl`, "truncate -s 0 s.jsonl",
	"cp a.npy twin.txt && cp twin.txt a.npy", "cp a.npy new.txt && mv new.txt a.npy",
	"cp a.json doc.txt && cp doc.txt a.json", "rm a.npy a.raw a.json", "rm s.*",
}

// TestOthersWriteNoPrivateFolders: with --allow-other, some user may not change a folder between an
// array and its chunks. Then no way of writing lets them change the array. Others can.
func TestOthersWriteNoPrivateFolders(t *testing.T) {
	needRoot(t, "python3", "fallocate")
	for _, where := range []struct {
		private string
		mode    os.FileMode
	}{
		{"c", 0o755}, {"c", 0o700}, {"c/1", 0o775}, {"c/1", 0o776}, {"c", 0o777 | os.ModeSticky},
	} {
		store := sharedChunks(t, where.private, where.mode)
		mnt := filepath.Join(everybodysDir(t), "mnt")
		os.Mkdir(mnt, 0o755)
		run(t, zarrfs(t), "mount", "--allow-other", store, mnt)
		before := contentsOf(t, store)
		for _, write := range writes {
			out, err := asUser(t, stranger, stranger, "cd "+mnt+" && "+write)
			if err == nil || !strings.Contains(strings.ToLower(string(out)), "permi") {
				t.Errorf("%v: a stranger can `%s`: %s (%v)", where, write, out, err)
			}
		}
		run(t, "sync", mnt)
		if after := contentsOf(t, store); after != before {
			t.Errorf("%v: a stranger has changed what is stored: %s\nnow %s", where, before, after)
		}
		why := run(t, zarrfs(t), "errors", mnt)
		if !strings.Contains(why, "may not change the chunks of") {
			t.Errorf("%v: errors prints %s", where, why)
		}
		for _, uid := range []uint32{0, owner} {
			if out, err := asUser(t, uid, uid, "cd "+mnt+" && "+writes[0]); err != nil {
				t.Errorf("%v: user %d cannot write: %s", where, uid, out)
			}
		}
		unmount(t, mnt)
	}
}

// TestOthersWriteSharedFolders: a user who may change the folders of chunks in the store can write
// to the array, also where the mount makes new folders.
func TestOthersWriteSharedFolders(t *testing.T) {
	needRoot(t, "python3", "fallocate")
	store := sharedChunks(t, "c", 0o775|os.ModeSetgid)
	mnt := filepath.Join(everybodysDir(t), "mnt")
	os.Mkdir(mnt, 0o755)
	run(t, zarrfs(t), "mount", "--allow-other", store, mnt)
	defer unmount(t, mnt)
	made := []string{"printf ef >> a.raw", "printf gh >> a.raw"}
	for i, write := range append(made, writes...) {
		out, err := asUser(t, stranger, team, "cd "+mnt+" && "+write)
		if err != nil {
			t.Errorf("a user of the group cannot `%s`: %s (%v)", write, out, err)
		}
		var st unix.Stat_t
		err = unix.Stat(filepath.Join(store, "a/c", fmt.Sprint(i+2)), &st)
		got := fmt.Sprintf("%o of %d:%d", st.Mode&0o7777, st.Uid, st.Gid)
		want := fmt.Sprintf("2775 of %d:%d", owner, team)
		if i < len(made) && (err != nil || got != want) {
			t.Errorf("`%s` made a folder with mode %s (%v), want %s", write, got, err, want)
		}
	}
	if left := run(t, "ls", store); left != "zarr.json\n" {
		t.Errorf("left after the removals: %s", left)
	}
}

// TestOthersSeeNoPrivatePictures: with --allow-other, pictures and pages show a user nothing that
// the user may not read in the store, even after the owner has seen them.
func TestOthersSeeNoPrivatePictures(t *testing.T) {
	needRoot(t)
	store := filepath.Join(everybodysDir(t), "store")
	scales := `{"multiscales": [{"datasets": [{"path": "fine"}, {"path": "coarse/a"}]}]}`
	run(t, zarrfs(t), "create", store, "image", "--group", "--attributes", scales)
	for _, array := range []string{"a", "image/fine", "image/coarse/a", "group/secret", "names/b"} {
		shape := "2048,2048"
		if array == "image/fine" {
			shape = "4096,4096"
		}
		run(t, zarrfs(t), "create", store, array, "--shape", shape, "--chunks", "1024,1024",
			"--dtype", "u2")
	}
	run(t, zarrfs(t), "create", store, "hidden", "--group", "--attributes", scales)
	run(t, zarrfs(t), "create", store, "hidden/plain", "--shape", "4,6", "--dtype", "u2")
	mnt := t.TempDir()
	run(t, zarrfs(t), "mount", store, mnt)
	shell(t, mnt, "for f in a image/fine image/coarse/a; do head -c 8M /dev/urandom > $f.raw; done")
	unmount(t, mnt)
	for path, mode := range map[string]os.FileMode{
		"a/c/1/1": 0o600, "image/coarse": 0o700, "group": 0o711, "names": 0o711,
		"group/secret/zarr.json": 0o600, "hidden/zarr.json": 0o600,
	} {
		if err := os.Chmod(filepath.Join(store, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	mnt = filepath.Join(everybodysDir(t), "mnt")
	os.Mkdir(mnt, 0o755)
	run(t, zarrfs(t), "mount", "--allow-other", store, mnt)
	defer unmount(t, mnt)
	files := strings.Fields("a.png a.nc a.h5 image/fine.png group.html names.nc names.h5")
	for _, uid := range []uint32{stranger, 0, stranger} {
		for _, file := range files {
			out, err := asUser(t, uid, uid, "cat "+mnt+"/"+file)
			if text := string(out); uid != 0 && !strings.Contains(text, "Permission denied") {
				t.Errorf("a stranger reads %d bytes of %s (%v)", len(text), file, err)
			}
			if uid == 0 && err != nil {
				t.Errorf("root cannot read %s: %s", file, out)
			}
		}
	}
	for _, file := range strings.Fields("h.nii h.tif h.raw.hdr h@{0=1:}.nii h@{1=::2}.mha") {
		file = strings.Replace(file, "h", "hidden/plain", 1)
		out, err := asUser(t, stranger, stranger, "cat '"+mnt+"/"+file+"'")
		if !strings.Contains(string(out), "Permission denied") {
			t.Errorf("a stranger reads %d bytes of %s (%v)", len(out), file, err)
		}
		if out, err := asUser(t, 0, 0, "cat '"+mnt+"/"+file+"' >/dev/null"); err != nil {
			t.Errorf("root cannot read %s: %s", file, out)
		}
	}
	if out, err := asUser(t, stranger, stranger, "cat "+mnt+"/hidden/plain.raw"); err != nil {
		t.Errorf("a stranger cannot read the array: %s", out)
	}
	os.Chmod(filepath.Join(store, "group"), 0o755)
	out, err := asUser(t, stranger, team, "cat "+mnt+"/group.html")
	text := string(out)
	if err != nil || !strings.Contains(text, "secret") || strings.Contains(text, "2048") {
		t.Errorf("the page of a group with a private array is %s (%v)", text, err)
	}
}
