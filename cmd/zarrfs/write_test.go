package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// The arrays of writableStore.
const (
	rowBytes = 32 // of "rows": 100 rows of 16 uint16, in chunks of 10 by 8
	rowCount = 100
)

// writableStore makes a store with an array "rows", of which element i is i, and a "point" without
// axes.
func writableStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "test.zarr")
	write(t, dir, "zarr.json", testGroup)
	write(t, dir, "rows/zarr.json", fmt.Sprintf(testArray, "100, 16", "10, 8", ""))
	for y := range 10 {
		for x := range 2 {
			var b []byte
			for row := range 10 {
				b = append(b, chunk((y*10+row)*16+x*8, 8)...)
			}
			write(t, dir, fmt.Sprintf("rows/c/%d/%d", y, x), string(b))
		}
	}
	write(t, dir, "point/zarr.json", fmt.Sprintf(testArray, "", "", ""))
	return dir
}

// stored mounts the store again and returns what its file shows: nothing of it comes from the
// memory of a writer.
func stored(t *testing.T, store, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(mounted(t, store, "--read-only"), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// openFile opens a file until the end of the test.
func openFile(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func mapped(t *testing.T, f *os.File, prot int) []byte {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), prot, unix.MAP_SHARED)
	if err != nil {
		t.Fatalf("mmap: %v", err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	return m
}

func check(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %.40q (%d bytes), want %.40q (%d bytes)", what, got, len(got), want,
			len(want))
	}
}

func noError(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	noError(t, "read", err)
	return b
}

// headers are how many bytes of a view's file come before those of the array.
var headers = map[string]int64{"raw": 0, "npy": 128}

// TestWriteIsSeen writes through each view, by write(2) and by a mapping. Each view sees it at
// once: by handles and mappings that were open before, those of the same file included.
func TestWriteIsSeen(t *testing.T) {
	for _, io := range []string{"auto", "cached", "direct"} {
		t.Run(io, func(t *testing.T) {
			dir := mounted(t, writableStore(t), "--io", io)
			for to, toHead := range headers {
				for by, byHead := range headers {
					t.Run("to "+to+" by "+by, func(t *testing.T) {
						w := openFile(t, filepath.Join(dir, "rows."+to), os.O_RDWR)
						r := openFile(t, filepath.Join(dir, "rows."+by), os.O_RDONLY)
						page, own := mapped(t, r, unix.PROT_READ),
							mapped(t, w, unix.PROT_READ|unix.PROT_WRITE)
						seen := func(how string, off int64, want []byte) {
							t.Helper()
							p := make([]byte, len(want))
							_, err := r.ReadAt(p, byHead+off)
							noError(t, how, err)
							check(t, how+", read", p, want)
							check(t, how+", mapped", page[byHead+off:][:len(want)], want)
						}
						for i := range int64(20) {
							off, data := 50*rowBytes+i*7, fmt.Appendf(nil, "written %d", i)
							_, err := w.WriteAt(data, toHead+off)
							noError(t, "write", err)
							seen("write", off, data)
							data = fmt.Appendf(nil, "mapped %d!", i)
							copy(own[toHead+off:], data)
							noError(t, "msync", unix.Msync(own, unix.MS_SYNC))
							seen("msync", off, data)
						}
					})
				}
			}
		})
	}
}

// turnedStore makes a store with an array "turned", stored in Fortran order, of which element i in
// C order is i.
func turnedStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "turned.zarr")
	write(t, dir, "zarr.json", testGroup)
	write(t, dir, "turned/zarr.json",
		strings.Replace(fmt.Sprintf(testArray, "800, 700", "800, 700", ""),
			`"codecs": [`, `"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, `,
			1))
	var b []byte
	for x := range 700 {
		for y := range 800 {
			b = binary.LittleEndian.AppendUint16(b, uint16(y*700+x))
		}
	}
	write(t, dir, "turned/c/0/0", string(b))
	return dir
}

// turned are where element (y, x) of the array "turned" lies in the files of its views.
var turned = map[string]func(y, x int64) int64{
	"raw": func(y, x int64) int64 { return 2 * (y*700 + x) },
	"npy": func(y, x int64) int64 { return headers["npy"] + 2*(x*800+y) },
}

// TestWriteIsSeenInOtherOrder: one view is in C order and the other in Fortran order. What is
// written to one by write(2) or by a mapping is seen by handles and mappings of the other, which
// were open before.
func TestWriteIsSeenInOtherOrder(t *testing.T) {
	through := func(t *testing.T, store string) string {
		return mountedThrough(t, store, "turned.raw")
	}
	by := func(io string) func(*testing.T, string) string {
		return func(t *testing.T, store string) string { return mounted(t, store, "--io", io) }
	}
	for _, views := range [][2]string{{"raw", "npy"}, {"npy", "raw"}} {
		for how, mount := range map[string]func(*testing.T, string) string{
			"auto":    by("auto"),
			"cached":  by("cached"),
			"direct":  by("direct"),
			"through": through,
		} {
			t.Run(fmt.Sprintf("%v %s", views, how), func(t *testing.T) {
				dir, to, by := mount(t, turnedStore(t)), turned[views[0]], turned[views[1]]
				r := openFile(t, filepath.Join(dir, "turned."+views[1]), os.O_RDONLY)
				w := openFile(t, filepath.Join(dir, "turned."+views[0]), os.O_RDWR)
				page, own := mapped(t, r, unix.PROT_READ),
					mapped(t, w, unix.PROT_READ|unix.PROT_WRITE)
				check(t, "before", page[by(99, 1):][:2], []byte(chunk(99*700+1, 1)))
				for i := range int64(20) {
					y, x := 37*i%800, 31*i%700
					for how, store := range map[string]func(p []byte) error{
						"write": func(p []byte) error {
							_, err := w.WriteAt(p, to(y, x))
							return err
						},
						"msync": func(p []byte) error {
							copy(own[to(y, x):], p)
							return unix.Msync(own, unix.MS_SYNC)
						},
					} {
						want, got := []byte{how[0], byte(i)}, make([]byte, 2)
						noError(t, how, store(want))
						_, err := r.ReadAt(got, by(y, x))
						noError(t, "read", err)
						check(t, how+", read", got, want)
						check(t, how+", mapped", page[by(y, x):][:2], want)
					}
				}
			})
		}
	}
}

