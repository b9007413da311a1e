package dirstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// mountTmpfs mounts a file system in memory at dir, or skips the test.
func mountTmpfs(t *testing.T, dir, options string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("SKIPPED: cannot mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { unmount(t, dir) })
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	err := unix.Unmount(dir, 0)
	if err == unix.EBUSY {
		runtime.GC() // the root's descriptors
		err = unix.Unmount(dir, unix.MNT_DETACH)
	}
	if err != nil {
		t.Errorf("unmount %s: %v", dir, err)
	}
}

// On a full disk the error is ENOSPC, the old object stays, nothing is left behind, what removes
// works, and then there is room again.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=1m,nr_inodes=30")
	s := store.New(open(t, dir, ways["beneath"]), "")
	big := bytes.Repeat([]byte("x"), 300<<10)
	for round := range 10 {
		var err error
		n := 0
		for ; err == nil; n++ {
			err = s.Put(t.Context(), fmt.Sprintf("g/c/%d", n), big)
		}
		if !errors.Is(err, unix.ENOSPC) || n != 4 {
			t.Fatalf("round %d: the %dth object of 300 KiB in 1 MiB: %v, want ENOSPC for the 4th",
				round, n, err)
		}
		if err := s.Put(t.Context(), "g/c/0", big); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("round %d: replacing an object: %v, want ENOSPC", round, err)
		}
		if data, _, err := s.ReadAll(t.Context(), "g/c/0", 1<<20); !bytes.Equal(data, big) {
			t.Errorf("round %d: the old object: %d bytes, %v", round, len(data), err)
		}
		wantNames(t, filepath.Join(dir, "g/c"), "0", "1", "2")
		if err := s.Delete(t.Context(), "g/c/2", store.If{}); err != nil {
			t.Error(err)
		}
		if err := s.Put(t.Context(), "g/c/0", big); err != nil {
			t.Errorf("round %d: after space was freed: %v", round, err)
		}
		if err := s.Dirs().RemoveAll(t.Context(), "g"); err != nil {
			t.Error(err)
		}
	}
}

// Where there is room not even for a lock or a folder, objects and trees can be removed
// nevertheless.
func TestDiskQuiteFull(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=1m,nr_inodes=8")
	// and the root
	writeFiles(t, dir, map[string][]byte{"a": nil, "b": nil, "g/zarr.json": nil, "g/c/0": nil})
	s := store.New(open(t, dir, ways["beneath"]), "")
	if err := os.WriteFile(filepath.Join(dir, "last"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "new", nil); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Put: %v, want ENOSPC", err)
	}
	if err := s.Delete(t.Context(), "a", store.If{Version: "another"}); !errors.Is(err,
		store.ErrConflict) {
		t.Errorf("Delete of another version: %v", err)
	}
	if err := s.Delete(t.Context(), "a", store.If{}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "last2"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Dirs().RemoveAll(t.Context(), "g"); err != nil {
		t.Error(err)
	}
	wantNames(t, dir, "b", "last", "last2")
}

// A store on a read-only file system says so, and stays as it is.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=1m")
	writeFiles(t, dir, map[string][]byte{"a": []byte("old"), "g/zarr.json": nil})
	s := store.New(open(t, dir, ways["beneath"]), "")
	if !s.IsWritable() {
		t.Error("not Writable")
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if s.IsWritable() {
		t.Error("Writable on a read-only file system")
	}
	errs := map[string]error{
		"Put": s.Put(t.Context(), "a", nil), "Delete": s.Delete(t.Context(), "a", store.If{}),
		"RemoveAll": s.Dirs().RemoveAll(t.Context(), "g"),
		"Rename":    s.Dirs().Rename(t.Context(), "a", "b"),
	}
	for what, err := range errs {
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s on a read-only file system: %v, want EROFS", what, err)
		}
	}
	if err := s.Unfinished().Clean(t.Context()); err != nil {
		t.Error(err)
	}
	if data, _, err := s.ReadAll(t.Context(), "a", 10); string(data) != "old" {
		t.Errorf("%q, %v", data, err)
	}
}

