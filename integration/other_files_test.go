package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests of this file are about files that are not arrays. A mount keeps them in a folder when
// it ends.

// otherFiles are files that are not arrays, by their paths in a mount of libraryStore.
var otherFiles = map[string]string{
	"notes.txt": "hello\n", "X.NPY": "no array", "info": "of dask's npy stack",
	"g/f.raw": strings.Repeat("\x01\x02", 1<<19), "g/empty": "",
}

// writeOthers writes otherFiles into a mount, and a file that is nearly all hole.
func writeOthers(t *testing.T, d *daemon) {
	t.Helper()
	for name, data := range otherFiles {
		put := d.path(name)
		if err := os.WriteFile(put, []byte(data), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	shell(t, d.dir, `truncate -s 100M g/sparse; echo end >> g/sparse; echo gone > .a.npy.Xy7z12; `+
		`rm .a.npy.Xy7z12`)
}

// checkKept looks for the files of writeOthers in the only folder of a mount below dir, and returns
// that folder.
func checkKept(t *testing.T, dir, store, mnt string) string {
	t.Helper()
	folders, _ := filepath.Glob(filepath.Join(dir, "s-*"))
	if len(folders) != 1 {
		t.Fatalf("%s has %q", dir, folders)
	}
	got := tree(t, folders[0])
	var note struct{ Store, Mount string }
	if err := json.Unmarshal([]byte(got["zarrfs-note.json"]), &note); err != nil ||
		note.Store != store || note.Mount != mnt {
		t.Errorf("the note says %s, %v", got["zarrfs-note.json"], err)
	}
	sparse := got["g/sparse"]
	if len(sparse) != 100<<20+4 || !strings.HasSuffix(sparse, "\x00end\n") {
		t.Errorf("g/sparse has %d bytes", len(sparse))
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(folders[0], "g/sparse"), &st); err != nil ||
		st.Blocks > 1000 {
		t.Errorf("g/sparse takes %d blocks, %v", st.Blocks, err)
	}
	delete(got, "zarrfs-note.json")
	delete(got, "g/sparse")
	sameTree(t, got, otherFiles)
	return folders[0]
}

// TestOtherFilesAreKept ends a mount in all ways but a kill. What is not an array is then in a
// folder that was named before.
func TestOtherFilesAreKept(t *testing.T) {
	ends := map[string]func(*testing.T, *daemon) string{
		"zarrfs umount": func(t *testing.T, d *daemon) string {
			return run(t, d.bin, "umount", d.dir)
		},
		"lazily": func(t *testing.T, d *daemon) string {
			return run(t, d.bin, "umount", "--lazy", d.dir)
		},
		"umount(8)": func(t *testing.T, d *daemon) string {
			for range 100 { // a `zarrfs status` of another test may look at the mount
				if unix.Unmount(d.dir, 0) == nil {
					return ""
				}
				time.Sleep(20 * time.Millisecond)
			}
			return run(t, "fusermount3", "-u", d.dir)
		},
		"SIGTERM": func(t *testing.T, d *daemon) string { return signalled(t, d, syscall.SIGTERM) },
		"SIGINT":  func(t *testing.T, d *daemon) string { return signalled(t, d, syscall.SIGINT) },
	}
	for name, end := range ends {
		for _, format := range []string{"2", "3"} {
			t.Run(name+", format "+format, func(t *testing.T) {
				state := t.TempDir()
				t.Setenv("XDG_STATE_HOME", state)
				store := libraryStore(t, format)
				before := storeTree(t, store)
				d := started(t, store)
				writeOthers(t, d)
				said := end(t, d)
				if err := d.wait(); err != nil {
					t.Fatal(err)
				}
				d.process = nil
				folder := checkKept(t, filepath.Join(state, "zarrfs/other-files"), store, d.dir)
				for _, want := range []string{folder, `"notes.txt"`, `"g/f.raw"`} {
					if strings.HasPrefix(name, "zarrfs") && !strings.Contains(said, want) {
						t.Errorf("umount does not say %s:\n%s", want, said)
					}
				}
				first, _, _ := strings.Cut(d.logged(), "msg=\"kept a file")
				if !strings.Contains(first, folder) {
					t.Errorf("the log does not name the folder before:\n%s", d.logged())
				}
				sameTree(t, storeTree(t, store), before)
			})
		}
	}
}

func signalled(t *testing.T, d *daemon, s syscall.Signal) string {
	t.Helper()
	if err := d.process.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	return ""
}

// TestOtherFilesAreSaid closes a file that is not an array: the log soon says once that it is not
// stored, and says nothing of temporary files.
func TestOtherFilesAreSaid(t *testing.T) {
	scratch := t.TempDir()
	d := started(t, libraryStore(t, "3"), "--scratch-dir", scratch)
	shell(t, d.dir, `echo hello > notes.txt; echo more >> notes.txt; cp a.npy .b.npy.Xy7z12
		mv .b.npy.Xy7z12 b.npy
		echo x > 4913; rm 4913`)
	deadline := time.Now().Add(patience)
	for ; !strings.Contains(d.logged(), "notes.txt"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the log does not say so")
		}
	}
	text := d.logged()
	if strings.Count(text, "is not in the store") != 1 ||
		!strings.Contains(text, "file=notes.txt bytes=11 folder="+scratch) {
		t.Errorf("the log says\n%s", text)
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-other-files/s-*/notes.txt"))
	if len(kept) != 1 || string(read(t, kept[0])) != "hello\nmore\n" {
		t.Errorf("the scratch folder has %q", kept)
	}
	if left, err := filepath.Glob(filepath.Join(d.store, ".zarrfs*")); err != nil || len(left) > 0 {
		t.Errorf("the mount leaves %q in the store, %v", left, err)
	}
}

// TestOtherFilesWithoutState mounts for a user who can have no state folder, as many services: the
// scratch folder has the files.
func TestOtherFilesWithoutState(t *testing.T) {
	store, scratch := libraryStore(t, "3"), t.TempDir()
	t.Setenv("XDG_STATE_HOME", "/dev/null/state")
	t.Setenv("TMPDIR", scratch)
	d := started(t, store)
	writeOthers(t, d)
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	checkKept(t, filepath.Join(scratch, "zarrfs-other-files"), store, d.dir)
}

// TestOtherFilesHaveNoRoom: there is no room in the folder for files that are not arrays. umount
// fails and leaves the mount. With --force the files are kept in the scratch folder.
func TestOtherFilesHaveNoRoom(t *testing.T) {
	needRoot(t)
	store, scratch := libraryStore(t, "3"), t.TempDir()
	t.Setenv("XDG_STATE_HOME", tmpfs(t, "256k"))
	t.Setenv("TMPDIR", scratch)
	d := started(t, store)
	writeOthers(t, d)
	out, err := command(d.bin, "umount", d.dir)
	if exitCode(err) != 4 || !bytes.Contains(out, []byte("no space left")) ||
		!bytes.Contains(out, []byte("g/f.raw")) {
		t.Errorf("umount: %v\n%s", err, out)
	}
	if got := string(read(t, d.path("g/f.raw"))); got != otherFiles["g/f.raw"] {
		t.Errorf("the mount has %d bytes of g/f.raw", len(got))
	}
	out, err = command(d.bin, "umount", "--force", d.dir)
	if exitCode(err) != 4 ||
		!bytes.Contains(out, []byte(filepath.Join(scratch, "zarrfs-other-files"))) {
		t.Errorf("umount --force: %v\n%s", err, out)
	}
	if err := d.wait(); err == nil || !strings.Contains(d.logged(), "no space left") {
		t.Errorf("the daemon ends with %v, and logs\n%s", err, d.logged())
	}
	d.process = nil
	folders, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-other-files/s-*"))
	if len(folders) != 1 ||
		string(read(t, filepath.Join(folders[0], "g/f.raw"))) != otherFiles["g/f.raw"] {
		t.Errorf("the scratch folder has %q", folders)
	}
}

// exitCode returns the exit code of a program that has failed, 0 if it has not.
func exitCode(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 0
}

// TestOtherFilesRefused mounts with --other-files refuse. What is not an array is an error with its
// reason, and editors and programs that copy still work.
func TestOtherFilesRefused(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		d := started(t, libraryStore(t, format), "--other-files", "refuse")
		for name, want := range map[string]string{
			"notes.txt": "not the file of an array", "g/info": "not the file of an array",
			"X.NPY": "small letters, .npy", "g/f.raw": `no array "f"`,
		} {
			err := os.WriteFile(d.path(name), []byte("x"), 0o666)
			if !isErrno(err, "operation not supported") {
				t.Errorf("%s: %v", name, err)
			}
			why := xattr(t, filepath.Dir(d.path(name)), "user.zarrfs.error")
			if !strings.Contains(why, want) {
				t.Errorf("user.zarrfs.error after %s: %s", name, why)
			}
			if !strings.Contains(d.logged(), want) &&
				!strings.Contains(d.logged(), strings.ReplaceAll(want, `"`, `\"`)) {
				t.Errorf("the log after %s says\n%s", name, d.logged())
			}
		}
		if err := os.WriteFile(d.path(".hidden"), nil, 0o666); err != nil {
			t.Error(err)
		}
		err := os.Rename(d.path(".hidden"), d.path("shown"))
		if !isErrno(err, "operation not supported") {
			t.Errorf("a temporary file gets a name: %v", err)
		}
		if err := os.Remove(d.path(".hidden")); err != nil {
			t.Error(err)
		}
		t.Run("tools, format "+format, func(t *testing.T) { editWithTools(t, d) })
		if out, err := command(d.bin, "umount", d.dir); err != nil || len(out) > 0 {
			t.Errorf("umount: %v\n%s", err, out)
		}
		d.wait()
		d.process = nil
	}
}

// editWithTools edits and copies with programs that make temporary files.
func editWithTools(t *testing.T, d *daemon) {
	need(t, "vim", "rsync", "perl")
	units := func(want string) {
		t.Helper()
		if got := xattr(t, d.path("a.json"), "user.zarr.attr.units"); got != `"`+want+`"` {
			t.Errorf("the units are %s, expected %s", got, want)
		}
	}
	shell(t, d.dir, `sed -i 's/"K"/"sed"/' a.json`)
	units("sed")
	shell(t, d.dir, `perl -pi -e 's/"sed"/"perl"/' a.json`)
	units("perl")
	shell(t, d.dir, `perl -pi.bak -e 's/"perl"/"bak"/' a.json; rm a.json.bak`)
	units("bak")
	shell(t, d.dir, `vim -u NONE -es -c 'set backup backupcopy=no' -c '%s/"bak"/"vim"/' -c wq `+
		`a.json </dev/null; rm -f a.json~`)
	units("vim")
	src := t.TempDir()
	shell(t, src, `cp `+d.path("a.npy")+` n.npy; cp `+d.path("a.json")+` a.json
		sed -i 's/"vim"/"rsync"/' a.json; touch -d tomorrow a.json
		rsync -a ./ `+d.dir+`/; cmp n.npy `+d.path("n.npy"))
	units("rsync")
	shell(t, src, `cp n.npy `+d.path("m.npy.part")+`; mv `+d.path("m.npy.part")+` `+d.path("m.npy")+
		`; cmp n.npy `+d.path("m.npy"))
	shell(t, src, `echo text > text.txt; ! rsync text.txt `+d.dir+`/ 2>/dev/null; test ! -e `+
		d.path("text.txt"))
}

// TestOtherFilesOutliveAKill kills the mount's process. What programs had closed or synced of files
// that are not arrays is in a folder. The umount of the dead mount names it, and so does the next
// mount.
func TestOtherFilesOutliveAKill(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	store := libraryStore(t, "3")
	d := started(t, store)
	synced, err := os.Create(d.path("g/synced.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer synced.Close()
	if _, err := synced.WriteString("synced"); err != nil {
		t.Fatal(err)
	}
	if err := synced.Sync(); err != nil {
		t.Fatal(err)
	}
	shell(t, d.dir, `echo closed > notes.txt
		echo old > saved; echo new > .saved.swp; mv .saved.swp saved
		echo gone > gone.txt; rm gone.txt; cp a.npy .b.npy.Xy7z12; mv .b.npy.Xy7z12 b.npy`)
	syscall.Kill(d.process.Process.Pid, syscall.SIGKILL)
	d.wait()
	d.process = nil
	said := d.unmountKilled(t)
	folders, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-other-files-*"))
	if len(folders) != 1 {
		t.Fatalf("the scratch folder has %q", folders)
	}
	got := map[string]string{}
	for name, text := range tree(t, folders[0]) {
		_, shown, _ := strings.Cut(name, "-") // after a number
		got[shown] = text
	}
	delete(got, "note.json")
	want := map[string]string{"g%2Fsynced.txt": "synced", "notes.txt": "closed\n", "saved": "new\n"}
	sameTree(t, got, want)
	for _, want := range []string{folders[0], store, d.dir, "notes.txt"} {
		if !strings.Contains(said, want) {
			t.Errorf("umount does not say %s:\n%s", want, said)
		}
	}
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	if text := d.logged(); !strings.Contains(text, folders[0]) {
		t.Errorf("the next mount logs\n%s", text)
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	if out := run(t, d.bin, "mount", store, d.dir); !strings.Contains(out, folders[0]) {
		t.Errorf("a mount in the background says %q", out)
	}
	run(t, d.bin, "umount", d.dir)
	os.RemoveAll(folders[0])
	if out := run(t, d.bin, "mount", store, d.dir); out != "" {
		t.Errorf("a mount with nothing left says %q", out)
	}
	run(t, d.bin, "umount", d.dir)
}
