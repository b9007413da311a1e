package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// folders returns the staging folders in dir.
func folders(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if isStaging(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// die ends a driver as SIGKILL does: its locks are gone, its files are not.
func die(d *Driver) {
	s := d.root.Load().area.staged
	s.closeIdle()
	s.owner.Close()
	d.root.Store(nil)
}

// stageIn opens a store in dir and stages one object.
func stageIn(t *testing.T, dir, key string) (*Driver, *store.Staged) {
	t.Helper()
	d := open(t, dir, ways["beneath"])
	o, err := store.New(d, "").Stage(t.Context(), key, []byte("staged"))
	if err != nil {
		t.Fatal(err)
	}
	return d, o
}

// The staging folder is made with the first object, not seen in listings, and gone after Close,
// with what was staged in it.
func TestStagingFolder(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, ways["beneath"])
	wantNames(t, dir)
	d, o := stageIn(t, dir, "a")
	if names := folders(t, dir); len(names) != 1 {
		t.Fatalf("staging folders: %q, want one", names)
	}
	list := func(e store.Entry) error { t.Errorf("listed: %+v", e); return nil }
	s := store.New(d, "")
	if err := s.List(t.Context(), "", list); err != nil {
		t.Error(err)
	}
	each := func(e store.Entry, _ store.Info) error { return list(e) }
	if err := s.Survey(t.Context(), "", each); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	wantNames(t, dir)
	if _, err := o.Commit(t.Context(), store.If{}); err == nil {
		t.Error("Commit after Close: no error")
	}
	wantNames(t, dir)
}

// Nobody writes into a staging folder by its name, nor removes or renames it.
func TestStagingFolderIsNotAKey(t *testing.T) {
	dir := t.TempDir()
	d, _ := stageIn(t, dir, "a")
	s, name := store.New(d, ""), folders(t, dir)[0]
	_, _, errRead := s.ReadAll(t.Context(), name+"/none", 1)
	errs := map[string]error{
		"Put":       s.Put(t.Context(), name+"/x", nil),
		"Delete":    s.Delete(t.Context(), name+"/"+ownerName, store.If{}),
		"RemoveAll": s.Dirs().RemoveAll(t.Context(), name),
		"Rename":    s.Dirs().Rename(t.Context(), name, "b"),
		"Rename to": s.Dirs().Rename(t.Context(), "a", name+"/a"),
	}
	for what, err := range errs {
		if err == nil {
			t.Errorf("%s in a staging folder: no error", what)
		}
	}
	if !errors.Is(errRead, fs.ErrNotExist) {
		t.Errorf("read: %v", errRead)
	}
}

// Clean removes what the dead left, and nothing of the living, whether another process or this one.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"a": []byte("old"), "c/0": nil})
	living, _ := stageIn(t, dir, "a")
	dead, _ := stageIn(t, dir, "a")
	s := dead.root.Load().area.staged
	// It dies while it holds locks: one by a link, one where there was a lock file already; and
	// beside a temporary copy.
	writeFiles(t, dir, map[string][]byte{"c/0" + lockSuffix: nil,
		"c/" + tempPrefix + "1" + tempSuffix: []byte("half")})
	for _, key := range []string{"a", "c/0"} {
		p, err := dead.root.Load().place(key)
		if err != nil {
			t.Fatal(err)
		}
		lock, err := s.lock(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(lock.file)
		p.close()
	}
	if err := s.note("c/" + tempPrefix + "1" + tempSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "a"+lockSuffix)); err != nil {
		t.Fatal(err)
	}
	die(dead)
	if err := living.Clean(t.Context()); err != nil {
		t.Error(err)
	}
	wantNames(t, dir, folders(t, dir)[0], "a", "c")
	wantNames(t, filepath.Join(dir, "c"), "0")
	if err := open(t, dir, ways["slowly"]).Clean(t.Context()); err != nil {
		t.Error(err)
	}
	if len(folders(t, dir)) != 1 {
		t.Error("the folder of the living was removed")
	}
}

// A note counts though another thread was to write one before it, over an older one, and was killed
// before it did.
func TestCleanBesideMissingNote(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"a": nil, "c/0" + lockSuffix: nil})
	dead, _ := stageIn(t, dir, "a")
	s := dead.root.Load().area.staged
	if err := s.note("long/name/of/another" + lockSuffix); err != nil {
		t.Fatal(err)
	}
	s.forget()
	s.reserve(len("long/name"))
	if err := s.note("c/0" + lockSuffix); err != nil {
		t.Fatal(err)
	}
	die(dead)
	if err := open(t, dir, ways["beneath"]).Clean(t.Context()); err != nil {
		t.Error(err)
	}
	wantNames(t, dir, "a", "c")
	wantNames(t, filepath.Join(dir, "c"))
}