// Another file system mounted below the root is written to, and trees in it are removed, though
// nothing can be renamed into it.
func TestMountBelow(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, filepath.Join(dir, "g/far"), "size=1m")
	s := store.New(open(t, dir, ways["beneath"]), "")
	cond := store.If{Version: store.Absent}
	for i := range 3 {
		o, err := s.Stage(t.Context(), "g/far/a/0", bytes.Repeat([]byte{byte(i)}, 100_000))
		if err != nil {
			t.Fatal(err)
		}
		info, err := o.Commit(t.Context(), cond)
		if err != nil {
			t.Fatal(err)
		}
		if info.Replaces != (i > 0) {
			t.Errorf("commit %d has replaced an object: %v", i, info.Replaces)
		}
		info.Replaces = false
		if stat, err := s.Stat(t.Context(), "g/far/a/0"); err != nil || stat != info {
			t.Errorf("Commit reports %+v, Stat %+v, %v", info, stat, err)
		}
		cond.Version = info.Version
	}
	if err := s.Put(t.Context(), "g/far/a/zarr.json", nil); err != nil {
		t.Error(err)
	}
	wantNames(t, filepath.Join(dir, "g/far/a"), "0", "zarr.json")
	if err := s.Put(t.Context(), "g/far/big", make([]byte, 2<<20)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Put of more than there is room for: %v, want ENOSPC", err)
	}
	if err := s.Dirs().Rename(t.Context(), "g/far/a", "b"); !errors.Is(err, unix.EXDEV) {
		t.Errorf("Rename to another file system: %v, want EXDEV", err)
	}
	if err := s.Dirs().Rename(t.Context(), "g/far/a", "g/far/b"); err != nil {
		t.Error(err)
	}
	if err := s.Dirs().RemoveAll(t.Context(), "g/far/b"); err != nil {
		t.Error(err)
	}
	wantNames(t, filepath.Join(dir, "g/far"))
}

// A power cut is the shutdown of an ext4 file system without a flush. Objects that were synced
// before they were committed are whole, old or new. After SyncDirs the new ones are there.
func TestPowerCut(t *testing.T) {
	top := t.TempDir()
	image, dir := filepath.Join(top, "image"), filepath.Join(top, "mnt")
	makeExt4(t, image, dir)
	for cut := range 5 {
		loop(t, image, dir)
		out, err := child(t, nil, "cut", dir, strconv.Itoa(cut)).CombinedOutput()
		unmount(t, dir)
		if err != nil {
			t.Fatalf("cut %d: %v: %s", cut, err, out)
		}
		loop(t, image, dir)
		for i, key := range cutKeys(cut) {
			data, err := os.ReadFile(filepath.Join(dir, key))
			isNew := bytes.Equal(data, cutData(cut+1))
			isOld := cut%2 == 1 && bytes.Equal(data, cutData(cut)) || cut%2 == 0 &&
				errors.Is(err, fs.ErrNotExist)
			if !isNew && (i < cutSynced || !isOld) {
				t.Errorf("cut %d: object %d, %s: %d bytes, %v: lost, or torn", cut, i, key,
					len(data), err)
			}
		}
		unmount(t, dir)
	}
}

// cutSynced is how many of the objects of a cut are followed by SyncDirs.
const cutSynced = 20

// cutKeys are the objects that are written before a cut: every other time new ones.
func cutKeys(cut int) (keys []string) {
	for i := range 2 * cutSynced {
		keys = append(keys, fmt.Sprintf("array%d/c/%d/%d", cut/2, i/10, i%10))
	}
	return keys
}

func cutData(cut int) []byte { return bytes.Repeat([]byte{byte(cut)}, 50_000) }

func init() {
	children["cut"] = func(args []string) error {
		dir, ctx := args[0], context.Background()
		cut, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		s, err := openStore(dir, "")
		if err != nil {
			return err
		}
		if err := s.Unfinished().Clean(ctx); err != nil {
			return err
		}
		if err := commitAll(ctx, s, cutKeys(cut), cutData(cut+1)); err != nil {
			return err
		}
		if err := s.SyncDirs(ctx, cutKeys(cut)[:cutSynced]); err != nil {
			return err
		}
		return cutPower(dir)
	}
}