// TestWriteBesideDirtyPage: bytes of one page that are written through two views, one of them
// mapped, do not undo each other.
func TestWriteBesideDirtyPage(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	m := mapped(t, openFile(t, filepath.Join(dir, "rows.npy"), os.O_RDWR),
		unix.PROT_READ|unix.PROT_WRITE)
	copy(m[128+16:], "by mapping")
	f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_RDWR)
	_, err := f.WriteAt([]byte("by write"), 32)
	noError(t, "write", err)
	check(t, "mapping", m[128+16:][:24], []byte("by mapping"+chunk(13, 3)+"by write"))
	noError(t, "msync", unix.Msync(m, unix.MS_SYNC))
	noError(t, "close", f.Close())
	check(t, "stored", stored(t, store, "rows.raw")[16:40],
		[]byte("by mapping"+chunk(13, 3)+"by write"))
}

// TestWriteIsSeenThroughPassthrough writes to an array of which programs read an unpacked file,
// past the daemon.
func TestWriteIsSeenThroughPassthrough(t *testing.T) {
	for _, view := range []string{"raw", "npy"} {
		t.Run(view, func(t *testing.T) {
			dir := mountedThrough(t, evenStore(t, 1), "e."+view)
			before := statusOf(t, dir).Through
			r := opened(t, filepath.Join(dir, "e."+view))
			if statusOf(t, dir).Through != before+1 {
				t.Skip("SKIPPED: the file was not opened by passthrough")
			}
			page, head := mapOf(t, r, evenSize, unix.MAP_SHARED), headers[view]
			for by, byHead := range headers {
				w := openFile(t, filepath.Join(dir, "e."+by), os.O_RDWR)
				m := mapped(t, w, unix.PROT_READ|unix.PROT_WRITE)
				seen := func(how string, off int64, want []byte) {
					t.Helper()
					p := make([]byte, len(want))
					_, err := r.ReadAt(p, head+off)
					noError(t, how, err)
					check(t, how+" by "+by+", read", p, want)
					if int(head+off) < evenSize {
						check(t, how+" by "+by+", mapped", page[head+off:][:len(want)], want)
					}
				}
				data := []byte("written to ." + by)
				_, err := w.WriteAt(data, byHead+300001)
				noError(t, "write", err)
				seen("write", 300001, data)
				copy(m[byHead+5000:], data)
				noError(t, "msync", unix.Msync(m, unix.MS_SYNC))
				seen("msync", 5000, data)
				info, err := w.Stat()
				noError(t, "stat", err)
				noError(t, "append", appendTo(filepath.Join(dir, "e."+by), []byte("end")))
				seen("append", info.Size()-byHead, []byte("end"))
				noError(t, "ftruncate", w.Truncate(info.Size()))
				if now, err := r.Stat(); err != nil || now.Size() != info.Size()-byHead+head {
					t.Errorf("after a truncation the reader sees %d bytes, %v, want %d",
						now.Size(), err, info.Size()-byHead+head)
				}
				noError(t, "close", w.Close())
			}
		})
	}
}

// TestCloseStores: what was written is in the store when close, fsync, or a write with O_SYNC
// returns.
func TestCloseStores(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	path := filepath.Join(dir, "rows.raw")
	for i, how := range []string{"close", "fsync", "O_SYNC", "O_DIRECT",
		"fsync of a handle that reads", "fsync of the folder"} {
		data := fmt.Appendf(nil, "stored by %d", i)
		flags := map[string]int{"O_SYNC": os.O_SYNC, "O_DIRECT": unix.O_DIRECT}[how]
		f := openFile(t, path, os.O_WRONLY|flags)
		_, err := f.WriteAt(data, int64(i)*320)
		noError(t, how, err)
		switch how {
		case "close", "O_DIRECT":
			noError(t, how, f.Close())
		case "fsync":
			noError(t, how, f.Sync())
		case "fsync of a handle that reads":
			noError(t, how, openFile(t, path, os.O_RDONLY).Sync())
		case "fsync of the folder":
			noError(t, how, openFile(t, dir, os.O_RDONLY).Sync())
		}
		object, err := os.ReadFile(filepath.Join(store, fmt.Sprintf("rows/c/%d/0", i)))
		noError(t, how, err)
		check(t, how, object[:len(data)], data)
	}
}

