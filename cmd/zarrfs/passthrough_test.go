package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	evenArray = `{"zarr_format": 3, "node_type": "array", "shape": [%d], "data_type": "uint8",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%d]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}`
	evenSize = 1 << 20
)

// evenStore makes a store with an array "e" of one chunk of 1 MiB, which is replaced at once: all
// its bytes are alike.
func evenStore(t *testing.T, b byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "even.zarr")
	write(t, dir, "zarr.json", testGroup)
	write(t, dir, "e/zarr.json", fmt.Sprintf(evenArray, evenSize, evenSize))
	change(t, dir, b)
	return dir
}

func change(t *testing.T, store string, b byte) {
	t.Helper()
	write(t, store, "e/c/0", string(bytes.Repeat([]byte{b}, evenSize)))
}

// mountStatus is the part of status.json about passthrough.
type mountStatus struct {
	Lookups int   `json:"lookups"`
	Reads   int   `json:"reads"`
	Through int   `json:"opens_passthrough"`
	Files   int   `json:"materialised_files"`
	Bytes   int64 `json:"materialised_bytes"`
	Panics  int   `json:"panics"`
	Errors  int   `json:"errors"`
}

func statusOf(t *testing.T, dir string) mountStatus {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, ".zarrfs", "status.json"))
	var s struct{ Mount mountStatus }
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Mount
}

// mountedThrough mounts a store whose file is then read until it is materialised.
func mountedThrough(t *testing.T, store, file string, flags ...string) (dir string) {
	t.Helper()
	needFuse(t)
	log := filepath.Join(t.TempDir(), "log")
	dir = mounted(t, store, append(flags, "--log", log)...)
	if why := materialised(t, dir, file, log); why == "" {
		return dir
	} else if os.Getenv("ZARRFS_REQUIRE_FUSE") != "" && os.Getuid() == 0 {
		t.Fatalf("passthrough is required: %s", why)
	} else {
		t.Skipf("SKIPPED: passthrough, because of: %s", why)
	}
	return ""
}

// materialised reads the file until it is. It returns why it cannot be.
func materialised(t *testing.T, dir, file, log string) string {
	t.Helper()
	before := statusOf(t, dir).Files
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if _, err := os.ReadFile(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		if statusOf(t, dir).Files > before {
			return ""
		}
		if b, _ := os.ReadFile(log); bytes.Contains(b, []byte("not materialised")) {
			return string(b)
		}
	}
	t.Fatalf("%s is never materialised: %+v", file, statusOf(t, dir))
	return ""
}

// mapOf maps the file for the length of the test.
func mapOf(t *testing.T, f *os.File, n, how int) []byte {
	t.Helper()
	b, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, how)
	if err != nil {
		t.Fatalf("mmap of %s: %v", f.Name(), err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// checkEven checks that the open file has nothing but b, by read and by both kinds of mapping.
func checkEven(t *testing.T, f *os.File, b byte) {
	t.Helper()
	want, got := bytes.Repeat([]byte{b}, evenSize), make([]byte, evenSize)
	if n, err := f.ReadAt(got, 0); n != evenSize || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes of %d, %v, want %d", f.Name(), n, got[0], err, b)
	}
	for _, how := range []int{unix.MAP_SHARED, unix.MAP_PRIVATE} {
		if m := mapOf(t, f, evenSize, how); !bytes.Equal(m, want) {
			t.Errorf("%s: a mapping of %d, want %d", f.Name(), m[0], b)
		}
	}
}

func TestPassthrough(t *testing.T) {
	store := makeStore(t)
	write(t, store, "big/zarr.json", fmt.Sprintf(testArray, "1048576", "65536", ""))
	for _, i := range []int{0, 1, 2, 5, 15} {
		write(t, store, fmt.Sprintf("big/c/%d", i), chunk(i*7, 65536))
	}
	for _, file := range []string{"big.raw", "big.npy"} {
		dir := mountedThrough(t, store, file)
		want, err := os.ReadFile(filepath.Join(mounted(t, store, "--materialize", "0"), file))
		if err != nil {
			t.Fatal(err)
		}
		before := statusOf(t, dir)
		f := opened(t, filepath.Join(dir, file))
		got := make([]byte, len(want)+10)
		if n, err := f.ReadAt(got, 0); n != len(want) || err == nil || !bytes.Equal(got[:n], want) {
			t.Errorf("%s: %d bytes, %v, want %d", file, n, err, len(want))
		}
		for _, how := range []int{unix.MAP_SHARED, unix.MAP_PRIVATE} {
			if !bytes.Equal(mapOf(t, f, len(want), how), want) {
				t.Errorf("%s: a mapping differs", file)
			}
		}
		if end, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_END); end != int64(len(want)) ||
			err != nil {
			t.Errorf("%s: ends at %d, %v", file, end, err)
		}
		if hole, err := unix.Seek(int(f.Fd()), int64(len(want))-2<<20+256,
			unix.SEEK_HOLE); hole < 3*131072 || err != nil {
			t.Errorf("%s: a hole at %d, %v", file, hole, err)
		}
		after := statusOf(t, dir)
		if after.Through != before.Through+1 || after.Reads > before.Reads+4 || after.Files != 1 ||
			after.Bytes != int64(len(want)) {
			t.Errorf("%s: before %+v, after %+v", file, before, after) // +4: status.json itself
		}
	}
}

