package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// stringStore writes a store with an array "a" of 5000 strings in chunks of 1000, of which the second is not stored, one of lists
// that NumPy has no type for, one of bytes, and one of numbers. It returns the lines of a.
func stringStore(t *testing.T) (dir string, want string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "s.zarr")
	doc := `{"zarr_format":3,"node_type":"array","shape":[%d],"data_type":"%s","fill_value":%s,"codecs":["%s"],
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1000]}},"chunk_key_encoding":{"name":"default"}}`
	write(t, dir, "zarr.json", `{"zarr_format":3,"node_type":"group"}`)
	write(t, dir, "a/zarr.json", fmt.Sprintf(doc, 5000, "string", `"-"`, "vlen-utf8"))
	write(t, dir, "b/zarr.json", fmt.Sprintf(doc, 2, "bytes", `"AP8="`, "vlen-bytes"))
	write(t, dir, "n/zarr.json", fmt.Sprintf(doc, 2, "uint8", `7`, "bytes"))
	write(t, dir, "lists/.zarray", `{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|O","order":"C","compressor":null,"fill_value":null,"filters":[{"id":"vlen-array","dtype":"<i4"}]}`)
	var lines strings.Builder
	for c := range 5 {
		chunk := binary.LittleEndian.AppendUint32(nil, 1000)
		for i := range 1000 {
			word := fmt.Sprintf("größe %d", 1000*c+i)
			if c == 1 {
				word = "-"
			}
			chunk = append(binary.LittleEndian.AppendUint32(chunk, uint32(len(word))), word...)
			fmt.Fprintf(&lines, "%q\n", word)
		}
		if c != 1 {
			write(t, dir, fmt.Sprint("a/c/", c), string(chunk))
		}
	}
	return dir, lines.String()
}

// TestMountedStrings reads arrays whose elements have no fixed size through a mount.
func TestMountedStrings(t *testing.T) {
	store, want := stringStore(t)
	mnt := mounted(t, store)
	if names, err := os.ReadDir(mnt); err != nil || fmt.Sprint(names) != "[- a.json - a.jsonl - a.npy - b.json - b.jsonl - b.npy - lists.json - lists.jsonl - lists.npy - n.json - n.npy - n.raw - zarr.json]" {
		t.Errorf("listed: %v, %v", names, err)
	}
	f, err := os.Open(filepath.Join(mnt, "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(want)) || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("an open file's size: %v, %v, want %d", info.Size(), err, len(want))
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != want {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(want))
	}
	part := make([]byte, 3000)
	for off := len(want) - 1000; off >= 0; off -= 7919 {
		if n, err := f.ReadAt(part, int64(off)); string(part[:n]) != want[off:min(off+n, len(want))] || n != min(3000, len(want)-off) || (err == io.EOF) != (n < 3000) {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	npy, err := os.ReadFile(filepath.Join(mnt, "a.npy"))
	head := "\x93NUMPY\x01\x00v\x00{'descr': '<U10', 'fortran_order': False, 'shape': (5000,), }"
	if err != nil || !strings.HasPrefix(string(npy), head) || len(npy) != 128+5000*40 {
		t.Fatalf("a.npy: %d bytes %.80q, %v", len(npy), npy, err)
	}
	if got := npy[128+3*40 : 128+4*40]; !bytes.Equal(got, utf32("größe 3", 10)) {
		t.Errorf("element 3 is %q", got)
	}
	if got, err := os.ReadFile(filepath.Join(mnt, "b.jsonl")); string(got) != "\"AP8=\"\n\"AP8=\"\n" {
		t.Errorf("b.jsonl: %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(mnt, "b.npy")); err != nil || !bytes.Contains(got, []byte("'|S2'")) || !bytes.HasSuffix(got, []byte("\x00\xff\x00\xff")) {
		t.Errorf("b.npy: %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(mnt, "lists.jsonl")); string(got) != "[]\n[]\n" {
		t.Errorf("lists.jsonl: %q, %v", got, err)
	}
}

func utf32(s string, width int) (b []byte) {
	for _, r := range s {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
	}
	return append(b, make([]byte, 4*width-len(b))...)
}

// TestMountedStringsRefused: what such arrays have no view for is refused, as are writes.
func TestMountedStringsRefused(t *testing.T) {
	store, _ := stringStore(t)
	if err := os.WriteFile(filepath.Join(store, "a/c/3"), []byte("torn"), 0o666); err != nil {
		t.Fatal(err)
	}
	mnt := mounted(t, store)
	for _, c := range []struct {
		name  string
		flags int
		want  []error
	}{
		{"a.raw", os.O_RDONLY, []error{syscall.EOPNOTSUPP}},
		{"lists.npy", os.O_RDONLY, []error{syscall.EOPNOTSUPP}},
		{"n.jsonl", os.O_RDONLY, []error{syscall.ENOENT}},
		{"a.npy", os.O_RDONLY, []error{syscall.EIO}}, // counting meets the torn chunk
		{"a.jsonl", os.O_RDWR, []error{syscall.EOPNOTSUPP, syscall.EACCES}},
		{"a.npy", os.O_RDWR, []error{syscall.EOPNOTSUPP, syscall.EACCES}},
	} {
		f, err := os.OpenFile(filepath.Join(mnt, c.name), c.flags, 0)
		if err == nil {
			f.Close()
		}
		if !slices.ContainsFunc(c.want, func(want error) bool { return isErrno(err, want) }) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	f, err := os.Open(filepath.Join(mnt, "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Stat(); !isErrno(err, syscall.EIO) {
		t.Errorf("stat of an open file that cannot be counted: %v, want EIO", err)
	}
	got, err := io.ReadAll(f)
	if !isErrno(err, syscall.EIO) || bytes.Count(got, []byte("\n")) != 3000 {
		t.Errorf("%d lines before the torn chunk, %v", bytes.Count(got, []byte("\n")), err)
	}
}

// TestMountedStringsUnwritable: what is written to a name in .jsonl never changes an array, and where there is no such view it
// is a name as any other.
func TestMountedStringsUnwritable(t *testing.T) {
	store, want := stringStore(t)
	mnt := mounted(t, store)
	other, lines := filepath.Join(mnt, "n.jsonl"), filepath.Join(mnt, "a.jsonl")
	if err := os.WriteFile(other, []byte("{}\n"), 0o666); err != nil {
		t.Errorf("a name that is no view: %v", err)
	}
	if err := os.Truncate(lines, 0); err == nil {
		t.Error("the lines of an array can be cut")
	}
	if err := os.Rename(other, lines); !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Errorf("renamed onto lines: %v, want EOPNOTSUPP", err)
	}
	if got, err := os.ReadFile(lines); err != nil || string(got) != want {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
	}
	if err := os.Remove(lines); err != nil {
		t.Errorf("removing an array by its lines: %v", err)
	}
	if _, err := os.Stat(filepath.Join(store, "a")); !os.IsNotExist(err) {
		t.Errorf("the array is still in the store: %v", err)
	}
}

func isErrno(err, want error) bool {
	e, ok := err.(*os.PathError)
	return ok && e.Err == want
}