// TestStoredInTime: a file that is neither closed nor synced is stored all the same, soon.
func TestStoredInTime(t *testing.T) {
	store := writableStore(t)
	f := openFile(t, filepath.Join(mounted(t, store), "rows.raw"), os.O_WRONLY)
	_, err := f.WriteAt([]byte("by itself"), 0)
	noError(t, "write", err)
	for range 200 {
		object, err := os.ReadFile(filepath.Join(store, "rows/c/0/0"))
		noError(t, "read", err)
		if string(object[:9]) == "by itself" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("not stored after 20 s")
}

// TestResizing: truncate(2), ftruncate(2), O_APPEND and fallocate(2) change axis 0, of all views
// and handles at once.
func TestResizing(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	raw, npy := filepath.Join(dir, "rows.raw"), filepath.Join(dir, "rows.npy")
	held := openFile(t, npy, os.O_RDONLY)
	rows := func(what string, want int64) {
		t.Helper()
		for _, stat := range []func() (os.FileInfo, error){
			func() (os.FileInfo, error) { return os.Stat(npy) },
			held.Stat,
		} {
			info, err := stat()
			noError(t, what, err)
			if got := info.Size(); got != 128+want*rowBytes {
				t.Errorf("%s: .npy has %d bytes, want %d rows", what, got, want)
			}
		}
		head := make([]byte, 128)
		_, err := held.ReadAt(head, 0)
		noError(t, what, err)
		if !strings.Contains(string(head), fmt.Sprintf("'shape': (%d, 16)", want)) {
			t.Errorf("%s: the header is %q", what, head)
		}
	}
	noError(t, "truncate", os.Truncate(raw, 50*rowBytes))
	rows("truncate", 50)
	check(t, "truncated", stored(t, store, "rows.raw"), []byte(chunk(0, 50*16)))
	noError(t, "truncate .npy", os.Truncate(npy, 128+60*rowBytes))
	rows("truncate .npy", 60)
	check(t, "rows truncated and grown again", stored(t, store, "rows.raw")[50*rowBytes:],
		make([]byte, 10*rowBytes))

	f := openFile(t, raw, os.O_WRONLY|os.O_APPEND)
	_, err := f.Write([]byte(chunk(0, 16)))
	noError(t, "append", err)
	rows("append", 61)
	noError(t, "append .npy", appendTo(npy, []byte(chunk(16, 16))))
	rows("append .npy", 62)
	_, err = f.Write([]byte(chunk(32, 16))) // the kernel does not know yet where the end is
	noError(t, "append", err)
	rows("append after another", 63)
	noError(t, "ftruncate", f.Truncate(64*rowBytes))
	rows("ftruncate", 64)
	noError(t, "fallocate", unix.Fallocate(int(f.Fd()), 0, 0, 65*rowBytes))
	rows("fallocate", 65)
	noError(t, "fallocate keeping the size", unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE,
		0, 1000*rowBytes))
	rows("fallocate keeping the size", 65)
	noError(t, "close", f.Close())
	want := append([]byte(chunk(0, 50*16)), make([]byte, 10*rowBytes)...)
	want = append(want, chunk(0, 3*16)...)
	check(t, "all", stored(t, store, "rows.raw"), append(want, make([]byte, 2*rowBytes)...))
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// TestMountedAppenders: rows that several programs append at the same time, through both views, are
// all there and whole.
func TestMountedAppenders(t *testing.T) {
	const appenders, each = 6, 15
	store := writableStore(t)
	dir := mounted(t, store)
	var wg sync.WaitGroup
	for i := range appenders {
		wg.Go(func() {
			for range each {
				row := bytes.Repeat([]byte{byte(100 + i)}, rowBytes)
				if err := appendTo(filepath.Join(dir, "rows."+[...]string{"raw", "npy"}[i%2]),
					row); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var found [appenders]int
	all := stored(t, store, "rows.raw")[rowCount*rowBytes:]
	for row := all; len(row) >= rowBytes; row = row[rowBytes:] {
		if !bytes.Equal(row[:rowBytes], bytes.Repeat(row[:1], rowBytes)) || row[0] < 100 ||
			row[0] >= 100+appenders {
			t.Fatalf("a row is %v", row[:rowBytes])
		}
		found[row[0]-100]++
	}
	for i, n := range found {
		if n != each {
			t.Errorf("of appender %d: %d rows, want %d", i, n, each)
		}
	}
}

// TestHoles: PUNCH_HOLE and ZERO_RANGE make zero bytes, whatever the fill value.
func TestHoles(t *testing.T) {
	store := writableStore(t)
	f := openFile(t, filepath.Join(mounted(t, store), "rows.raw"), os.O_RDWR)
	noError(t, "punch",
		unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 100, 1000))
	noError(t, "zero", unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_ZERO_RANGE, 2000, 10))
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_COLLAPSE_RANGE, 0,
		4096); err != unix.EOPNOTSUPP {
		t.Errorf("collapse: %v", err)
	}
	noError(t, "close", f.Close())
	want := []byte(chunk(0, rowCount*16))
	clear(want[100:1100])
	clear(want[2000:2010])
	check(t, "holes", stored(t, store, "rows.raw"), want)
}

// TestFractions: what is not a whole row is refused, and nothing but it is lost.
func TestFractions(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	raw := filepath.Join(dir, "rows.raw")
	if err := os.Truncate(raw, 50*rowBytes+1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("truncate: %v", err)
	}
	f := openFile(t, raw, os.O_WRONLY|os.O_APPEND)
	for _, piece := range []string{chunk(0, 10), chunk(10, 10)} { // a row, and a fourth of one
		_, err := f.Write([]byte(piece))
		noError(t, "append", err)
	}
	if err := f.Close(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("close: %v", err)
	}
	check(t, "rows", stored(t, store, "rows.raw"), []byte(chunk(0, rowCount*16)+chunk(0, 16)))
	point := filepath.Join(dir, "point.raw")
	noError(t, "an array without axes, written as a whole", os.WriteFile(point, []byte("ab"), 0))
	check(t, "point", stored(t, store, "point.raw"), []byte("ab"))
	if err := appendTo(point, []byte("c")); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("an array without axes grows: %v", err)
	}
}

// saysWhy expects a reason in the extended attribute user.zarrfs.error; "": that there is none.
func saysWhy(t *testing.T, path, want string) {
	t.Helper()
	why := make([]byte, 1000)
	n, err := unix.Getxattr(path, "user.zarrfs.error", why)
	switch {
	case want == "" && !errors.Is(err, unix.ENODATA):
		t.Errorf("user.zarrfs.error of %s is %q, %v", filepath.Base(path), why[:max(n, 0)], err)
	case want != "" && (err != nil || !strings.Contains(string(why[:n]), want)):
		t.Errorf("user.zarrfs.error of %s is %q, %v, want %q", filepath.Base(path), why[:max(n, 0)],
			err, want)
	}
}

// TestRefusalsSayWhy: whichever way a change of an array is refused, user.zarrfs.error of all its
// views says why. Closing the file does not take the reason away. The next change does, if it is
// not refused.
func TestRefusalsSayWhy(t *testing.T) {
	dir := mounted(t, writableStore(t))
	at := func(name string) string { return filepath.Join(dir, name) }
	inFile := func(name string, do func(f *os.File) error) error {
		f, err := os.OpenFile(at(name), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(do(f), f.Close())
	}
	for _, tc := range []struct {
		what string
		do   func() error
		want error
		why  string
	}{
		{"truncate", func() error {
			return os.Truncate(at("rows.raw"), 50*rowBytes+1)
		}, syscall.EINVAL, "1601 bytes, a row has 32"},
		{"truncate within the header", func() error {
			return os.Truncate(at("rows.npy"), 100)
		}, syscall.EINVAL, "a header of 128 bytes"},
		{"ftruncate", func() error {
			return inFile("rows.raw", func(f *os.File) error { return f.Truncate(3) })
		}, syscall.EINVAL, "3 bytes, a row has 32"},
		{"a write beyond all", func() error {
			return inFile("rows.raw", func(f *os.File) error {
				_, err := f.WriteAt([]byte("x"), 1<<63-2)
				return err
			})
		}, syscall.EFBIG, "more than 2^63-1 bytes"},
		{"a document that is too long", func() error {
			return inFile("rows.json", func(f *os.File) error { return f.Truncate(1 << 40) })
		}, syscall.EFBIG, "a document of 1099511627776 bytes"},
		{"a write of another header", func() error {
			return inFile("rows.npy", func(f *os.File) error {
				_, err := f.WriteAt(npyFile("", 1, "(3, 7)"), 0)
				return err
			})
		}, syscall.EINVAL, "expected a header of shape (n, [16]), found [3 7]"},
		{"a piece of a row at close", func() error {
			return appendTo(at("rows.raw"), []byte("ab"))
		}, syscall.EINVAL, "2 bytes at the end"},
		{"a hole in the header", func() error {
			return inFile("rows.npy", func(f *os.File) error {
				return unix.Fallocate(int(f.Fd()),
					unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 64)
			})
		}, syscall.EINVAL, "cannot be made zero"},
		{"names of axes", func() error {
			return unix.Setxattr(at("rows.npy"), "user.zarr.dimension_names", []byte(`["a"]`), 0)
		}, syscall.EINVAL, "dimension_names"},
		{"an attribute that is not text", func() error {
			return unix.Setxattr(at("rows.npy"), "user.zarr.attr.k", []byte("\xff\x00\xfe"), 0)
		}, syscall.EINVAL,
			`user.zarr.attr.k: expected JSON, or text in UTF-8, found "\xff\x00\xfe"`},
		{"an attribute whose name is not text", func() error {
			return unix.Setxattr(at("rows.npy"), "user.zarr.attr.%FF", []byte("1"), 0)
		}, syscall.EINVAL, "a name in UTF-8"},
	} {
		if err := tc.do(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.want)
		}
		for _, view := range []string{"raw", "npy", "json"} {
			saysWhy(t, at("rows."+view), tc.why)
		}
		noError(t, tc.what+", then a change", inFile("rows.raw", func(f *os.File) error {
			_, err := f.WriteAt([]byte("x"), 0)
			return err
		}))
		saysWhy(t, at("rows.raw"), "")
	}
	err := unix.Setxattr(dir, "user.zarrfs.create.format", []byte("2"), 0)
	if !errors.Is(err, syscall.EINVAL) {
		t.Errorf("another format for the arrays of a group: %v", err)
	}
	saysWhy(t, dir, "the group has format 3")
	noError(t, "the group's own format", unix.Setxattr(dir, "user.zarrfs.create.format",
		[]byte("3"), 0))
	saysWhy(t, dir, "")
	if err := os.Truncate(at("point.raw"), 10); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("an array without axes: %v", err)
	}
	saysWhy(t, at("point.raw"), "expected 2 bytes, found 10")
	noError(t, "remove", errors.Join(os.Remove(at("point.raw")), os.Remove(at("point.npy")),
		os.Remove(at("point.json"))))
	noError(t, "another array of that name",
		os.WriteFile(at("point.npy"), npyFile(chunk(0, 3), 1, "(3,)"), 0o666))
	saysWhy(t, at("point.raw"), "")
}