// TestPassthroughChanges changes the store between opens.
func TestPassthroughChanges(t *testing.T) {
	store := evenStore(t, 1)
	dir := mountedThrough(t, store, "e.raw")
	for b := byte(2); b < 6; b++ {
		checkEven(t, opened(t, filepath.Join(dir, "e.raw")), b-1)
		change(t, store, b)
		got, err := os.ReadFile(filepath.Join(dir, "e.raw"))
		if err != nil || got[0] != b || got[evenSize-1] != b {
			t.Errorf("a change to %d is not seen: %d, %v", b, got[0], err)
		}
	}
	if s := statusOf(t, dir); s.Errors != 0 || s.Panics != 0 {
		t.Errorf("%+v", s)
	}
}

// TestPassthroughHeld changes the store while a passthrough handle is open: it goes on showing what
// it did, and further opens show the change, also by mmap.
func TestPassthroughHeld(t *testing.T) {
	store := evenStore(t, 1)
	dir := mountedThrough(t, store, "e.raw")
	path := filepath.Join(dir, "e.raw")
	old := opened(t, path)
	second := opened(t, path)
	if statusOf(t, dir).Through < 2 {
		t.Fatal("not passed through")
	}
	change(t, store, 2)
	new1, new2 := opened(t, path), opened(t, path)
	checkEven(t, old, 1)
	checkEven(t, new1, 2)
	checkEven(t, new2, 2)
	_, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", old.Fd()))
	if !errors.Is(err, syscall.ESTALE) {
		t.Errorf("reopened: %v, want ESTALE", err)
	}
	var a, b unix.Stat_t
	if unix.Fstat(int(old.Fd()), &a) != nil || unix.Fstat(int(new1.Fd()), &b) != nil ||
		a.Ino != b.Ino {
		t.Errorf("the file's number was %d and is %d", a.Ino, b.Ino)
	}
	if s := statusOf(t, dir); s.Bytes != evenSize {
		t.Errorf("%d bytes are held for the old handles, want %d", s.Bytes, evenSize)
	}
	write(t, store, "e/zarr.json", fmt.Sprintf(evenArray, 2*evenSize, evenSize)) // and another size
	if got, err := os.ReadFile(path); err != nil || len(got) != 2*evenSize || got[0] != 2 ||
		got[evenSize] != 0 {
		t.Errorf("a grown array: %d bytes, %v", len(got), err)
	}
	checkEven(t, second, 1)
	write(t, store, "e/zarr.json", fmt.Sprintf(evenArray, evenSize, evenSize))
	if got, err := os.ReadFile(path); err != nil || len(got) != evenSize {
		t.Errorf("a shrunk array: %d bytes, %v", len(got), err)
	}
	for _, f := range []*os.File{old, second} {
		f.Close()
	}
	// Mappings of the test's own keep no handle: the kernel maps the backing file itself.
	soon(t, "the outdated file goes", func() bool { return statusOf(t, dir).Bytes == 0 })
	if s := statusOf(t, dir); s.Bytes != 0 || s.Errors != 0 {
		t.Errorf("the outdated file stays: %+v", s)
	}
}

func TestPassthroughOff(t *testing.T) {
	for _, flags := range [][]string{{"--materialize", "0"}, {"--materialize", "1000000"},
		{"--scratch-size", "1.9MiB"}, {"--io", "cached"}, {"--io", "direct"}} {
		dir := mounted(t, evenStore(t, 1), flags...)
		for range 8 {
			if got, err := os.ReadFile(filepath.Join(dir, "e.raw")); err != nil ||
				len(got) != evenSize {
				t.Fatal(err)
			}
		}
		if s := statusOf(t, dir); s.Files != 0 || s.Through != 0 || s.Bytes != 0 {
			t.Errorf("%v: %+v", flags, s)
		}
	}
}

