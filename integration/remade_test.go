package integration

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// remadeRows is how many elements of eight bytes a recreated array has. Storing them with gzip
// takes a second or more.
const remadeRows = 2 << 20

// TestWrittenWhileRemade writes a document with other chunks for an array, so that the array is
// recreated. Meanwhile programs write elements, append rows or read. Nothing of that is lost. In
// the end the document counts, unless the array has more rows by then.
func TestWrittenWhileRemade(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, mnt string, remake func()) func() error{
		"in place": writeInPlace,
		"appended": appendElements,
		"read":     readOpen,
	} {
		refused := name == "appended" // the document has fewer rows
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", store, "--group")
			mnt := mount(t, store)
			makeRemade(t, mnt)
			doc := otherChunks(t, mnt)
			if err := os.Remove(filepath.Join(mnt, "a.json")); err != nil {
				t.Fatal(err)
			}
			applied := make(chan error, 1)
			write := func() { applied <- os.WriteFile(filepath.Join(mnt, "a.json"), doc, 0o644) }
			check := change(t, mnt, func() { go write() })
			if err := <-applied; err != nil && !(refused && errors.Is(err, syscall.EINVAL)) {
				t.Errorf("the document: %v", err)
			}
			if err := check(); err != nil {
				t.Error(err)
			}
			stored := read(t, filepath.Join(store, "a/zarr.json"))
			if !refused && !bytes.Contains(stored, []byte("gzip")) {
				t.Errorf("the array does not have the codecs of its document:\n%s", stored)
			}
			shell(t, mnt, `test "$(ls)" = "a.json
a.npy
a.raw
zarr.json"`)
		})
	}
}

// TestWrittenWhileReplacing renames a.npy onto b.npy. That has other codecs, so a is recreated.
// Meanwhile programs write elements of a, and set attributes. All of that is in b then.
func TestWrittenWhileReplacing(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, mnt string, rename func()) func() error{
		"in place":  writeInPlace,
		"attribute": setAttributes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", store, "--group")
			run(t, zarrfs(t), "create", store, "b", "--shape", fmt.Sprint(remadeRows),
				"--dtype", "<i8", "--chunks", fmt.Sprint(remadeRows/16), "--codecs", "gzip:9")
			mnt := mount(t, store)
			makeRemade(t, mnt)
			renamed := make(chan error, 1)
			rename := func() {
				renamed <- os.Rename(filepath.Join(mnt, "a.npy"), filepath.Join(mnt, "b.npy"))
			}
			check := change(t, mnt, func() { go rename() })
			if err := <-renamed; err != nil {
				t.Fatal(err)
			}
			shell(t, mnt, "mv b.npy a.npy")
			if err := check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// makeRemade makes an array a whose elements take long to compress.
func makeRemade(t *testing.T, mnt string) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, 8*remadeRows)
	random.Read(raw)
	header := fmt.Sprintf("{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }", remadeRows)
	header += strings.Repeat(" ", 128-10-len(header)-1) + "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	file = append(append(file, header...), raw...)
	if err := os.WriteFile(filepath.Join(mnt, "a.npy"), file, 0o644); err != nil {
		t.Fatal(err)
	}
}

// otherChunks returns the document of a with other chunks, and codecs that are slow.
func otherChunks(t *testing.T, mnt string) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(read(t, filepath.Join(mnt, "a.json")), &doc); err != nil {
		t.Fatal(err)
	}
	chunks := map[string]any{"chunk_shape": []int{remadeRows / 16}}
	doc["chunk_grid"].(map[string]any)["configuration"] = chunks
	doc["codecs"] = []any{
		map[string]any{"name": "bytes", "configuration": map[string]any{"endian": "little"}},
		map[string]any{"name": "gzip", "configuration": map[string]any{"level": 9}},
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// changedFor calls remake, and then change every few milliseconds, with numbers from 1 on. It stops
// when the array was recreated, and returns how often change had no error.
func changedFor(t *testing.T, remake func(), change func(n int) error) (changes int) {
	t.Helper()
	remake()
	const pause = 10 * time.Millisecond
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(pause) {
		err := change(changes + 1)
		if errors.Is(err, syscall.ESTALE) || errors.Is(err, syscall.ENOENT) {
			continue // after a rename no name can be looked up again
		}
		if err != nil {
			t.Errorf("change %d: %v", changes+1, err)
			return changes
		}
		changes++
	}
	return changes
}

// known returns another path of a file, by which it can be opened without looking its name up.
func known(t *testing.T, path string) string {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}

func writeInPlace(t *testing.T, mnt string, remake func()) (check func() error) {
	path := known(t, filepath.Join(mnt, "a.raw"))
	changes := changedFor(t, remake, func(n int) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(n)), int64(8*1000*n))
		return errors.Join(err, f.Close())
	})
	return func() error {
		raw, err := os.ReadFile(filepath.Join(mnt, "a.raw"))
		lost := 0
		for n := 1; n <= changes && err == nil; n++ {
			if binary.LittleEndian.Uint64(raw[8*1000*n:]) != uint64(n) {
				lost++
			}
		}
		if lost > 0 || err != nil || changes == 0 {
			return fmt.Errorf("%d of %d elements are lost: %v", lost, changes, err)
		}
		return nil
	}
}