// TestPiecesOfRow: a row is written in pieces while duplicates of the descriptor are closed, as by
// a program that starts others.
func TestPiecesOfRow(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_WRONLY|os.O_APPEND)
	for i := range 4 {
		_, err := f.Write([]byte(chunk(i*4, 4)))
		noError(t, "append", err)
		fd, err := unix.Dup(int(f.Fd()))
		noError(t, "dup", err)
		if err := unix.Close(fd); (err == nil) != (i == 3) {
			t.Errorf("a duplicate is closed after piece %d: %v", i, err)
		}
	}
	noError(t, "close", f.Close())
	check(t, "rows", stored(t, store, "rows.raw"), []byte(chunk(0, rowCount*16)+chunk(0, 16)))
}

// npyFile returns a .npy file of uint16 with the header that NumPy would write.
func npyFile(data string, version byte, shape string) []byte {
	text := fmt.Sprintf("{'descr': '<u2', 'fortran_order': False, 'shape': %s, }", shape)
	head, lenSize := 10, 2
	if version > 1 {
		head, lenSize = 12, 4
	}
	text += strings.Repeat(" ", 127-head-len(text)) + "\n"
	b := append([]byte("\x93NUMPY"), version, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	b = append(b, make([]byte, lenSize-2)...)
	return append(append(b, text...), data...)
}

// TestNpyOver writes other arrays over one as cp does. What is not an array leaves the old one as
// it was.
func TestNpyOver(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	path := filepath.Join(dir, "rows.npy")
	held := openFile(t, filepath.Join(dir, "rows.raw"), os.O_RDONLY)
	old := []byte(chunk(0, rowCount*16))

	noError(t, "nothing", os.WriteFile(path, nil, 0))
	check(t, "nothing", stored(t, store, "rows.raw"), old)
	for what, bad := range map[string][]byte{"text": []byte("hello, world"),
		"a header's beginning": npyFile("", 1, "(3, 16)")[:50]} {
		if err := os.WriteFile(path, bad, 0); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: %v", what, err)
		}
		check(t, what, stored(t, store, "rows.raw"), old)
	}
	for what, tc := range map[string]struct {
		version byte
		shape   string
		n       int
	}{
		"fewer rows":          {1, "(7, 16)", 7 * 16},
		"more rows":           {1, "(200, 16)", 200 * 16},
		"another version":     {2, "(9, 16)", 9 * 16},
		"another shape":       {1, "(5, 6)", 30},
		"another rank":        {1, "(1000,)", 1000},
		"a header of its own": {3, "(3,  4,5)", 60},
	} {
		data := chunk(1000, tc.n)
		noError(t, what, os.WriteFile(path, npyFile(data, tc.version, tc.shape), 0))
		check(t, what, stored(t, store, "rows.raw"), []byte(data))
		p := make([]byte, len(data))
		_, err := held.ReadAt(p, 0)
		noError(t, what, err)
		check(t, what+", by an open handle", p, []byte(data))
	}
}

