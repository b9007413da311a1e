package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests change an array by one view while another is mapped and has pages that the mount does
// not know yet.

// viewed is an array of bytes in a mount, 4 rows of 3000.
func viewed(t *testing.T, order string) *daemon {
	spec := arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{4, 3000},
		Chunks: []int64{2, 1000}, Order: order, Codec: "[]", Keys: "/"}
	return newMountedArray(t, spec, nil).daemon
}

// mappedFile opens a view and maps more of it than it has.
func mappedFile(t *testing.T, d *daemon, view string) (f *os.File, data []byte) {
	t.Helper()
	f, err := os.OpenFile(d.path("a"+view), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	m, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	if view == ".npy" {
		header, _, err := npyHeader(f)
		if err != nil {
			t.Fatal(err)
		}
		return f, m[header:]
	}
	return f, m
}

// TestSyncByOtherView: a program that syncs sees in its mapping what the kernel has written of
// another program's.
func TestSyncByOtherView(t *testing.T) {
	zarrfs(t)
	d := viewed(t, "C")
	raw, seen := mappedFile(t, d, ".raw")
	npy, written := mappedFile(t, d, ".npy")
	if seen[5000] != 0 {
		t.Fatal("not the fill value")
	}
	written[5000] = 7
	err := unix.SyncFileRange(int(npy.Fd()), 0, 0,
		unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Sync(); err != nil {
		t.Fatal(err)
	}
	if seen[5000] != 7 {
		t.Errorf("found %d, expected 7: the page is from before the other view's", seen[5000])
	}
}

// TestResizeUnderDirtyMapping: a program has written elements into a mapping of the array in
// Fortran order. Then another view changes the array's length, which moves them to other places in
// the file. Afterwards they are there.
func TestResizeUnderDirtyMapping(t *testing.T) {
	zarrfs(t)
	for name, resize := range map[string]func(d *daemon) error{
		"raw":    func(d *daemon) error { return os.Truncate(d.path("a.raw"), 6*3000) },
		"append": func(d *daemon) error { return appendTo(d.path("a.raw"), make([]byte, 2*3000)) },
		"json": func(d *daemon) error {
			doc, err := os.ReadFile(d.path("a.json"))
			if err != nil {
				return err
			}
			old := string(bytes.Join(bytes.Fields(doc), nil))
			shape := strings.Replace(old, `"shape":[4,3000]`, `"shape":[6,3000]`, 1)
			if shape == old {
				return fmt.Errorf("no shape in %s", old)
			}
			return os.WriteFile(d.path("a.json"), []byte(shape), 0o666)
		},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetPanicOnFault(true)
			d := viewed(t, "F")
			npy, mapped := mappedFile(t, d, ".npy")
			raw, seen := mappedFile(t, d, ".raw")
			_ = seen[0]
			want := make([]byte, 6*3000)
			for i := range 4 * 3000 {
				mapped[i] = byte(1 + i%251)
				want[i%4*3000+i/4] = mapped[i]
			}
			if err := resize(d); err != nil {
				t.Fatal(err)
			}
			for view, f := range map[string]*os.File{".raw": raw, ".npy": npy} {
				all, err := os.ReadFile(d.path("a" + view))
				if err != nil {
					t.Fatal(err)
				}
				if info, err := f.Stat(); err != nil || info.Size() != int64(len(all)) ||
					len(all) < len(want) {
					t.Fatalf("the open %s has %d bytes by its handle, %d when it is read; %v",
						view, info.Size(), len(all), err)
				}
			}
			found, err := os.ReadFile(d.path("a.raw"))
			if err != nil || len(found) != len(want) {
				t.Fatalf("%d bytes, expected %d; %v", len(found), len(want), err)
			}
			for about, found := range map[string][]byte{"read": found, "mapped": seen[:len(want)]} {
				if !bytes.Equal(found, want) {
					t.Errorf("%s: %s", about, difference(found, want))
				}
			}
			for i := range want {
				if row, column := i%6, i/6; mapped[i] != want[row*3000+column] {
					t.Fatalf("the mapping in Fortran order has %d at row %d, column %d, "+
						"expected %d", mapped[i], row, column, want[row*3000+column])
				}
			}
		})
	}
}

// TestFortranOrderKeepsItsSize: the file of an array in Fortran order cannot be truncated or
// extended, and there is a reason; the array can, by its other views.
func TestFortranOrderKeepsItsSize(t *testing.T) {
	d := viewed(t, "F")
	npy, before := d.path("a.npy"), read(t, d.path("a.npy"))
	taller := bytes.Replace(before[:128], []byte("(4, 3000), "), []byte("(5, 3000), "), 1)
	for name, tc := range map[string]struct {
		change func() error
		want   unix.Errno
	}{
		"append":   {func() error { return appendTo(npy, make([]byte, 3000)) }, unix.EFBIG},
		"truncate": {func() error { return os.Truncate(npy, int64(len(before)-3000)) }, unix.EFBIG},
		"extend":   {func() error { return os.Truncate(npy, int64(len(before)+4)) }, unix.EFBIG},
		"header": {func() error {
			f, err := os.OpenFile(npy, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt(taller, 0)
			return err
		}, unix.EINVAL},
	} {
		if err := tc.change(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, expected %v", name, err, tc.want)
		}
		if why := xattr(t, npy, "user.zarrfs.error"); !strings.Contains(why, "Fortran order") ||
			!strings.Contains(why, "the .raw file, or set the shape in the .json file") {
			t.Errorf("%s: user.zarrfs.error: %s", name, why)
		}
		if !bytes.Equal(read(t, npy), before) {
			t.Fatalf("%s: the file has changed", name)
		}
	}
	if err := appendTo(d.path("a.raw"), make([]byte, 3000)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, npy); !bytes.HasPrefix(got, taller) || len(got) != len(before)+3000 {
		t.Errorf("with a row more it has %d bytes: %.80q", len(got), got)
	}
	shell(t, d.dir, "sed -i 's/3000/2000/' a.json")
	if got := read(t, npy); !bytes.Contains(got[:128], []byte("(5, 2000)")) ||
		len(got) != 128+5*2000 {
		t.Errorf("with fewer columns it has %d bytes: %.80q", len(got), got)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