func appendElements(t *testing.T, mnt string, remake func()) (check func() error) {
	path := known(t, filepath.Join(mnt, "a.raw"))
	rows := changedFor(t, remake, func(n int) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
		return errors.Join(err, f.Close())
	})
	return func() error {
		raw, err := os.ReadFile(filepath.Join(mnt, "a.raw"))
		if err != nil || rows == 0 || len(raw) != 8*(remadeRows+rows) {
			return fmt.Errorf("%d bytes, expected %d rows more than %d: %v",
				len(raw), rows, remadeRows, err)
		}
		for n := 1; n <= rows; n++ {
			if got := binary.LittleEndian.Uint64(raw[8*(remadeRows+n-1):]); got != uint64(n) {
				return fmt.Errorf("row %d is %d", n, got)
			}
		}
		return nil
	}
}

// readOpen reads through one open file.
func readOpen(t *testing.T, mnt string, remake func()) (check func() error) {
	f, err := os.Open(filepath.Join(mnt, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	want := read(t, filepath.Join(mnt, "a.raw"))
	const size = 1 << 16
	different := 0
	compare := func(n int) error {
		got := make([]byte, size)
		at := n * 3 * size % len(want)
		_, err := f.ReadAt(got, int64(at))
		if !bytes.Equal(got, want[at:at+size]) {
			different++
		}
		return err
	}
	reads := changedFor(t, remake, compare)
	return func() error {
		for n := range len(want) / size {
			if err := compare(n); err != nil {
				return err
			}
		}
		if different > 0 || reads == 0 {
			return fmt.Errorf("%d of %d reads differ", different, reads+len(want)/size)
		}
		return nil
	}
}

// setAttributes sets one attribute after the other.
func setAttributes(t *testing.T, mnt string, remake func()) (check func() error) {
	path := known(t, filepath.Join(mnt, "a.raw"))
	name := func(n int) string { return fmt.Sprintf("user.zarr.attr.n%d", n) }
	set := func(n int) error { return unix.Setxattr(path, name(n), []byte("1"), 0) }
	changes := changedFor(t, remake, set)
	return func() error {
		lost := 0
		for n := 1; n <= changes; n++ {
			_, err := unix.Getxattr(filepath.Join(mnt, "a.npy"), name(n), make([]byte, 8))
			if errors.Is(err, syscall.ENODATA) {
				lost++
			} else if err != nil {
				return err
			}
		}
		if lost > 0 || changes == 0 {
			return fmt.Errorf("%d of %d attributes are lost", lost, changes)
		}
		return nil
	}
}

// TestRemadeInRenamedGroup: a group is renamed while an array in it is recreated. No part of a new
// array is left behind, and the group can be removed.
func TestRemadeInRenamedGroup(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	run(t, zarrfs(t), "create", store, "--group")
	mnt := mount(t, store)
	shell(t, mnt, "mkdir g")
	group := filepath.Join(mnt, "g")
	makeRemade(t, group)
	doc := otherChunks(t, group)
	if err := os.Remove(filepath.Join(group, "a.json")); err != nil {
		t.Fatal(err)
	}
	applied := make(chan error, 1)
	go func() { applied <- os.WriteFile(filepath.Join(group, "a.json"), doc, 0o644) }()
	for !exists(filepath.Join(store, "g/a~0")) {
		time.Sleep(time.Millisecond)
	}
	shell(t, mnt, "mv g g2")
	if err := <-applied; err != nil {
		t.Errorf("the document: %v", err)
	}
	stored := read(t, filepath.Join(store, "g2/a/zarr.json"))
	if !bytes.Contains(stored, []byte("gzip")) {
		t.Errorf("the array does not have the codecs of its document:\n%s", stored)
	}
	shell(t, filepath.Join(store, "g2"), `test "$(echo *)" = "a zarr.json"`)
	shell(t, mnt, "rm -r g2")
}
