package integration

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests of this file hold promises of docs/SEMANTICS.md through a real mount.

const (
	groupDoc = `{"zarr_format": 3, "node_type": "group", "attributes": {"title": "test"}}`
	arrayDoc = `{"zarr_format": 3, "node_type": "array", "shape": [%d], "data_type": "uint16",
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%d]}},
		"chunk_key_encoding": {"name": "default"},
		"fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
		"attributes": {"units": "%s"}}`
	chunkLen   = 32768        // elements of a chunk of "a"
	chunkBytes = 2 * chunkLen // and its bytes
	chunks     = 16           // of "a", of which the first and the last are stored
)

// semanticsStore makes a store with an array "a" and a group "g".
func semanticsStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s.zarr")
	put(t, dir, "zarr.json", groupDoc)
	put(t, dir, "g/zarr.json", groupDoc)
	put(t, dir, "a/zarr.json", fmt.Sprintf(arrayDoc, chunks*chunkLen, chunkLen, "K"))
	put(t, dir, "a/c/0", numbers(1))
	put(t, dir, fmt.Sprintf("a/c/%d", chunks-1), numbers(2))
	return dir
}

// put stores an object as a whole, as good writers do.
func put(t *testing.T, dir, key, data string) {
	t.Helper()
	path := filepath.Join(dir, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".partial", []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".partial", path); err != nil {
		t.Fatal(err)
	}
}

// numbers is a chunk that counts from a multiple of first.
func numbers(first int) string {
	var b []byte
	for i := range chunkLen {
		b = binary.LittleEndian.AppendUint16(b, uint16(1000*first+i)|1)
	}
	return string(b)
}

// semanticsBytes are the bytes of "a".
func semanticsBytes() []byte {
	b := make([]byte, chunks*chunkBytes)
	copy(b, numbers(1))
	copy(b[len(b)-chunkBytes:], numbers(2))
	return b
}

// names returns what a directory holds.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestViewsUnlisted(t *testing.T) {
	dir := mount(t, semanticsStore(t), "--views", "npy")
	if got := names(t, dir); got != "a.npy g zarr.json" {
		t.Errorf("the mount holds %s", got)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a.raw")); err != nil ||
		!bytes.Equal(got, semanticsBytes()) {
		t.Errorf("a.raw, which is not listed: %d bytes, %v", len(got), err)
	}
}

// TestChosenViewsKeepValues: where views with data are listed, each array is listed with at least
// one. So the tree can be copied out of the mount and back, whatever views are chosen.
func TestChosenViewsKeepValues(t *testing.T) {
	tests := []struct{ views, listed string }{
		{"raw,json", "n.json n.raw s.json s.jsonl zarr.json"},
		{"jsonl,json", "n.json n.npy s.json s.jsonl zarr.json"},
		{"npy,json", "n.json n.npy s.json s.jsonl s.npy zarr.json"},
		{"json,nrrd", "n.json n.npy n.nrrd s.json s.jsonl zarr.json"},
	}
	for _, format := range []string{"2", "3"} {
		for _, test := range tests {
			t.Run(format+"/"+test.views, func(t *testing.T) {
				bin, store := zarrfs(t), filepath.Join(t.TempDir(), "s.zarr")
				run(t, bin, "create", store, "--group", "--format", format)
				run(t, bin, "create", store, "n", "--shape", "2", "--dtype", "int8")
				run(t, bin, "create", store, "s", "--shape", "2", "--dtype", "string")
				dir := mount(t, store, "--views", test.views)
				shell(t, dir, `printf '"a"\n"b\\u0000"\n' > s.jsonl; printf '\1\2' > n.raw`)
				if got := names(t, dir); got != test.listed {
					t.Errorf("the mount holds %s, expected %s", got, test.listed)
				}
				copied := filepath.Join(t.TempDir(), "copy")
				shell(t, dir, "cp -r . "+copied+"; rm -rf ./*; cp -r "+copied+"/. .")
				sameTree(t, map[string]string{
					"n": string(read(t, filepath.Join(dir, "n.raw"))),
					"s": string(read(t, filepath.Join(dir, "s.jsonl"))),
				}, map[string]string{
					"n": "\x01\x02", "s": "\"a\"\n\"b\\u0000\"\n",
				})
			})
		}
	}
}

