package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/statusfile"
	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// The test binary is zarrfs itself where this variable is set.
const asProgram = "ZARRFS_TEST_AS_PROGRAM"

// itself is zarrfs, as the tests of this package run it.
var itself = mounttest.Itself(asProgram)

// The harness, by short names.
var (
	zarrfs     = itself.Run
	ourProgram = itself.Command
	mounted    = itself.Mount
	needFuse   = mounttest.NeedFuse
	needTools  = mounttest.NeedTools
)

// patience is how long the test binary waits for an answer of a mount, where it is set.
const patience = "ZARRFS_TEST_PATIENCE"

// detached is how long programs may go on with a mount that a signal has detached, where it is set.
const detached = "ZARRFS_TEST_DETACHED"

func TestMain(m *testing.M) {
	if path := os.Getenv(asReader); path != "" {
		if err := readOverAndOver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(asProgram) != "" {
		if d, err := time.ParseDuration(os.Getenv(patience)); err == nil {
			answerPatience = d
		}
		if d, err := time.ParseDuration(os.Getenv(detached)); err == nil {
			detachedFor = d
		}
		os.Exit(run(os.Args))
	}
	os.Exit(mounttest.Main(m))
}

// stateFrom returns the state of a mount, which this process asks itself: another one would be a
// test.
func stateFrom(dir string) (s statusfile.Status) {
	json.Unmarshal(stateHere(dir), &s)
	return s
}

// umountKilled unmounts after the program of a mount was killed. umount fails then, because
// something may be lost.
func umountKilled(t *testing.T, dir string) {
	t.Helper()
	if code, out := zarrfs(t, "umount", dir); code != exitMount {
		t.Errorf("umount after a kill: exit code %d: %s", code, out)
	}
}

// servingPid returns the process that serves a mount.
func servingPid(dir string) int { return stateFrom(dir).Pid }

const (
	testGroup = `{"zarr_format": 3, "node_type": "group", "attributes": {"title": "test"}}`
	testArray = `{"zarr_format": 3, "node_type": "array", "shape": [%s], "data_type": "uint16",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%s]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "attributes": {"units": "K"},
 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}%s]}`
)

// makeStore makes a store with an array "a" of 8 chunks of 8192 uint16, of which the chunks 2, 3
// and 6 are missing. It also has an array "ocean/b" of 3 by 2, and arrays that cannot be read.
func makeStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "test.zarr")
	write(t, dir, "zarr.json", testGroup)
	write(t, dir, "ocean/zarr.json", testGroup)
	write(t, dir, "a/zarr.json", fmt.Sprintf(testArray, "65536", "8192", ""))
	for _, i := range []int{0, 1, 4, 5, 7} {
		write(t, dir, fmt.Sprintf("a/c/%d", i), chunk(i*8192, 8192))
	}
	write(t, dir, "ocean/b/zarr.json", fmt.Sprintf(testArray, "3, 2", "3, 2", ""))
	write(t, dir, "ocean/b/c/0/0", chunk(0, 6))
	write(t, dir, "strange/zarr.json", fmt.Sprintf(testArray, "8", "8", `, {"name": "mystery"}`))
	write(t, dir, "enormous/zarr.json",
		fmt.Sprintf(testArray, "4294967296, 4294967296", "4096, 4096", ""))
	return dir
}

func write(t *testing.T, dir, key, data string) {
	t.Helper()
	path := filepath.Join(dir, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // as all good writers replace an object
		t.Fatal(err)
	}
}

// chunk holds n numbers from first on.
func chunk(first, n int) string {
	var b []byte
	for i := first; i < first+n; i++ {
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
	}
	return string(b)
}

// wantA are the bytes of the array "a".
func wantA() []byte {
	b := []byte(chunk(0, 65536))
	for _, i := range []int{2, 3, 6} {
		clear(b[i*16384 : (i+1)*16384])
	}
	return b
}