// TestNpyInPart ends .npy files before all of their bytes have come. A program gets an error if it
// copies, or if it wrote in order. The log has a line, except if a size was set, or if only the
// header was written, as by open_memmap.
func TestNpyInPart(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	dir := mounted(t, writableStore(t), "--log", log)
	whole := npyFile(chunk(7, 64), 1, "(4, 16)")
	part := filepath.Join(t.TempDir(), "part.npy")
	noError(t, "part", os.WriteFile(part, whole[:200], 0o600))
	out, err := exec.Command("cp", part, filepath.Join(dir, "new.npy")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Invalid argument") {
		t.Errorf("cp of a part: %v\n%s", err, out)
	}
	check(t, "what has come of it", bytesOf(t, filepath.Join(dir, "new.npy")),
		append(whole[:200:200], make([]byte, 56)...))
	noError(t, "cp of all", exec.Command("sh", "-c", `head -c 256 "$1" > "$2"; cp "$2" "$3"`, "sh",
		filepath.Join(dir, "new.npy"), part, filepath.Join(dir, "rows.npy")).Run())
	for name, write := range map[string]func(f *os.File) error{
		"part": func(f *os.File) error { _, err := f.Write(whole[:200]); return err },
		"refused": func(f *os.File) error { // what has come is counted, and not what was refused
			_, err := f.Write(npyFile(chunk(7, 1), 1, "()")[:129])
			if _, err := f.WriteAt(make([]byte, 100), 129); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("bytes behind the end of an array without axes: %v", err)
			}
			return err
		},
		"header": func(f *os.File) error { _, err := f.Write(whole[:128]); return err },
		"sized": func(f *os.File) error {
			_, err := f.Write(whole[:200])
			return errors.Join(err, f.Truncate(256))
		},
		"last": func(f *os.File) error {
			_, err := f.Write(whole[:200])
			_, err2 := f.WriteAt(whole[250:], 250)
			return errors.Join(err, err2)
		},
	} {
		f, err := os.Create(filepath.Join(dir, name+".npy"))
		noError(t, name, err)
		noError(t, name, write(f))
		short := name == "part" || name == "refused"
		if err := f.Close(); short != errors.Is(err, syscall.EINVAL) || !short && err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
	if code, out := zarrfs(t, "umount", dir); code != 0 {
		t.Fatalf("umount: exit code %d: %s", code, out)
	}
	text := string(bytesOf(t, log))
	if !strings.Contains(text, "file=part.npy written=200 bytes=256") ||
		!strings.Contains(text, "file=refused.npy written=129 bytes=130") {
		t.Errorf("the log does not say how much of the files has come:\n%s", text)
	}
	for _, name := range []string{"rows", "header", "sized", "last"} {
		if strings.Contains(text, "file="+name+".npy written=") {
			t.Errorf("the log says of %s that only a part has come:\n%s", name, text)
		}
	}
}

// TestNpyInPieces writes a .npy file in small pieces over another array.
func TestNpyInPieces(t *testing.T) {
	store := writableStore(t)
	f := openFile(t, filepath.Join(mounted(t, store), "rows.npy"), os.O_WRONLY|os.O_TRUNC)
	file := npyFile(chunk(7, 64), 2, "(4, 16)")
	for off := 0; off < len(file); off += 50 {
		if info, err := f.Stat(); off < 128 && (err != nil || info.Size() != int64(off)) {
			t.Errorf("%d bytes of the header were written, the size is %d, %v", off, info.Size(),
				err)
		}
		_, err := f.Write(file[off:min(off+50, len(file))])
		noError(t, "write", err)
	}
	noError(t, "close", f.Close())
	check(t, "stored", stored(t, store, "rows.raw"), []byte(chunk(7, 64)))
}

// TestNpyHeader writes the header of an open .npy file.
func TestNpyHeader(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	path := filepath.Join(dir, "rows.npy")
	head, err := os.ReadFile(path)
	noError(t, "read", err)
	head = head[:128]
	shaped := func(shape string) []byte {
		return bytes.Replace(head, []byte("(100, 16), }  "), []byte(shape), 1)
	}
	for _, tc := range []struct {
		what string
		head []byte
		err  error
		rows int
	}{
		{"the same", head, nil, 100},
		{"more rows", shaped("(1000, 16), } "), nil, 1000},
		{"fewer rows", shaped("(10, 16), }   "), nil, 10},
		{"another type", bytes.Replace(head, []byte("<u2"), []byte("<u4"), 1), syscall.EINVAL, 10},
		{"other columns", shaped("(100, 17), }  "), syscall.EINVAL, 10},
		{"no header", make([]byte, 128), syscall.EINVAL, 10},
	} {
		f := openFile(t, path, os.O_WRONLY)
		_, err := f.WriteAt(tc.head, 0)
		if err = errors.Join(err, f.Close()); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.err)
		}
		if got := len(stored(t, store, "rows.raw")) / rowBytes; got != tc.rows {
			t.Errorf("%s: %d rows, want %d", tc.what, got, tc.rows)
		}
	}
	m := mapped(t, openFile(t, path, os.O_RDWR), unix.PROT_READ|unix.PROT_WRITE)
	copy(m, make([]byte, 128))
	noError(t, "msync", unix.Msync(m, unix.MS_SYNC))
	if b := stored(t, store, "rows.npy"); !strings.Contains(string(b[:128]), "(10, 16)") {
		t.Errorf("a header that was written through a mapping: %q", b[:128])
	}
}