// makeExt4 makes a file system in image to mount at dir, or skips the test.
func makeExt4(t *testing.T, image, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: a power cut needs root")
	}
	if err := os.WriteFile(image, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Truncate(image, 32<<20), os.Mkdir(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no ext4: %v %s", err, out)
	}
}

func loop(t *testing.T, image, dir string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: cannot mount a loop device: %v %s", err, out)
	}
}

// cutPower shuts the file system at dir down, without flushing its log.
func cutPower(dir string) error {
	const shutdown, noLogFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush)
}

// Somebody swaps a directory with a link to the outside while objects are written, deleted, renamed
// and removed through it: nothing outside changes.
func TestWriteSwapRace(t *testing.T) {
	swaps := 10_000
	if testing.Short() {
		swaps = 1000
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			dir := hostile(t)
			outside := filepath.Join(dir, "../outside")
			writeFiles(t, dir, map[string][]byte{"dir/zarr.json": nil})
			s := store.New(open(t, dir, way), "")
			done := make(chan struct{})
			go func() {
				defer close(done)
				parent, err := os.Open(dir)
				if err != nil {
					t.Error(err)
					return
				}
				defer parent.Close()
				fd := int(parent.Fd())
				for range swaps {
					if err := unix.Renameat2(fd, "dir", fd, "rel-dir",
						unix.RENAME_EXCHANGE); err != nil {
						t.Error(err)
						return
					}
				}
			}()
			written, refused := 0, 0
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				for _, err := range vandalise(t, s) {
					if err == nil {
						written++
					} else {
						refused++
					}
				}
			}
			wantNames(t, outside, "in", "secret", "zarr.json")
			wantNames(t, filepath.Join(outside, "in"), "secret")
			for _, file := range []string{"secret", "zarr.json", "in/secret"} {
				if data, err := os.ReadFile(filepath.Join(outside, file)); string(data) != secret {
					t.Errorf("outside/%s: %q, %v", file, data, err)
				}
			}
			if written == 0 || refused == 0 {
				t.Logf("weak race: %d calls did something, %d were refused", written, refused)
			}
		})
	}
}

// vandalise does all that could harm dir and what a link in its place leads to.
func vandalise(t *testing.T, s *store.Store) []error {
	o, err := s.Stage(t.Context(), "dir/zarr.json", []byte("x"))
	if err == nil {
		_, err = o.Commit(t.Context(), store.If{})
	}
	return []error{
		err, s.Delete(t.Context(), "dir/secret", store.If{}),
		s.Dirs().Rename(t.Context(), "dir/secret", "loot"),
		s.Dirs().RemoveAll(t.Context(), "dir/in"),
		s.Dirs().Rename(t.Context(), "obj", "dir/obj"),
		s.Dirs().Rename(t.Context(), "dir/obj", "obj"),
	}
}

// RemoveAll of a link removes the link, wherever it leads, and goes through none.
func TestRemoveLink(t *testing.T) {
	dir := hostile(t)
	s := store.New(open(t, dir, ways["beneath"]), "")
	for _, key := range []string{"in-dir/h", "g/h/in-dir/h", "rel-dir/in", "abs-dir/in"} {
		if err := s.Dirs().RemoveAll(t.Context(), key); !errors.Is(err, store.ErrThroughLink) {
			t.Errorf("RemoveAll(%q): %v, want store.ErrThroughLink", key, err)
		}
	}
	for _, key := range []string{"in-dir", "rel-dir", "abs-dir", "in-file", "dangling", "loop"} {
		if err := s.Dirs().RemoveAll(t.Context(), key); err != nil {
			t.Errorf("RemoveAll(%q): %v", key, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, key)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("RemoveAll(%q) leaves the link: %v", key, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "g/h/obj")); string(data) != "inside" {
		t.Errorf("what in-dir led to: %q, %v", data, err)
	}
	if err := os.Symlink("../../outside", filepath.Join(dir, "g/h/trap")); err != nil {
		t.Fatal(err)
	}
	if err := s.Dirs().RemoveAll(t.Context(), "g"); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "../outside/in/secret")); !strings.HasPrefix(
		string(data), "SECRET") {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "g")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