// TestDocumentsAlone: a mount that lists only documents says that a copy lacks the values.
func TestDocumentsAlone(t *testing.T) {
	bin, dir := zarrfs(t), t.TempDir()
	said := run(t, bin, "mount", "--views", "json", semanticsStore(t), dir)
	defer unmount(t, dir)
	const text = "--views json lists no file with the values of arrays: " +
		"a copy of the mount lacks them"
	if !strings.Contains(said, text) {
		t.Errorf("it says %q, expected %q", said, text)
	}
}

// TestCopiesKeepHoles copies an array of which little is stored with cp and tar.
func TestCopiesKeepHoles(t *testing.T) {
	dir, out := mount(t, semanticsStore(t)), t.TempDir()
	for _, args := range [][]string{
		{"cp", filepath.Join(dir, "a.raw"), filepath.Join(out, "a.raw")},
		{"tar", "-C", dir, "-Scf", filepath.Join(out, "a.tar"), "a.npy", "a.raw"},
		{"tar", "-C", out, "-xf", filepath.Join(out, "a.tar"), "a.npy"},
	} {
		if text, err := command(args[0], args[1:]...); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, text)
		}
	}
	const stored = 2 * chunkBytes
	for name, header := range map[string]int{"a.raw": 0, "a.npy": 128} {
		path := filepath.Join(out, name)
		got, err := os.ReadFile(path)
		if err != nil || len(got) < header || !bytes.Equal(got[header:], semanticsBytes()) {
			t.Errorf("the copy of %s differs, or %v", name, err)
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil || st.Blocks*512 > 2*stored {
			t.Errorf("the copy of %s takes %d bytes, of the array %d are stored",
				name, st.Blocks*512, stored)
		}
	}
	if info, err := os.Stat(filepath.Join(out, "a.tar")); err != nil || info.Size() > 3*stored {
		t.Errorf("the archive takes %d bytes, %v", info.Size(), err)
	}
}

func TestMappings(t *testing.T) {
	store := semanticsStore(t)
	dir := mount(t, store)
	f, err := os.Open(filepath.Join(dir, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := semanticsBytes()
	if _, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED); err != unix.EACCES {
		t.Errorf("a shared mapping that can be written: %v, want EACCES", err)
	}
	private, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(private)
	if !bytes.Equal(private, want) {
		t.Error("the private mapping differs")
	}
	private[0] ^= 0xff
	if got, err := os.ReadFile(filepath.Join(dir, "a.raw")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a change of a private mapping shows in the file, or %v", err)
	}
}

// TestMappedCorruption: a page that cannot be read is SIGBUS, and the others can be read.
func TestMappedCorruption(t *testing.T) {
	store := semanticsStore(t)
	put(t, store, "a/c/5", "short")
	f, err := os.Open(filepath.Join(mount(t, store, "--log", "none"), "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := semanticsBytes()
	mapped, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mapped)
	unix.Madvise(mapped, unix.MADV_RANDOM)
	if fault := touch(mapped, 5*chunkBytes+chunkBytes/2); fault == nil {
		t.Error("a page of the corrupt chunk could be read")
	}
	for _, at := range []int{0, 3 * chunkBytes, 9 * chunkBytes, len(want) - 1} {
		if fault := touch(mapped, at); fault != nil || mapped[at] != want[at] {
			t.Errorf("at %d: %v", at, fault)
		}
	}
}

// touch reads a byte of a mapping and returns the fault that it caused.
func touch(mapped []byte, at int) (fault any) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() }()
	sink = mapped[at]
	return nil
}

