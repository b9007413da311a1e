package fs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/layout/volume"
)

// fitsHead and fitsTail are how many bytes a.fits of boxedMount has before and behind the array's
// 8,000.
const (
	fitsHead = volume.FITSBlock
	fitsTail = 3*volume.FITSBlock - 8000
)

// fitsOf returns the .fits of an array of rows of 1000 bytes.
func fitsOf(t *testing.T, data []byte) []byte {
	t.Helper()
	file, err := volume.FITS(volume.Volume{Type: volume.Type{Class: volume.Uint, Size: 1},
		Axes: []volume.Axis{{Length: int64(len(data) / 1000), Name: "y"},
			{Length: 1000, Name: "x"}}, Unit: "K"})
	must(t, err)
	file = append(file, data...)
	for len(file)%volume.FITSBlock > 0 {
		file = append(file, 0)
	}
	return file
}

// hasData returns an error unless the array of a mount has these bytes.
func hasData(dir string, want []byte) error {
	raw, err := os.ReadFile(filepath.Join(dir, "a.raw"))
	if err == nil && !bytes.Equal(raw, want) {
		err = fmt.Errorf("a.raw has %d bytes, and not the %d expected", len(raw), len(want))
	}
	return err
}

// TestTailIsShown: the zeros behind an array are read like its bytes. None of these is in a hole.
func TestTailIsShown(t *testing.T) {
	dir, data := boxedMount(t)
	want, end := fitsOf(t, data), int64(fitsHead+len(data))
	f, err := os.Open(filepath.Join(dir, "a.fits"))
	must(t, err)
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != end+fitsTail {
		t.Errorf("the file has %d bytes, %v, expected %d", info.Size(), err, end+fitsTail)
	}
	for _, from := range []int64{0, fitsHead - 1, fitsHead, 5000, end - 1, end, end + 1,
		end + fitsTail - 1} {
		for _, n := range []int64{1, 2, 700, 9000, 20000} {
			got := make([]byte, n)
			read, _ := f.ReadAt(got, from)
			if whole := want[from:min(from+n, int64(len(want)))]; !bytes.Equal(got[:read], whole) {
				t.Errorf("%d bytes at %d: %d bytes, and not those expected", n, from, read)
			}
		}
	}
	if hole, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_HOLE); err != nil || hole < end {
		t.Errorf("the first hole is at %d, %v, expected not before %d", hole, err, end)
	}
}