func TestMountedTree(t *testing.T) {
	dir := mounted(t, makeStore(t))
	for _, tc := range []struct{ path, want string }{
		{"", "a.json a.npy a.raw enormous.json enormous.npy enormous.raw ocean strange.json " +
			"strange.npy strange.raw zarr.json"},
		{"ocean", "b.json b.npy b.raw zarr.json"},
		{".zarrfs", "status.json"},
	} {
		entries, err := os.ReadDir(filepath.Join(dir, tc.path))
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != tc.want || err != nil {
			t.Errorf("%q holds %s (%v), want %s", tc.path, got, err, tc.want)
		}
	}
	if code, out := zarrfs(t, "umount", dir); code != 0 {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	if _, ok := mountAt(dir); ok {
		t.Error("still mounted")
	}
}

func TestMountedReads(t *testing.T) {
	for _, mode := range []string{"auto", "cached", "direct"} {
		t.Run(mode, func(t *testing.T) {
			dir := mounted(t, makeStore(t), "--io", mode)
			for range 3 { // again from the page cache, where there is one
				checkReads(t, dir)
			}
		})
	}
}

func checkReads(t *testing.T, dir string) {
	t.Helper()
	want := wantA()
	raw, err := os.ReadFile(filepath.Join(dir, "a.raw"))
	if err != nil || !bytes.Equal(raw, want) {
		t.Errorf("a.raw: %d bytes, %v", len(raw), err)
	}
	npy, err := os.ReadFile(filepath.Join(dir, "a.npy"))
	if err != nil || len(npy) != 128+len(want) || !bytes.Equal(npy[128:], want) ||
		!strings.HasPrefix(string(npy), "\x93NUMPY") {
		t.Errorf("a.npy: %d bytes, %v", len(npy), err)
	}
	f, err := os.Open(filepath.Join(dir, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatalf("mmap: %v", err)
	}
	defer unix.Munmap(mapped)
	if !bytes.Equal(mapped, want) {
		t.Error("a.raw differs when it is mapped")
	}
	p := make([]byte, 100)
	if n, err := f.ReadAt(p, int64(len(want))-50); n != 50 || err == nil ||
		!bytes.Equal(p[:50], want[len(want)-50:]) {
		t.Errorf("a read across the end: %d bytes, %v", n, err)
	}
}

func TestMountedAttributes(t *testing.T) {
	dir := mounted(t, makeStore(t))
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "a.raw"), &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != 131072 || st.Mode != syscall.S_IFREG|0o644 || st.Nlink != 1 ||
		st.Blksize != 1<<20 || st.Uid != uint32(os.Getuid()) {
		t.Errorf("a.raw: %+v", st)
	}
	if st.Blocks != 1 {
		t.Errorf("a.raw takes %d blocks, want 1: a.npy has those of the array", st.Blocks)
	}
	noError(t, "stat", unix.Stat(filepath.Join(dir, "a.npy"), &st))
	if stored := st.Blocks * 512; stored < 5*16384 || stored > 5*16384+16384 {
		t.Errorf("a.npy takes %d bytes, its 5 chunks are of 16384", stored)
	}
	for name, want := range map[string]string{
		"user.zarr.shape":      "[65536]",
		"user.zarr.dtype":      "<u2",
		"user.zarr.attr.units": `"K"`,
	} {
		p := make([]byte, 100)
		n, err := unix.Getxattr(filepath.Join(dir, "a.raw"), name, p)
		if err != nil || string(p[:n]) != want {
			t.Errorf("%s is %q, %v, want %q", name, p[:max(n, 0)], err, want)
		}
	}
	saysWhy(t, filepath.Join(dir, "strange.npy"), "mystery")
}

// TestDiskUsage: du counts each array once, whichever views are listed.
func TestDiskUsage(t *testing.T) {
	store := makeStore(t)
	usage := func(path string) int64 {
		out, err := exec.Command("du", "-s", "-B1", path).Output()
		noError(t, "du", err)
		n, err := strconv.ParseInt(strings.Fields(string(out))[0], 10, 64)
		noError(t, "du", err)
		return n
	}
	want := usage(store)
	for _, views := range []string{"npy,raw,json,jsonl", "raw,json", "npy"} {
		dir := mounted(t, store, "--views", views)
		if got := usage(dir); got < want/2 || got > want*5/4 {
			t.Errorf("--views %s: du of the mount says %d bytes, of the store %d", views, got, want)
		}
	}
}

func TestMountedHoles(t *testing.T) {
	f, err := os.Open(filepath.Join(mounted(t, makeStore(t)), "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const c = 16384
	for _, tc := range []struct {
		whence    int
		off, want int64
	}{
		{unix.SEEK_DATA, 0, 0}, {unix.SEEK_HOLE, 0, 2 * c}, {unix.SEEK_DATA, 2 * c, 4 * c},
		{unix.SEEK_HOLE, 4 * c, 6 * c},
		{unix.SEEK_DATA, 6*c + 1, 7 * c}, {unix.SEEK_HOLE, 7 * c, 8 * c},
	} {
		if got, err := unix.Seek(int(f.Fd()), tc.off, tc.whence); got != tc.want || err != nil {
			t.Errorf("whence %d, off %d: %d, %v, want %d", tc.whence, tc.off, got, err, tc.want)
		}
	}
	if _, err := unix.Seek(int(f.Fd()), 8*c, unix.SEEK_DATA); err != unix.ENXIO {
		t.Errorf("SEEK_DATA at the end: %v", err)
	}
}

// TestMountedRefusals: a read-only mount refuses every change with EROFS, also after root has
// remounted it for writing.
func TestMountedRefusals(t *testing.T) {
	dir := mounted(t, makeStore(t), "-o", "ro")
	testRefusals(t, dir)
	if os.Getuid() == 0 {
		noError(t, "remount",
			unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, ""))
		testRefusals(t, dir)
	}
}

func testRefusals(t *testing.T, dir string) {
	t.Helper()
	open := func(flags int) func(string) error {
		return func(path string) error {
			f, err := os.OpenFile(path, flags, 0o644)
			if err == nil {
				f.Close()
			}
			return err
		}
	}
	for _, tc := range []struct {
		name, path string
		do         func(string) error
		want       syscall.Errno
	}{
		{"open", "strange.npy", open(os.O_RDONLY), syscall.EOPNOTSUPP},
		{"open", "enormous.raw", open(os.O_RDONLY), syscall.EFBIG},
		{"open", "nothing.npy", open(os.O_RDONLY), syscall.ENOENT},
		{"open", "ocean.npy", open(os.O_RDONLY), syscall.ENOENT},
		{"write", "a.raw", open(os.O_WRONLY), syscall.EROFS},
		{"create", "new.npy", open(os.O_WRONLY | os.O_CREATE), syscall.EROFS},
		{"mkdir", "new", func(p string) error { return os.Mkdir(p, 0o755) }, syscall.EROFS},
		{"create", "notes.txt", open(os.O_WRONLY | os.O_CREATE), syscall.EROFS},
		{"mknod", "pipe", func(p string) error { return unix.Mkfifo(p, 0o644) }, syscall.EROFS},
		{"rename", "a.raw",
			func(p string) error { return os.Rename(p, filepath.Join(dir, "moved.raw")) },
			syscall.EROFS},
		{"symlink", "link", func(p string) error { return os.Symlink("ocean", p) }, syscall.EROFS},
		{"rmdir", "ocean", unix.Rmdir, syscall.EROFS},
		{"rm", "zarr.json", os.Remove, syscall.EROFS},
		{"removexattr", "a.raw",
			func(p string) error { return unix.Removexattr(p, "user.zarr.attr.units") },
			syscall.EROFS},
		{"chmod", "a.raw", func(p string) error { return os.Chmod(p, 0o600) }, syscall.EROFS},
		{"rm", "a.raw", os.Remove, syscall.EROFS},
		{"truncate", "a.raw", func(p string) error { return os.Truncate(p, 0) }, syscall.EROFS},
		{"setxattr", "a.raw", func(p string) error {
			return unix.Setxattr(p, "user.zarr.attr.units", []byte("1"), 0)
		}, syscall.EROFS},
	} {
		if err := tc.do(filepath.Join(dir, tc.path)); !errors.Is(err, tc.want) {
			t.Errorf("%s %s: %v, want %v", tc.name, tc.path, err, tc.want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "a.raw")); err != nil || info.Mode() != 0o444 {
		t.Errorf("a.raw has mode %v, %v", info.Mode(), err)
	}
}

// TestReadOnlyIsSaid: zarrfs mount says at once that a store cannot be written to, unless that was
// requested.
func TestReadOnlyIsSaid(t *testing.T) {
	needFuse(t)
	store := writableStore(t)
	why := "permission denied"
	if os.Getuid() != 0 {
		noError(t, "chmod", os.Chmod(store, 0o555))
		t.Cleanup(func() { os.Chmod(store, 0o755) })
	} else {
		why = "read-only file system"
		noError(t, "mount", unix.Mount(store, store, "", unix.MS_BIND, ""))
		t.Cleanup(func() { unix.Unmount(store, unix.MNT_DETACH) })
		noError(t, "mount",
			unix.Mount("", store, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	}
	want := fmt.Sprintf("zarrfs: %s is mounted read-only: the store cannot be written to (%s); "+
		"make it writable and mount it again, or say --read-only\n", store, why)
	for _, flags := range [][]string{{}, {"--read-only"}} {
		dir := t.TempDir()
		code, out := zarrfs(t, append(
			[]string{"mount", "--log", filepath.Join(t.TempDir(), "log"), store, dir}, flags...)...)
		t.Cleanup(func() { zarrfs(t, "umount", dir) })
		if said := strings.Contains(out, want); code != 0 || said != (len(flags) == 0) {
			t.Errorf("%v: exit code %d: %q, want %q", flags, code, out, want)
		}
		if err := os.Truncate(filepath.Join(dir, "rows.raw"), 0); !errors.Is(err, syscall.EROFS) {
			t.Errorf("%v: truncate: %v", flags, err)
		}
		check(t, "read", bytesOf(t, filepath.Join(dir, "rows.raw")), []byte(chunk(0, rowCount*16)))
	}
}

// TestOtherFormatIsSaid: zarrfs mount and the log say that the store has another format than was
// requested, unless nothing can be created in the mount.
func TestOtherFormatIsSaid(t *testing.T) {
	needFuse(t)
	store := writableStore(t)
	for _, tc := range []struct {
		flags string
		said  bool
	}{{"--create-format 2", true}, {"-o create_format=2", true}, {"--create-format 3", false},
		{"--create-format 2 --read-only", false}, {"", false}} {
		dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
		code, out := zarrfs(t,
			append(strings.Fields("mount --log "+log+" "+tc.flags), store, dir)...)
		zarrfs(t, "umount", dir)
		want := fmt.Sprintf("zarrfs: --create-format 2 has no effect: %s has format 3, "+
			"and so have all that are created in it\n", store)
		if code != 0 || strings.Contains(out, want) != tc.said {
			t.Errorf("%q: exit code %d: %q, want %t: %q", tc.flags, code, out, tc.said, want)
		}
		want = "level=WARN msg=\"--create-format has no effect"
		if text := string(bytesOf(t, log)); strings.Contains(text, want) != tc.said ||
			tc.said && !strings.Contains(text, "asked=2 format=3") {
			t.Errorf("%q: the log says so: %t, want %t\n%s", tc.flags, !tc.said, tc.said, text)
		}
	}
}

// TestMountedChanges changes the store underneath: the next open sees it, also where pages are
// cached.
func TestMountedChanges(t *testing.T) {
	store := makeStore(t)
	dir := mounted(t, store, "--io", "cached")
	checkReads(t, dir)
	write(t, store, "a/c/0", chunk(7, 8192))
	got, err := os.ReadFile(filepath.Join(dir, "a.raw"))
	if err != nil || !bytes.Equal(got[:16384], []byte(chunk(7, 8192))) ||
		!bytes.Equal(got[16384:], wantA()[16384:]) {
		t.Errorf("a replaced chunk is not seen: %v", err)
	}
	write(t, store, "a/zarr.json", fmt.Sprintf(testArray, "70000", "8192", ""))
	got, err = os.ReadFile(filepath.Join(dir, "a.raw"))
	if err != nil || len(got) != 140000 {
		t.Errorf("a grown array has %d bytes, %v, want 140000", len(got), err)
	}
	write(t, store, "new/zarr.json", fmt.Sprintf(testArray, "4", "4", ""))
	soon(t, "a new array is listed", func() bool {
		entries, _ := os.ReadDir(dir)
		return slices.ContainsFunc(entries,
			func(e os.DirEntry) bool { return e.Name() == "new.npy" })
	})
}

// TestMountedLargeChanges: an array of so many chunks that an open does not look at all of them
// shows changes all the same.
func TestMountedLargeChanges(t *testing.T) {
	const n, chunks = 64, 5000
	for _, mode := range []string{"auto", "cached", "direct"} {
		t.Run(mode, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "large.zarr")
			write(t, store, "zarr.json", testGroup)
			write(t, store, "a/zarr.json",
				fmt.Sprintf(testArray, fmt.Sprint(n*chunks), fmt.Sprint(n), ""))
			want := []byte(chunk(0, n*chunks))
			set := func(i, first int) string {
				data := chunk(first, n)
				copy(want[2*n*i:], data)
				return data
			}
			for i := range chunks {
				if i != chunks/2 {
					write(t, store, fmt.Sprintf("a/c/%d", i), chunk(i*n, n))
				}
			}
			clear(want[chunks*n:][:2*n])
			dir := mounted(t, store, "--io", mode)
			check := func(step string) {
				t.Helper()
				for range 3 { // so that pages are kept, or the file is unpacked
					if got, err := os.ReadFile(filepath.Join(dir, "a.raw")); err != nil ||
						!bytes.Equal(got, want) {
						t.Errorf("%s: %d bytes that differ, or %v", step, len(got), err)
					}
				}
			}
			check("as written")
			write(t, store, fmt.Sprintf("a/c/%d", chunks-1), set(chunks-1, 7))
			check("replaced")
			noError(t, "writing into an object",
				os.WriteFile(filepath.Join(store, "a/c/100"), []byte(set(100, 9)), 0o666))
			check("written in place")
			write(t, store, fmt.Sprintf("a/c/%d", chunks/2), set(chunks/2, 11))
			check("created")
			noError(t, "removing an object", os.Remove(filepath.Join(store, "a/c/4000")))
			clear(want[2*n*4000:][:2*n])
			check("removed")
		})
	}
}

func TestMountedCorruption(t *testing.T) {
	store := makeStore(t)
	log := filepath.Join(t.TempDir(), "log")
	dir := mounted(t, store, "--log", log)
	write(t, store, "a/c/1", "short")
	for range 3 {
		if _, err := os.ReadFile(filepath.Join(dir, "a.raw")); !errors.Is(err, syscall.EIO) {
			t.Errorf("a short chunk: %v, want EIO", err)
		}
	}
	f, err := os.Open(filepath.Join(dir, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 1000)
	if _, err := f.ReadAt(p, 4*16384); err != nil || !bytes.Equal(p, wantA()[4*16384:][:1000]) {
		t.Errorf("a sound chunk of the same array: %v", err)
	}
	b, _ := os.ReadFile(log)
	if n := strings.Count(string(b), "a/c/1"); n == 0 ||
		strings.Count(string(b), "level=ERROR") != 1 {
		t.Errorf("the log should name the chunk in one line:\n%s", b)
	}
}

func TestMountedReadersAtOnce(t *testing.T) {
	dir, want := mounted(t, makeStore(t)), wantA()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				got, err := os.ReadFile(filepath.Join(dir, "a.raw"))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("reader %d: %d bytes, %v", i, len(got), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestStatus(t *testing.T) {
	dir := mounted(t, makeStore(t), "--read-only")
	b, err := os.ReadFile(filepath.Join(dir, ".zarrfs", "status.json"))
	var s struct {
		Pid      int
		ReadOnly bool `json:"read_only"`
		Mount    struct{ Panics, Errors int }
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil || s.Pid == 0 || s.Pid == os.Getpid() || !s.ReadOnly || s.Mount.Panics != 0 ||
		s.Mount.Errors != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestBusyMount(t *testing.T) {
	dir := mounted(t, makeStore(t))
	f, err := os.Open(filepath.Join(dir, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code, out := zarrfs(t, "umount", dir)
	if code != exitBusy || !strings.Contains(out, fmt.Sprintf("(pid %d)", os.Getpid())) {
		t.Errorf("umount of a busy mount: exit code %d: %s", code, out)
	}
	if code, out := zarrfs(t, "umount", "--lazy", dir); code != 0 {
		t.Errorf("lazy umount: exit code %d: %s", code, out)
	}
	p := make([]byte, 100)
	if _, err := f.ReadAt(p, 0); err != nil || !bytes.Equal(p, wantA()[:100]) {
		t.Errorf("the open file cannot be read any more: %v", err)
	}
}

// TestMountOfMount: a mount is not a store, although its folders look like groups.
func TestMountOfMount(t *testing.T) {
	dir := mounted(t, makeStore(t))
	for _, args := range [][]string{
		{"mount", dir, t.TempDir()}, {"info", dir}, {"tree", dir + "/ocean"},
	} {
		if code, out := zarrfs(t, args...); code != exitStore ||
			!strings.Contains(out, "is in the mount of") {
			t.Errorf("zarrfs %s: exit code %d: %s", args, code, out)
		}
	}
}

// TestUmountByLink: what was mounted by way of a link can be unmounted that way.
func TestUmountByLink(t *testing.T) {
	dir := mounted(t, makeStore(t))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if code, out := zarrfs(t, "umount", link+"/ocean"); code != exitMount ||
		!strings.Contains(out, "lies in the one at "+dir) {
		t.Errorf("umount of a folder of the mount: exit code %d: %s", code, out)
	}
	if code, out := zarrfs(t, "umount", link); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestUmountOfKilledWriter: umount removes a mount whose program was killed, and fails, because
// what was not stored is lost.
func TestUmountOfKilledWriter(t *testing.T) {
	dir := mounted(t, writableStore(t))
	f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_WRONLY)
	_, err := f.WriteAt([]byte("lost"), 0)
	noError(t, "write", err)
	noError(t, "kill", syscall.Kill(servingPid(dir), syscall.SIGKILL))
	soon(t, "the mount is stale", func() bool { return string(stateHere(dir)) == goneWord })
	code, out := zarrfs(t, "umount", dir)
	said := strings.Contains(out, "What was not stored by then is lost")
	if code != exitMount || !said || strings.Contains(out, "named above") {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	if _, ok := mountAt(dir); ok {
		t.Error("still mounted")
	}
}

func TestStaleMount(t *testing.T) {
	store := makeStore(t)
	dir := mounted(t, store, "--read-only")
	if err := syscall.Kill(servingPid(dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	soon(t, "the mount is stale", func() bool { return string(stateHere(dir)) == goneWord })
	if code, out := zarrfs(t, "mount", store, dir); code != exitMount ||
		!strings.Contains(out, "stale") {
		t.Errorf("mount over a stale one: exit code %d: %s", code, out)
	}
	if code, out := zarrfs(t, "umount", dir); code != 0 {
		t.Errorf("umount of a stale mount: exit code %d: %s", code, out)
	}
	if code, out := zarrfs(t, "mount", store, dir); code != 0 {
		t.Errorf("mount again: exit code %d: %s", code, out)
	}
}

// stopped reports whether all threads of a process are.
func stopped(t *testing.T, pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatal("no threads", err)
	}
	for _, path := range threads {
		if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), ") T ") {
			return false
		}
	}
	return true
}

// startWriter starts a program that writes to a file, and then keeps the file open. No other child
// of the tests has that file. Such a child would wait at its close for the mount's program, which
// the test stops.
func startWriter(t *testing.T, name, text string) {
	t.Helper()
	const script = `exec 3<>"$1"; printf %s "$2" >&3; echo; exec sleep 600`
	writer := exec.Command("/bin/sh", "-c", script, "sh", name, text)
	written, err := writer.StdoutPipe()
	noError(t, "pipe", err)
	noError(t, "start a writer", writer.Start())
	t.Cleanup(func() {
		writer.Process.Kill()
		writer.Wait()
	})
	_, err = io.ReadFull(written, make([]byte, 1))
	noError(t, "await what it writes", err)
}

// TestForceOfSilentMountMayLose: umount --force cuts off a mount whose program does not answer. It
// fails, because what was written may be lost, and says how to keep it.
func TestForceOfSilentMountMayLose(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store, "--log", filepath.Join(t.TempDir(), "log"))
	startWriter(t, filepath.Join(dir, "rows.raw"), "written")
	pid := servingPid(dir)
	noError(t, "stop", syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) })
	for !stopped(t, pid) {
		time.Sleep(time.Millisecond)
	}
	cure := fmt.Sprintf("kill -CONT %d", pid)
	code, out := zarrfs(t, "umount", "--force", dir)
	said := strings.Contains(out, cure) && strings.Contains(out, "is lost if it is killed")
	if code != exitMount || !said {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	noError(t, "go on", syscall.Kill(pid, syscall.SIGCONT))
	noError(t, "its end", awaitEnd(pid, time.Minute))
	check(t, "stored then", stored(t, store, "rows.raw")[:7], []byte("written"))
}

// TestUmountOfSilentMount stops the program that serves a read-only mount.
func TestUmountOfSilentMount(t *testing.T) {
	dir := mounted(t, makeStore(t), "--read-only")
	pid := servingPid(dir)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	for !stopped(t, pid) {
		time.Sleep(time.Millisecond)
	}
	read := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(filepath.Join(dir, "zarr.json"))
		read <- err
	}()
	if code, out := zarrfs(t, "umount", dir); code != exitMount ||
		!strings.Contains(out, "umount --force "+dir) {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	if code, out := zarrfs(t, "umount", "--force", dir); code != 0 {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	if _, ok := mountAt(dir); ok {
		t.Error("still mounted")
	}
	// others cannot abort where the kernel's list of connections is not mounted
	if os.Getuid() == 0 {
		if err := <-read; err == nil {
			t.Error("a read succeeds without a program to answer it")
		}
	}
}

func TestSignalsUnmount(t *testing.T) {
	needFuse(t)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := t.TempDir()
		cmd := ourProgram(t, "mount", "--foreground", "--log", "none", makeStore(t), dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, ok := mountAt(dir); ok && servingPid(dir) != 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		cmd.Process.Signal(sig)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		if _, ok := mountAt(dir); ok {
			t.Errorf("%v: still mounted", sig)
			zarrfs(t, "umount", "--lazy", dir)
		}
	}
}

// TestSignalAtStart: a signal unmounts as soon as there is a mount, also before the daemon has said
// so: here nobody takes its report.
func TestSignalAtStart(t *testing.T) {
	needFuse(t)
	dir := t.TempDir()
	cmd, report := unreportedMount(t, makeStore(t), dir, "--log", "none")
	for servingPid(dir) != cmd.Process.Pid {
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, report); err != nil { // until the daemon has ended
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, ok := mountAt(dir); ok {
		t.Error("still mounted")
	}
}

// unreportedMount starts a mount in the background whose report is not taken before report is read:
// that it is mounted, or its error. It ends with the test.
func unreportedMount(
	t *testing.T, store, dir string, options ...string,
) (cmd *exec.Cmd, report io.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	noError(t, "pipe", err)
	t.Cleanup(func() { r.Close() })
	fillPipe(t, w)
	cmd = ourProgram(t, append([]string{"mount", store, dir}, options...)...)
	cmd.ExtraFiles = []*os.File{w}
	cmd.Env = append(cmd.Env, daemonEnv+"=3")
	noError(t, "start", cmd.Start())
	w.Close()
	t.Cleanup(func() {
		if _, ok := mountAt(dir); ok {
			zarrfs(t, "umount", "--lazy", dir)
		}
	})
	return cmd, r
}

// fillPipe writes as much to an empty pipe as it takes.
func fillPipe(t *testing.T, w *os.File) {
	t.Helper()
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err == nil {
		_, err = w.Write(make([]byte, size))
	}
	if err != nil {
		t.Fatal(err)
	}
}