// sink keeps the compiler from dropping a read.
var sink byte

func TestTimes(t *testing.T) {
	store := semanticsStore(t)
	newest := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	for key, at := range map[string]time.Time{
		"a/zarr.json": newest.Add(-2 * time.Hour),
		"a/c/0":       newest,
		"a/c/15":      newest.Add(-time.Hour),
	} {
		if err := os.Chtimes(filepath.Join(store, key), at, at); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(mount(t, store), "a.npy"))
	if err != nil || !info.ModTime().Equal(newest) {
		t.Errorf("a.npy is of %v, %v, want %v", info.ModTime(), err, newest)
	}
}

func TestStatfs(t *testing.T) {
	store := semanticsStore(t)
	var of, shown unix.Statfs_t
	err := errors.Join(unix.Statfs(store, &of), unix.Statfs(mount(t, store), &shown))
	if err != nil {
		t.Fatal(err)
	}
	if shown.Blocks != of.Blocks || shown.Bsize != of.Bsize {
		t.Errorf("the mount has %d blocks of %d bytes, the store's file system %d of %d",
			shown.Blocks, shown.Bsize, of.Blocks, of.Bsize)
	}
}

// TestSnapshots: an open .json is the document as it was when it was opened.
func TestSnapshots(t *testing.T) {
	store := semanticsStore(t)
	path := filepath.Join(mount(t, store), "a.json")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put(t, store, "a/zarr.json", fmt.Sprintf(arrayDoc, 2*chunks*chunkLen, chunkLen, "degC"))
	old, err := io.ReadAll(f)
	if err != nil || !strings.Contains(string(old), `"K"`) || !json.Valid(old) {
		t.Errorf("the open document says %s, %v", old, err)
	}
	if now, err := os.ReadFile(path); err != nil || !strings.Contains(string(now), `"degC"`) ||
		!json.Valid(now) {
		t.Errorf("the document opened again says %s, %v", now, err)
	}
}

// TestOpenFilesKeepTheirShape: an open file keeps its length while its array grows.
func TestOpenFilesKeepTheirShape(t *testing.T) {
	store := semanticsStore(t)
	path := filepath.Join(mount(t, store), "a.raw")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put(t, store, "a/zarr.json", fmt.Sprintf(arrayDoc, 2*chunks*chunkLen, chunkLen, "K"))
	want := semanticsBytes()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file opened before: %d bytes, %v, want %d", len(got), err, len(want))
	}
	if got, err := os.ReadFile(path); err != nil || len(got) != 2*len(want) {
		t.Errorf("the file opened after: %d bytes, %v, want %d", len(got), err, 2*len(want))
	}
}

// TestRemovedArray: an array that is removed from the store is gone from the mount: at once for an
// open, and for a listing after a second, or later on a slow machine.
func TestRemovedArray(t *testing.T) {
	store := semanticsStore(t)
	dir := mount(t, store)
	if got := names(t, dir); got != "a.json a.npy a.raw g zarr.json" {
		t.Fatalf("the mount holds %s", got)
	}
	if err := os.RemoveAll(filepath.Join(store, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "a.raw")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next open: %v, want ENOENT", err)
	}
	for start := time.Now(); names(t, dir) != "g zarr.json"; time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("the mount holds %s", names(t, dir))
		}
	}
}