// TestTailIsKept: what would change the zeros behind an array is refused, and changes nothing.
func TestTailIsKept(t *testing.T) {
	dir, data := boxedMount(t)
	const end = fitsHead + 8000
	f, err := os.OpenFile(filepath.Join(dir, "a.fits"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	for _, at := range []int64{end, end + 5, end + fitsTail - 1} {
		_, err = f.WriteAt([]byte("X"), at)
		failsWith(t, fmt.Sprint("a byte at ", at), err, syscall.EPERM)
	}
	_, err = f.WriteAt([]byte("hello"), end-3)
	failsWith(t, "bytes of the array and others", err, syscall.EPERM)
	_, err = f.WriteAt([]byte{0, 0}, end+fitsTail-1)
	failsWith(t, "zeros across the end", err, syscall.EPERM)
	failsWith(t, "truncate", f.Truncate(end), syscall.EPERM)
	must(t, hasData(dir, data))
	_, err = f.WriteAt([]byte("abc\x00\x00"), end-3)
	must(t, err)
	_, err = f.WriteAt(make([]byte, fitsTail), end)
	must(t, err)
	must(t, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, end,
		fitsTail))
	part, err := os.OpenFile(filepath.Join(dir, "a@{0=1:4}.fits"), os.O_RDWR, 0)
	must(t, err)
	defer part.Close()
	_, err = part.WriteAt(make([]byte, 9), fitsHead+3007)
	must(t, err)
	_, err = part.WriteAt([]byte("X"), fitsHead+3007)
	failsWith(t, "a byte behind a part", err, syscall.EPERM)
	m, err := unix.Mmap(int(f.Fd()), 0, end+fitsTail, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED)
	must(t, err)
	must(t, readHello(m[end+9:]))
	must(t, errors.Join(unix.Msync(m, unix.MS_SYNC), unix.Munmap(m)))
	copy(data[7997:], "abc")
	must(t, hasData(dir, data))
	got, err := os.ReadFile(filepath.Join(dir, "a.fits"))
	if err != nil || !bytes.Equal(got, fitsOf(t, data)) {
		t.Errorf("a.fits has %d bytes, %v, and not those expected", len(got), err)
	}
}

// TestTailIsCopied: a copy onto such a file may end where the array does, for nothing is lost then.
// Bytes in the place of the zeros are refused.
func TestTailIsCopied(t *testing.T) {
	other := bytes.Repeat([]byte{5}, 8000)
	whole := fitsOf(t, other)
	odd := bytes.Clone(whole)
	odd[len(odd)-1] = 1
	const end = fitsHead + 8000
	for name, tc := range map[string]struct {
		file   []byte
		refuse string
	}{
		"whole": {whole, ""}, "without the zeros": {whole[:end], ""},
		"some of them": {whole[:end+9], ""},
		"a byte short": {whole[:end-1], "nvalid argument"},
		"no zeros":     {odd, "not permitted"},
	} {
		for _, flag := range []string{"--sparse=never", "--sparse=always"} {
			t.Run(name+" "+flag, func(t *testing.T) {
				tailIsCopied(t, flag, tc.file, tc.refuse, other, name == "whole")
			})
		}
	}
}

// tailIsCopied copies a file onto a.fits, and renames one to it. The renamed file must be whole.
func tailIsCopied(
	t *testing.T, flag string, copied []byte, refuse string, other []byte, whole bool,
) {
	dir, data := boxedMount(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, copied, 0o666))
	out, err := exec.Command("cp", flag, file,
		filepath.Join(dir, "a.fits")).CombinedOutput()
	if (err == nil) != (refuse == "") || !strings.Contains(string(out), refuse) {
		t.Errorf("copied: %v %s, expected %q", err, out, refuse)
	}
	if err == nil {
		must(t, hasData(dir, other))
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.raw"), data, 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "tmp"), copied, 0o666))
	if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "a.fits")); !whole {
		failsWith(t, "renamed", err, syscall.EPERM)
		must(t, hasData(dir, data))
	} else if err != nil {
		t.Errorf("renamed: %v", err)
	} else {
		must(t, hasData(dir, other))
	}
}

// TestTailFollowsTheArray: an open file has the zeros behind the last row, wherever that is by now.
func TestTailFollowsTheArray(t *testing.T) {
	dir, data := boxedMount(t)
	f, err := os.Open(filepath.Join(dir, "a.fits"))
	must(t, err)
	defer f.Close()
	raw := filepath.Join(dir, "a.raw")
	data = append(data, bytes.Repeat([]byte{7}, 4000)...)
	for _, rows := range []int{8, 9, 3, 12, 8, 1, 10} {
		before, err := os.ReadFile(raw)
		must(t, err)
		if more := rows*1000 - len(before); more > 0 {
			g, err := os.OpenFile(raw, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = g.Write(data[len(before) : rows*1000])
			must(t, err)
			must(t, g.Close())
		} else {
			must(t, os.Truncate(raw, int64(rows*1000)))
		}
		want, got := fitsOf(t, data[:rows*1000]), make([]byte, 20000)
		n, _ := f.ReadAt(got, 0)
		info, err := f.Stat()
		if err != nil || info.Size() != int64(len(want)) || !bytes.Equal(got[:n], want) {
			t.Errorf("%d rows: %d bytes of %d, %v, and not the %d expected", rows, n, info.Size(),
				err, len(want))
		}
		if rows == 12 { // a block of 4 KiB has nothing but zeros behind the array
			at, err := unix.Seek(int(f.Fd()), 16400, unix.SEEK_DATA)
			failsWith(t, fmt.Sprint("data at ", at), err, syscall.ENXIO)
		}
	}
}