// TestFullDisk: what does not fit stays, is said by close and umount, and is stored when there is
// room.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t)
	store := filepath.Join(disk, "test.zarr")
	write(t, store, "zarr.json", testGroup)
	write(t, store, "a/zarr.json", fmt.Sprintf(testArray, "100, 16384", "1, 16384", ""))
	dir := mounted(t, store)
	path := filepath.Join(dir, "a.raw")
	want := bytes.Repeat([]byte("0123456789abcdef"), 100*32768/16)
	f := openFile(t, path, os.O_WRONLY)
	_, err := f.WriteAt(want, 0)
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("close: %v", err)
	}
	got, err := os.ReadFile(path)
	noError(t, "read", err)
	check(t, "what is not stored", got, want)
	saysWhy(t, path, "no space")
	f = openFile(t, path, os.O_WRONLY)
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("another write: %v", err)
	}
	if err := f.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("another close: %v", err)
	}
	if code, out := zarrfs(t, "umount", dir); code != exitMount || !strings.Contains(out, `"a"`) ||
		!strings.Contains(out, "no space") {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	noError(t, "more room", unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=20m"))
	if code, out := zarrfs(t, "umount", dir); code != 0 {
		t.Errorf("umount with room: exit code %d: %s", code, out)
	}
	check(t, "stored", stored(t, store, "a.raw"), want)
}

// TestRescued: what cannot be stored at the end is in a file of the scratch folder, also if that
// folder was given by a relative path. The verb's exit code says so.
func TestRescued(t *testing.T) {
	disk, scratch := smallDisk(t), t.TempDir()
	store := filepath.Join(disk, "test.zarr")
	write(t, store, "zarr.json", testGroup)
	write(t, store, "a/zarr.json", fmt.Sprintf(testArray, "100, 16384", "1, 16384", ""))
	t.Chdir(filepath.Dir(scratch))
	dir := mounted(t, store, "--scratch-dir", filepath.Base(scratch))
	want := bytes.Repeat([]byte("0123456789abcdef"), 100*32768/16)
	f := openFile(t, filepath.Join(dir, "a.raw"), os.O_WRONLY)
	_, err := f.WriteAt(want, 0)
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("close: %v", err)
	}
	if code, out := zarrfs(t, "umount", "--force", dir); code != exitMount ||
		!strings.Contains(out, `"a"`) {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*-a.unsaved"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	got, err := os.ReadFile(kept[0])
	noError(t, "read", err)
	for i := 0; i < len(want); i += 32768 { // chunks that could be stored are holes
		if got[i] != 0 && !bytes.Equal(got[i:i+32768], want[i:i+32768]) {
			t.Fatalf("what was kept of row %d differs", i/32768)
		}
	}
	if bytes.Count(got, []byte("0123456789abcdef")) == 0 {
		t.Error("nothing was kept")
	}
	noError(t, "more room", unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=20m"))
	before := stored(t, store, "a.raw")
	noError(t, "zeros in its place", os.WriteFile(kept[0], make([]byte, len(got)), 0o600))
	code, out := zarrfs(t, "restore", kept[0])
	if code == 0 || !strings.Contains(out, "another file's") {
		t.Errorf("restore of zeros: exit code %d: %s", code, out)
	}
	check(t, "after a refused file", stored(t, store, "a.raw"), before)
	noError(t, "the file again", os.WriteFile(kept[0], got, 0o600))
	code, out = zarrfs(t, "restore", kept[0])
	both := kept[0] + " and its note " + kept[0] + ".json can be removed"
	if code != 0 || !strings.Contains(out, both) {
		t.Errorf("restore: exit code %d: %s", code, out)
	}
	check(t, "restored", stored(t, store, "a.raw"), want)
}

// unstoredMount mounts a store on a full disk, and writes an array for which it has no room.
func unstoredMount(t *testing.T, disk, scratch string) (dir string, want []byte) {
	t.Helper()
	store := filepath.Join(disk, "test.zarr")
	write(t, store, "zarr.json", testGroup)
	write(t, store, "a/zarr.json", fmt.Sprintf(testArray, "100, 16384", "1, 16384", ""))
	dir = mounted(t, store, "--scratch-dir", scratch)
	want = bytes.Repeat([]byte("0123456789abcdef"), 100*32768/16)
	f := openFile(t, filepath.Join(dir, "a.raw"), os.O_WRONLY)
	_, err := f.WriteAt(want, 0)
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("close: %v", err)
	}
	return dir, want
}

// TestRescuedOfAnyName: neither the name of an array nor that of its store is UTF-8. What could not
// be stored is put back where it belongs.
func TestRescuedOfAnyName(t *testing.T) {
	disk, scratch := smallDisk(t), t.TempDir()
	store, array := filepath.Join(disk, "b\xff.zarr"), "c\xfe"
	write(t, store, "zarr.json", testGroup)
	write(t, store, array+"/zarr.json", fmt.Sprintf(testArray, "100, 16384", "1, 16384", ""))
	dir := mounted(t, store, "--scratch-dir", scratch)
	want := bytes.Repeat([]byte("0123456789abcdef"), 100*32768/16)
	err := os.WriteFile(filepath.Join(dir, "c%FE.raw"), want, 0)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write: %v, expected that there is no room", err)
	}
	zarrfs(t, "umount", "--force", dir)
	kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*.unsaved"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %q, %v", kept, err)
	}
	noError(t, "more room", unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=20m"))
	if code, out := zarrfs(t, "restore", kept[0]); code != 0 {
		t.Errorf("restore: exit code %d: %s", code, out)
	}
	dir = mounted(t, store)
	got, err := os.ReadFile(filepath.Join(dir, "c%FE.raw"))
	noError(t, "read", err)
	check(t, "restored", got, want)
}