// TestLinksInStore: links out of the store, and links to nothing, are errors, and never fill
// values.
func TestLinksInStore(t *testing.T) {
	store := semanticsStore(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, make([]byte, chunkBytes), 0o666); err != nil {
		t.Fatal(err)
	}
	for chunk, target := range map[string]string{"2": secret, "4": "nothing", "6": "0"} {
		if err := os.Symlink(target, filepath.Join(store, "a/c", chunk)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(filepath.Join(mount(t, store, "--log", "none"), "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk, want := range map[int64]error{2: syscall.EACCES, 4: syscall.EIO, 6: nil} {
		p := make([]byte, 100)
		_, err := f.ReadAt(p, chunk*chunkBytes)
		if !errors.Is(err, want) || want == nil && string(p) != numbers(1)[:100] {
			t.Errorf("chunk %d: %v, want %v", chunk, err, want)
		}
	}
}

// TestTwoMounts mounts a store at two places.
func TestTwoMounts(t *testing.T) {
	store := semanticsStore(t)
	one, two := mount(t, store), t.TempDir()
	bin := zarrfs(t)
	if out, err := command(bin, "mount", store, two); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var a, b unix.Stat_t
	err := errors.Join(unix.Stat(filepath.Join(one, "a.npy"), &a),
		unix.Stat(filepath.Join(two, "a.npy"), &b))
	if err != nil || a.Ino != b.Ino {
		t.Errorf("a.npy has the inodes %d and %d, %v", a.Ino, b.Ino, err)
	}
	unmount(t, two)
	if got, err := os.ReadFile(filepath.Join(one, "a.raw")); err != nil ||
		!bytes.Equal(got, semanticsBytes()) {
		t.Errorf("after the other mount has gone: %d bytes, %v", len(got), err)
	}
}

// TestUmountWaits: when umount returns, the process that served the mount has ended.
func TestUmountWaits(t *testing.T) {
	store, dir, bin := semanticsStore(t), t.TempDir(), zarrfs(t)
	if out, err := command(bin, "mount", store, dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var status struct{ Pid int }
	text, err := os.ReadFile(filepath.Join(dir, ".zarrfs/status.json"))
	if err := errors.Join(err, json.Unmarshal(text, &status)); err != nil {
		t.Error(err)
	}
	unmount(t, dir)
	if status.Pid == 0 || runs(status.Pid) {
		t.Errorf("process %d still runs", status.Pid)
	}
}

// runs reports whether a process has not ended. It may be a zombie that its parent has not waited
// for.
func runs(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(state), ") Z ")
}

// TestTwoUmounts unmounts a store by two programs at once, while a third has a file open for a
// moment. Only one of them can take the mount out of the tree, but both end well.
func TestTwoUmounts(t *testing.T) {
	store, bin := semanticsStore(t), zarrfs(t)
	d := started(t, store)
	file, err := os.OpenFile(d.path("a.raw"), os.O_RDWR, 0)
	must(t, err)
	_, err = file.WriteAt([]byte("written last"), 0)
	must(t, err)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			out, err := command(bin, "umount", d.dir)
			if err != nil {
				t.Errorf("zarrfs umount: %v\n%s", err, out)
			}
			if runs(d.process.Process.Pid) {
				t.Error("the process that served the mount still runs")
			}
		})
	}
	time.Sleep(700 * time.Millisecond) // by now both have found the mount, and wait for the file
	must(t, file.Close())
	both.Wait()
	raw, err := os.ReadFile(filepath.Join(store, "a/c/0"))
	if err != nil || !strings.HasPrefix(string(raw), "written last") {
		t.Errorf("stored: %.20q, %v", raw, err)
	}
}

// TestInodeNumberStays changes times, modes and sizes of each kind of file, and looks at its inode
// number at once: tar compares it with the one that it saw before.
func TestInodeNumberStays(t *testing.T) {
	mnt := mount(t, treeStore(t))
	shell(t, mnt, "echo text > notes.txt; ln -s g latest")
	for _, name := range []string{
		"g", "g/zarr.json", "g/b.npy", "g/b.raw", "g/b.json",
		"notes.txt", "latest", ".zarrfs/status.json",
	} {
		path := filepath.Join(mnt, name)
		before, times := inode(t, path), make([]unix.Timespec, 2)
		err := unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := inode(t, path); after != before {
			t.Errorf("%s: inode %d, expected %d", name, after, before)
		}
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s.Ino
}