// TestPassthroughKilled checks that a killed daemon leaves nothing in the scratch folder.
func TestPassthroughKilled(t *testing.T) {
	scratch, err := os.MkdirTemp("/var/tmp", "zarrfs-test-")
	if err != nil {
		t.Skip("SKIPPED: no /var/tmp")
	}
	defer os.RemoveAll(scratch)
	dir := mountedThrough(t, evenStore(t, 1), "e.raw", "--scratch-dir", scratch)
	t.Cleanup(func() { umountKilled(t, dir) }) // once the file is closed
	held := opened(t, filepath.Join(dir, "e.raw"))
	mapped := mapOf(t, held, evenSize, unix.MAP_SHARED)
	if err := syscall.Kill(servingPid(dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	soon(t, "nothing is left in the scratch folder", func() bool {
		left, err := os.ReadDir(scratch)
		return err == nil && len(left) == 0
	})
	if mapped[0] != 1 || mapped[evenSize-1] != 1 {
		t.Error("the mapping is gone")
	}
}

// asReader makes the test binary read the file that it names over and over.
const asReader = "ZARRFS_TEST_AS_READER"

// readOverAndOver opens, reads, maps and closes the file until the store says stop, with pauses in
// some rounds while it is open. An open must never fail, and never show older bytes than the one
// before it.
func readOverAndOver(path string) error {
	last := byte(0)
	for round := os.Getpid(); ; round++ {
		if _, err := os.Stat(os.Getenv("ZARRFS_TEST_STOP")); err == nil {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if last, err = readRound(f, round, last); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		f.Close()
	}
}

func readRound(f *os.File, round int, last byte) (byte, error) {
	p := make([]byte, evenSize)
	if n, err := f.ReadAt(p, 0); n != evenSize {
		return 0, fmt.Errorf("%d bytes: %w", n, err)
	}
	// A read may be several requests, and the store may change between them.
	if slices.Min(p) < last {
		return 0, fmt.Errorf("read %d after %d", slices.Min(p), last)
	}
	before := last
	last = slices.Max(p)
	if round%16 == 0 {
		m, err := unix.Mmap(int(f.Fd()), 0, evenSize, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0, fmt.Errorf("mmap: %w", err)
		}
		defer unix.Munmap(m)
		// The store may have changed since the open. A read may see that, and a mapping may not.
		if slices.Min(m) < before {
			return 0, fmt.Errorf("mapped %d after an earlier open had %d", slices.Min(m), before)
		}
	}
	if round%5 == 0 {
		time.Sleep(time.Duration(round%7) * time.Millisecond)
	}
	return last, nil
}

// TestPassthroughProcesses has 8 processes open and close the file while it is materialised,
// changes, and is materialised again.
func TestPassthroughProcesses(t *testing.T) {
	store := evenStore(t, 1)
	dir := mountedThrough(t, store, "e.raw")
	stop := filepath.Join(t.TempDir(), "stop")
	var readers []*exec.Cmd
	var out [8]strings.Builder
	for i := range out {
		cmd := ourProgram(t)
		cmd.Env = append(cmd.Env, asReader+"="+filepath.Join(dir, "e.raw"),
			"ZARRFS_TEST_STOP="+stop)
		cmd.Stderr = &out[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, cmd)
	}
	for b := byte(2); b < 40; b++ {
		time.Sleep(50 * time.Millisecond)
		if b%13 == 0 {
			time.Sleep(time.Second) // for as long it is not passed through after a change
		}
		change(t, store, b)
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, cmd := range readers {
		if err := cmd.Wait(); err != nil {
			t.Errorf("reader %d: %v: %s", i, err, out[i].String())
		}
	}
	s := statusOf(t, dir)
	t.Logf("%+v", s)
	if s.Errors != 0 || s.Panics != 0 {
		t.Errorf("%+v", s)
	}
}

// TestPassthroughSeesOtherChanges: a program has a file open past the daemon. Its array is changed
// by its document, by a rename, or as a new file. Handles that were open before then show all of it
// and nothing else.
func TestPassthroughSeesOtherChanges(t *testing.T) {
	const side = 1024
	square := strings.Replace(evenArray, "[%d]", "[%d, %[1]d]", 1)
	square = strings.Replace(square, "[%d]", "[%[2]d, %[2]d]", 1)
	npy := func(b byte, rows int) []byte {
		text := strings.Replace(string(npyFile("", 1, fmt.Sprintf("(%d, %d)", rows, side))),
			"'<u2'", "'|u1'", 1)
		return append([]byte(text), bytes.Repeat([]byte{b}, rows*side)...)
	}
	for how, change := range map[string]func(at func(name string) string) error{
		"rows more by document": func(at func(string) string) error {
			return os.WriteFile(at("e.json"), []byte(`{"shape": [1500, 1024]}`), 0)
		},
		"rows less by document": func(at func(string) string) error {
			return os.WriteFile(at("e.json"), []byte(`{"shape": [700, 1024]}`), 0)
		},
		"columns less": func(at func(string) string) error {
			return os.WriteFile(at("e.json"), []byte(`{"shape": [1024, 600]}`), 0)
		},
		"columns more": func(at func(string) string) error {
			return os.WriteFile(at("e.json"), []byte(`{"shape": [1024, 1100]}`), 0)
		},
		"rename onto .npy": func(at func(string) string) error {
			return errors.Join(os.WriteFile(at("tmp"), npy(7, 1100), 0o666),
				os.Rename(at("tmp"), at("e.npy")))
		},
		"rename onto .raw": func(at func(string) string) error {
			return errors.Join(os.WriteFile(at("tmp"), bytes.Repeat([]byte{7}, 900*side), 0o666),
				os.Rename(at("tmp"), at("e.raw")))
		},
		"rename onto .json": func(at func(string) string) error {
			return errors.Join(os.WriteFile(at("tmp"), []byte(`{"shape": [700, 1024]}`), 0o666),
				os.Rename(at("tmp"), at("e.json")))
		},
		"another .npy": func(at func(string) string) error {
			return os.WriteFile(at("e.npy"), npy(8, 1200), 0)
		},
		"truncate": func(at func(string) string) error {
			return os.Truncate(at("e.raw"), 500*side)
		},
		"a hole": func(at func(string) string) error {
			f, err := os.OpenFile(at("e.npy"), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			return errors.Join(unix.Fallocate(int(f.Fd()),
				unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4096, 1<<17), f.Close())
		},
	} {
		for _, view := range []string{"raw", "npy"} {
			t.Run(how+" seen by "+view, func(t *testing.T) {
				store := filepath.Join(t.TempDir(), "s.zarr")
				write(t, store, "zarr.json", testGroup)
				write(t, store, "e/zarr.json", fmt.Sprintf(square, side, side))
				write(t, store, "e/c/0/0", string(bytes.Repeat([]byte{1}, side*side)))
				dir := mountedThrough(t, store, "e."+view)
				at := func(name string) string { return filepath.Join(dir, name) }
				before := statusOf(t, dir).Through
				r := opened(t, at("e."+view))
				if statusOf(t, dir).Through != before+1 {
					t.Skip("SKIPPED: the file was not opened by passthrough")
				}
				page := mapOf(t, r, 4096, unix.MAP_SHARED)
				noError(t, how, change(at))
				want := bytesOf(t, at("e."+view))
				info, err := r.Stat()
				noError(t, "stat", err)
				if info.Size() != int64(len(want)) {
					t.Errorf("the size is %d, want %d", info.Size(), len(want))
				}
				got := make([]byte, len(want)+4096)
				n, err := r.ReadAt(got, 0)
				if err == nil || !bytes.Equal(got[:n], want) {
					t.Errorf("%d bytes, %v, want %d; they begin with %q", n, err, len(want),
						got[:130])
				}
				if !bytes.Equal(page, want[:4096]) {
					t.Errorf("the mapping begins with %q", page[:130])
				}
			})
		}
	}
}

// TestPassthroughFollowsNames: a file that is open past the daemon follows its array under another
// name. Once the array is removed it stays as it was, whatever comes to be under that name.
func TestPassthroughFollowsNames(t *testing.T) {
	dir := mountedThrough(t, evenStore(t, 1), "e.raw")
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, b byte) error {
		f, err := os.OpenFile(at(name), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(bytes.Repeat([]byte{b}, evenSize), headers["npy"])
		return errors.Join(err, f.Close())
	}
	before := statusOf(t, dir).Through
	r := opened(t, at("e.raw"))
	if statusOf(t, dir).Through != before+1 {
		t.Skip("SKIPPED: the file was not opened by passthrough")
	}
	noError(t, "rename", os.Rename(at("e.npy"), at("f.npy")))
	checkEven(t, r, 1)
	noError(t, "write", put("f.npy", 2))
	checkEven(t, r, 2)
	other := bytesOf(t, at("f.npy"))
	noError(t, "remove", errors.Join(os.Remove(at("f.json")), os.Remove(at("f.raw")),
		os.Remove(at("f.npy"))))
	noError(t, "another array", os.WriteFile(at("f.npy"), other, 0o666))
	noError(t, "write", put("f.npy", 3))
	checkEven(t, r, 2)
	checkEven(t, opened(t, at("f.raw")), 3)
}