// TestRescuedInPart: where the scratch folder has room only for a part, that part has its note and
// can be restored. Both verbs say that the rest is lost, and fail.
func TestRescuedInPart(t *testing.T) {
	disk, scratch := smallDisk(t), smallDisk(t)
	dir, want := unstoredMount(t, disk, scratch)
	code, out := zarrfs(t, "umount", "--force", dir)
	if code != exitMount || !strings.Contains(out, "the rest is lost") {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*-a.unsaved*"))
	if err != nil || len(kept) != 2 || kept[1] != kept[0]+".json" {
		t.Fatalf("kept: %q, %v", kept, err)
	}
	noError(t, "more room", unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=20m"))
	store := filepath.Join(disk, "test.zarr")
	before := bytes.Count(stored(t, store, "a.raw"), want[:16])
	code, out = zarrfs(t, "restore", kept[0])
	if code != exitFail || !strings.Contains(out, "has only a part") {
		t.Errorf("restore of a part: exit code %d: %s", code, out)
	}
	after := stored(t, store, "a.raw")
	if n := bytes.Count(after, want[:16]); n < before+500<<10/16 {
		t.Errorf("%d pieces are stored after restore, %d before", n, before)
	}
	for i := 0; i < len(want); i += 32768 {
		row := after[i : i+32768]
		if !bytes.Equal(row, want[:32768]) && bytes.Count(row, []byte{0}) != len(row) {
			t.Errorf("row %d has other bytes", i/32768)
		}
	}
}

// TestRescuedNowhere: where the scratch folder has no room at all, the verb fails and says so.
func TestRescuedNowhere(t *testing.T) {
	scratch := smallDisk(t)
	dir, _ := unstoredMount(t, smallDisk(t), scratch)
	filler := make([]byte, 2<<20)
	err := os.WriteFile(filepath.Join(scratch, "filler"), filler, 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the folder is not full: %v", err)
	}
	code, out := zarrfs(t, "umount", "--force", dir)
	if code != exitMount || !strings.Contains(out, "is lost") {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
}

// TestRescuedLines: lines for which the store has no room keep umount from ending the mount. With
// --force they are in a file of the scratch folder, and the exit code says so. With more room they
// are stored.
func TestRescuedLines(t *testing.T) {
	disk, scratch := smallDisk(t), t.TempDir()
	store := filepath.Join(disk, "test.zarr")
	write(t, store, "zarr.json", testGroup)
	write(t, store, "s/zarr.json", `{"zarr_format": 3, "node_type": "array", "shape": [0],
		"data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000]}},
		"chunk_key_encoding": {"name": "default"}}`)
	want := bytes.Repeat([]byte("\"0123456789abcdef\"\n"), 1<<17)
	refuse := func(dir string) {
		t.Helper()
		f := openFile(t, filepath.Join(dir, "s.jsonl"), os.O_WRONLY|os.O_TRUNC)
		_, err := f.Write(want)
		if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("close: %v", err)
		}
		if code, out := zarrfs(t, "umount", dir); code != exitMount ||
			!strings.Contains(out, `"s"`) || !strings.Contains(out, "no space") {
			t.Errorf("umount: exit code %d: %s", code, out)
		}
	}
	dir := mounted(t, store, "--scratch-dir", scratch)
	refuse(dir)
	if code, out := zarrfs(t, "umount", "--force", dir); code != exitMount ||
		!strings.Contains(out, "zarrfs-unsaved") {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*-s.jsonl"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	check(t, "kept", bytesOf(t, kept[0]), want)
	dir = mounted(t, store, "--scratch-dir", scratch)
	refuse(dir)
	noError(t, "more room", unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=20m"))
	if code, out := zarrfs(t, "umount", dir); code != 0 {
		t.Errorf("umount with room: exit code %d: %s", code, out)
	}
	check(t, "stored", stored(t, store, "s.jsonl"), want)
}

// hanging mounts a store in which an array cannot be stored, because another program has the lock
// of an object. It lets dd write to the array, and returns the log and the scratch folder of the
// mount.
func hanging(t *testing.T) (cmd *exec.Cmd, dir, scratch string, said func(text string)) {
	t.Helper()
	needFuse(t)
	store, log := writableStore(t), filepath.Join(t.TempDir(), "log")
	dir, scratch = t.TempDir(), t.TempDir()
	lock, err := os.Create(filepath.Join(store, "rows/c/0/0.__lock"))
	noError(t, "lock", err)
	noError(t, "lock",
		unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
	t.Cleanup(func() { lock.Close() })
	noError(t, "log", os.WriteFile(log, nil, 0o600))
	cmd = ourProgram(t, "mount", "--foreground", "--log", log, "--scratch-dir", scratch, store, dir)
	noError(t, "start", cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	said = func(text string) { t.Helper(); logSays(t, log, text) }
	said("msg=mounted")
	// Another program writes: what this one has open, a child that it starts would close, and so
	// wait for the store.
	writer := exec.Command("dd", "of="+filepath.Join(dir, "rows.raw"), "bs=1", "seek=4",
		"conv=notrunc")
	in, err := writer.StdinPipe()
	noError(t, "pipe", err)
	noError(t, "dd", writer.Start())
	t.Cleanup(func() { writer.Process.Kill(); cmd.Process.Kill(); writer.Wait() })
	_, err = in.Write([]byte("not stored"))
	noError(t, "write", err)
	shown := func() []byte { return bytesOf(t, filepath.Join(dir, "rows.raw")) }
	end := time.Now().Add(time.Minute)
	for ; !bytes.Contains(shown(), []byte("not stored")); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("dd has not written")
		}
	}
	return cmd, dir, scratch, said
}

// checkKept looks for what hanging has written.
func checkKept(t *testing.T, scratch string) {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*-rows.unsaved"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %q, %v", kept, err)
	}
	check(t, "kept", bytesOf(t, kept[0])[:20],
		[]byte("\x00\x00\x00\x00not stored\x00\x00\x00\x00\x00\x00"))
}

// TestSignalsWhileStoring: where the store hangs, the second signal only says what is not stored,
// and what the third leaves is in the scratch folder.
func TestSignalsWhileStoring(t *testing.T) {
	cmd, _, scratch, said := hanging(t)
	for _, text := range []string{"msg=unmounting", "bytes=10 arrays=[rows]", "forced to end"} {
		noError(t, "signal", cmd.Process.Signal(os.Interrupt))
		said(text)
	}
	said("unmounted, but not all is stored")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFail {
		t.Errorf("the end: %v", err)
	}
	checkKept(t, scratch)
}

// TestUmountWhileStoring: where the store hangs, so does umount, and with --force it waits no
// longer than it is told to.
func TestUmountWhileStoring(t *testing.T) {
	cmd, dir, scratch, _ := hanging(t)
	go cmd.Wait()
	if code, out := zarrfs(t, "umount", "--force", "--timeout", "1s", dir); code != exitMount ||
		!strings.Contains(out, "zarrfs-unsaved") {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	if _, ok := mountAt(dir); ok {
		t.Error("still mounted")
	}
	checkKept(t, scratch)
}

// TestUmountOfDaemonThatFallsSilent: where the process of the mount stops answering while it
// stores, umount says so and ends. The mount stays, nothing is lost, and it can be unmounted once
// the process goes on.
func TestUmountOfDaemonThatFallsSilent(t *testing.T) {
	cmd, dir, scratch, _ := hanging(t)
	go cmd.Wait()
	said := filepath.Join(t.TempDir(), "said")
	out, err := os.Create(said)
	noError(t, "file", err)
	defer out.Close()
	umount := ourProgram(t, "umount", dir)
	umount.Env = append(umount.Env, patience+"=1s")
	umount.Stderr = out
	noError(t, "umount", umount.Start())
	storing := []byte("storing what was written, of which 10 bytes are left")
	end := time.Now().Add(time.Minute)
	for ; !bytes.Contains(bytesOf(t, said), storing); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			umount.Process.Kill()
			t.Fatalf("umount does not say that it stores: %s", bytesOf(t, said))
		}
	}
	noError(t, "stop", cmd.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGCONT) })
	// otherwise it could not even be killed
	hung := time.AfterFunc(time.Minute, func() {
		cmd.Process.Signal(syscall.SIGCONT)
		cmd.Process.Kill()
	})
	umount.Wait()
	if !hung.Stop() || umount.ProcessState.ExitCode() != exitMount ||
		!bytes.Contains(bytesOf(t, said), []byte("while it was to store what was written")) {
		t.Errorf("umount: %v: %s", umount.ProcessState, bytesOf(t, said))
	}
	if _, ok := mountAt(dir); !ok {
		t.Error("it is not mounted any more")
	}
	noError(t, "go on", cmd.Process.Signal(syscall.SIGCONT))
	if code, out := zarrfs(t, "umount", "--force", "--timeout", "1s", dir); code != exitMount ||
		!strings.Contains(out, "zarrfs-unsaved") {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	checkKept(t, scratch)
}