// A program that is killed holds its locks until it has ended, some longer than others. What it
// left stays so long, and is removed later, at the latest by Close.
func TestCleanDefersLiveOwners(t *testing.T) {
	for _, longest := range []string{"owner", "key"} {
		for _, when := range []string{"later", "at Close"} {
			t.Run(longest+" locked, cleaned "+when, func(t *testing.T) {
				dir := t.TempDir()
				writeFiles(t, dir, map[string][]byte{"a": []byte("old")})
				end := dying(t, dir, "a", longest)
				d := open(t, dir, ways["beneath"])
				if err := d.Clean(t.Context()); err != nil {
					t.Error(err)
				}
				if len(folders(t, dir)) != 1 {
					t.Error("its folder was removed")
				}
				end()
				if when == "at Close" {
					d.Close()
				} else {
					for deadline := time.Now().Add(time.Minute); len(folders(t, dir)) > 0 &&
						time.Now().Before(deadline); {
						time.Sleep(10 * time.Millisecond)
					}
				}
				wantNames(t, dir, "a")
			})
		}
	}
}

// dying opens a store in dir and kills its program while it holds the lock of key. One of its two
// locks it keeps until end.
func dying(t *testing.T, dir, key, longest string) (end func()) {
	t.Helper()
	d, _ := stageIn(t, dir, key)
	p, err := d.root.Load().place(key)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	lock, err := d.root.Load().area.staged.lock(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if longest == "owner" {
		unix.Close(lock.file)
		return func() { die(d) }
	}
	die(d)
	return func() { unix.Close(lock.file) }
}

// A hostile store cannot make Clean remove what is not a leftover, or reach outside.
func TestCleanHostile(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "store")
	notes := []string{"../secret" + lockSuffix, "/etc/x" + lockSuffix, "out/secret" + lockSuffix,
		"a", "g/zarr.json", ".", "..", "", "held" + lockSuffix,
		"g" + lockSuffix, strings.Repeat("x/", 5000), "none/none" + lockSuffix, "fifo" + lockSuffix,
		"in/g" + tempSuffix}
	writeFiles(t, top, map[string][]byte{
		"secret" + lockSuffix: nil, "outside/secret" + lockSuffix: nil, "outside/owner": nil,
		"outside/x": nil, "store/a": nil, "store/g/zarr.json": nil,
		"store/held" + lockSuffix: nil, "store/g" + lockSuffix + "/x": nil,
		"store/.zarrfs-0123456789abcdef/owner": []byte(strings.Join(notes, "\x00")),
		"store/.zarrfs-0123456789abcdef/0":     nil,
		"store/.zarrfs-1111111111111111":       []byte("a file"),
		"store/.zarrfs-no/x":                   nil,
	})
	for link, target := range map[string]string{
		"store/out": "../outside", "store/.zarrfs-2222222222222222": "../outside",
		"store/.zarrfs-0123456789abcdef/1": "../../outside",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"+lockSuffix), 0o666); err != nil {
		t.Fatal(err)
	}
	held, err := openIn(unix.AT_FDCWD, filepath.Join(dir, "held"+lockSuffix), unix.O_WRONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := tryLock(int(held.Fd())); err != nil {
		t.Skip(err)
	}
	d := open(t, dir, ways["beneath"])
	if err := d.Clean(t.Context()); err != nil {
		t.Error(err)
	}
	left := []string{".zarrfs-1111111111111111", ".zarrfs-2222222222222222", ".zarrfs-no", "a",
		"fifo" + lockSuffix, "g", "g" + lockSuffix}
	wantNames(t, dir, append(append([]string{".zarrfs-0123456789abcdef"}, left...),
		"held"+lockSuffix, "out")...)
	held.Close()
	d.Close()
	wantNames(t, dir, append(left, "out")...)
	wantNames(t, top, "outside", "secret"+lockSuffix, "store")
	wantNames(t, filepath.Join(top, "outside"), "owner", "secret"+lockSuffix, "x")
}

// Clean removes a lock that a power cut has left without its note. It also removes a lock whose
// directory was renamed after the note. A lock that is not of the dead program stays.
func TestCleanStrayLocks(t *testing.T) {
	dir := t.TempDir()
	staging := stagingPrefix + "0123456789abcdef"
	writeFiles(t, dir, map[string][]byte{
		staging + "/" + ownerName: nil, staging + "/lock-a": nil, staging + "/lock-b": nil,
		staging + "/lock-idle": nil,
		"g/a/zarr.json":        nil, "g/a/c/0/0": nil, "other/c/0.__lock": nil,
	})
	for from, to := range map[string]string{"lock-a": "g/a/c/0/0.__lock",
		"lock-b": "other/1.0.__lock"} {
		if err := os.Link(filepath.Join(dir, staging, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, dir, ways["beneath"]).Clean(t.Context()); err != nil {
		t.Error(err)
	}
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	wantNames(t, filepath.Join(dir, "g/a/c/0"), "0")
	wantNames(t, filepath.Join(dir, "other"), "c")
	wantNames(t, filepath.Join(dir, "other/c"), "0.__lock")
}

// A program that overwrites the store removes the staging folder with all else: writing goes on in
// a new one.
func TestStagingFolderRemoved(t *testing.T) {
	dir := t.TempDir()
	d, o := stageIn(t, dir, "a")
	if err := os.RemoveAll(filepath.Join(dir, folders(t, dir)[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Commit(t.Context(), store.If{}); err == nil {
		t.Error("Commit of a file that was removed: no error")
	}
	s := store.New(d, "")
	if err := s.Put(t.Context(), "a", []byte("new")); err != nil {
		t.Error(err)
	}
	if data, _, err := s.ReadAll(t.Context(), "a", 10); string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	d.Close()
	wantNames(t, dir, "a")
}

// If that happens while an object is written in parts, it is written once more, and whole.
func TestStagingFolderRemovedBetweenParts(t *testing.T) {
	dir := t.TempDir()
	d, first := stageIn(t, dir, "b")
	s, calls := store.New(d, ""), 0
	o, err := s.StageParts(t.Context(), "a", func(dst store.Parts) error {
		_, err := dst.Write([]byte("one "))
		if calls++; calls == 1 {
			if err := os.RemoveAll(filepath.Join(dir, folders(t, dir)[0])); err != nil {
				t.Fatal(err)
			}
		}
		if err == nil {
			_, err = dst.Write([]byte("two"))
		}
		return err
	})
	if err != nil || calls != 2 {
		t.Fatalf("%v, written %d times; expected 2", err, calls)
	}
	if _, err := o.Commit(t.Context(), store.If{}); err != nil {
		t.Error(err)
	}
	if data, _, err := s.ReadAll(t.Context(), "a", 10); string(data) != "one two" {
		t.Errorf("%q, %v", data, err)
	}
	first.Discard()
	d.Close()
	wantNames(t, dir, "a")
}

// Commit waits for a lock that somebody holds, as long as ctx allows. It takes over a lock that a
// dead program left, even if the file has content.
func TestKeyLock(t *testing.T) {
	dir := t.TempDir()
	s := store.New(open(t, dir, ways["beneath"]), "")
	writeFiles(t, dir, map[string][]byte{"a" + lockSuffix: []byte("half an object of tensorstore")})
	held, err := openIn(unix.AT_FDCWD, filepath.Join(dir, "a"+lockSuffix), unix.O_WRONLY)
	if err != nil {
		t.Fatal(err)
	}
	if err := tryLock(int(held.Fd())); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	o, err := s.Stage(t.Context(), "a", []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Commit(ctx, store.If{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Commit while somebody holds the lock: %v, want a deadline", err)
	}
	if err := s.Delete(t.Context(), "a", store.If{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Delete of nothing needs no lock: %v", err)
	}
	done := make(chan error)
	go func() { done <- s.Put(t.Context(), "a", []byte("new")) }()
	select {
	case err := <-done:
		t.Errorf("Put did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	held.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if data, _, err := s.ReadAll(t.Context(), "a", 10); string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	s.Close()
	wantNames(t, dir, "a")
}

// Lock files are used again, and are never locked while they are idle: somebody may wait for the
// lock that one was.
func TestLateWaiter(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ways["beneath"])
	s := store.New(d, "")
	p := place{}
	for range 3 {
		if _, err := s.Stage(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		r := d.root.Load()
		var err error
		if p, err = r.place("a"); err != nil {
			t.Fatal(err)
		}
		lock, err := r.area.staged.lock(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		late, err := openIn(p.dir, lock.p.name, unix.O_WRONLY)
		if err != nil {
			t.Fatal(err)
		}
		lock.unlock()
		if err := tryLock(int(late.Fd())); err != nil {
			t.Errorf("a program that opened the lock file before it was unlocked: %v", err)
		}
		// meanwhile that lock file is of no use
		if err := s.Put(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
		late.Close()
		p.close()
	}
}

// Every name that can be an object's can be locked.
func TestLockName(t *testing.T) {
	for _, n := range []int{1, 248, 249, 255} {
		name := lockName(strings.Repeat("n", n))
		isUsual := name == strings.Repeat("n", n)+".__lock"
		if len(name) > 255 || !isHidden(name) || (n <= 248) != isUsual {
			t.Errorf("lock of a name of %d bytes: %q", n, name)
		}
	}
	if lockName(strings.Repeat("a", 255)) == lockName(strings.Repeat("b", 255)) {
		t.Error("two objects share a lock")
	}
}