// TestUnmountStores: whatever ends a mount, what was written is stored first, or kept and named.
func TestUnmountStores(t *testing.T) {
	for how, end := range map[string]func(t *testing.T, dir string, pid int) error{
		"zarrfs umount": func(t *testing.T, dir string, _ int) error {
			if code, out := zarrfs(t, "umount", "--lazy", dir); code != 0 {
				return fmt.Errorf("exit code %d: %s", code, out)
			}
			return nil
		},
		"umount": func(_ *testing.T, dir string, _ int) error {
			return unix.Unmount(dir, unix.MNT_DETACH)
		},
		"SIGTERM": func(_ *testing.T, _ string, pid int) error {
			return syscall.Kill(pid, syscall.SIGTERM)
		},
	} {
		t.Run(how, func(t *testing.T) {
			if how == "umount" && os.Getuid() != 0 {
				t.Skip("SKIPPED: umount(8), which only root may use here")
			}
			store := writableStore(t)
			dir := mounted(t, store)
			pid := servingPid(dir)
			f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_WRONLY)
			m := mapped(t, openFile(t, filepath.Join(dir, "rows.npy"), os.O_RDWR),
				unix.PROT_READ|unix.PROT_WRITE)
			copy(m[128+rowBytes:], "by mapping")
			_, err := f.WriteAt([]byte("by write"), 0)
			noError(t, "write", err)
			noError(t, how, end(t, dir, pid))
			noError(t, "close", f.Close())
			noError(t, "msync", unix.Msync(m, unix.MS_SYNC))
			got := stored(t, store, "rows.raw")
			check(t, "by write", got[:8], []byte("by write"))
			check(t, "by mapping", got[rowBytes:][:10], []byte("by mapping"))
			soon(t, "the mount is out of the tree",
				func() bool { return !mounttest.IsMounted(dir) })
		})
	}
}

// TestKilled ends the process of a mount while it is written to. What a close or fsync has stored
// is there, and nothing is left of the process after the next mount.
func TestKilled(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_WRONLY)
	for i, data := range []string{"synced", "not stored"} {
		_, err := f.WriteAt([]byte(data), int64(i)*rowBytes)
		noError(t, "write", err)
		if i == 0 {
			noError(t, "fsync", f.Sync())
		}
	}
	noError(t, "kill", syscall.Kill(servingPid(dir), syscall.SIGKILL))
	if err := f.Close(); err == nil {
		t.Error("close of a file whose mount is dead says that it is stored")
	}
	if code, out := zarrfs(t, "umount", dir); code != exitMount {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	check(t, "synced", stored(t, store, "rows.raw")[:6], []byte("synced"))
	if code, out := zarrfs(t, "umount", mounted(t, store)); code != 0 {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	if left, _ := filepath.Glob(filepath.Join(store, ".zarrfs-*")); len(left) > 0 {
		t.Errorf("left in the store: %v", left)
	}
}

// TestMetadataOfFilesIsNotKept: programs that copy files set modes, owners and times without an
// error.
func TestMetadataOfFilesIsNotKept(t *testing.T) {
	dir := mounted(t, writableStore(t))
	for _, path := range []string{dir, filepath.Join(dir, "rows.raw"),
		filepath.Join(dir, "rows.npy")} {
		noError(t, "chmod", os.Chmod(path, 0o700))
		noError(t, "chown", os.Chown(path, os.Getuid(), os.Getgid()))
		noError(t, "utimens", os.Chtimes(path, time.Unix(1, 0), time.Unix(2, 0)))
	}
	info, err := os.Stat(filepath.Join(dir, "rows.raw"))
	if err != nil || info.Mode() != 0o644 || info.ModTime().Unix() == 2 {
		t.Errorf("%v, %v, %v", info.Mode(), info.ModTime(), err)
	}
}

// smallDisk mounts a file system of 1 MiB, which is soon full.
func smallDisk(t *testing.T) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: a full disk, as only root may mount one")
	}
	dir = t.TempDir()
	noError(t, "mount tmpfs", unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}
