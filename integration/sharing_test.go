package integration

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// The tests of this file let several writers write different elements of the same chunks at the
// same time. Nothing may be lost.

const (
	sharedLen    = 40 // elements, of which a writer has each second
	sharedRounds = 12 // how often each writer writes all of its elements, storing each one
)

// shared is an array of two chunks.
func shared(format int) arraySpec {
	codec := map[int]string{2: "null", 3: "[]"}[format]
	return arraySpec{Format: format, Type: elementType{"<i4", "int32", 4, "0", "\x00\x00\x00\x00"},
		Shape: []int64{sharedLen}, Chunks: []int64{25}, Order: "C",
		Keys: ".", Codec: codec, Filter: "null"}
}

// TestTwoMountsWriteOneChunk: two mounts of a store.
func TestTwoMountsWriteOneChunk(t *testing.T) {
	for _, format := range []int{2, 3} {
		store := filepath.Join(t.TempDir(), "s.zarr")
		shared(format).write(t, store)
		one, other := started(t, store), started(t, store)
		together(t, store, writeElements(one, 0), writeElements(other, 1))
		for _, d := range []*daemon{one, other} {
			if err := d.stop(); err != nil {
				t.Error(err)
			}
		}
		compareShared(t, store)
	}
}

// TestTensorstoreWritesTheSameChunk: a mount and tensorstore, which agree by lock files.
func TestTensorstoreWritesTheSameChunk(t *testing.T) {
	p := startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	for _, format := range []int{2, 3} {
		store := filepath.Join(t.TempDir(), "s.zarr")
		shared(format).write(t, store)
		d := started(t, store)
		together(t, store, writeElements(d, 0), peerWrites(p, "tensorstore", store, ""))
		if err := d.stop(); err != nil {
			t.Error(err)
		}
		compareShared(t, store)
	}
}

// TestZarr2WritesTheSameChunk: a mount and zarr-python 2 with its ProcessSynchronizer.
func TestZarr2WritesTheSameChunk(t *testing.T) {
	p := startPeer(t, python(t, "ZARRFS_PY2", ".venv-v2"))
	store, locks := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	shared(2).write(t, store)
	d := started(t, store, "--sync-dir", locks)
	together(t, store, writeElements(d, 0), peerWrites(p, "zarr", store, locks))
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	compareShared(t, store)
}

// together runs all writers at the same time.
func together(t *testing.T, store string, writers ...func() error) {
	t.Helper()
	ended := make(chan error)
	for _, w := range writers {
		go func() { ended <- w() }()
	}
	var all error
	for range writers {
		all = errors.Join(all, <-ended)
	}
	if all != nil {
		t.Fatal(all)
	}
}

// writeElements sets each second element, from first on, through a mount, and stores it.
func writeElements(d *daemon, first int) func() error {
	return func() error {
		f, err := os.OpenFile(d.path("a.raw"), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		for round := range sharedRounds {
			for i := first; i < sharedLen; i += 2 {
				_, err := f.WriteAt(
					binary.LittleEndian.AppendUint32(nil, uint32(round+1)), 4*int64(i))
				if err != nil {
					return err
				}
				if err := f.Sync(); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// peerWrites sets each other second element by a library.
func peerWrites(p *peer, library, store, locks string) func() error {
	return func() error {
		r := request{"do": "write", "library": library, "path": filepath.Join(store, "a"),
			"rounds": sharedRounds, "start": 1, "stop": sharedLen, "step": 2, "first": 1}
		if locks != "" {
			r["sync"] = locks
		}
		var rounds int
		return p.ask(r, &rounds)
	}
}

// compareShared reads the objects: they hold the elements as they are. Each must have its last
// value.
func compareShared(t *testing.T, store string) {
	t.Helper()
	var data []byte
	for _, names := range [][]string{{"0", "c.0"}, {"1", "c.1"}} {
		object, err := os.ReadFile(filepath.Join(store, "a", names[0]))
		if err != nil {
			object, err = os.ReadFile(filepath.Join(store, "a", names[1]))
		}
		if err != nil || len(object) != 100 {
			t.Fatalf("chunk %s: %d bytes, %v", names[0], len(object), err)
		}
		data = append(data, object...)
	}
	lost := 0
	for i := range sharedLen {
		if binary.LittleEndian.Uint32(data[4*i:]) != sharedRounds {
			lost++
		}
	}
	fmt.Printf("%s: %d elements, lost: %d\n", t.Name(), sharedLen, lost)
	if lost > 0 {
		t.Errorf("%d of %d elements are lost: %v", lost, sharedLen, data)
	}
}

// TestAppendsAreSeenAtOnce has two programs append rows by one view while they have the other open
// by its page cache. A program that knows of an appended row can read it, whatever the kernel asks
// and other programs append at that moment.
func TestAppendsAreSeenAtOnce(t *testing.T) {
	const rounds, row, header = 400, 64, 128
	store := filepath.Join(t.TempDir(), "s.zarr")
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "a", "--shape", fmt.Sprintf("0,%d", row), "--dtype", "uint8",
		"--chunks", fmt.Sprintf("100,%d", row))
	mnt := mount(t, store, "--io", "cached")
	var rows atomic.Int64 // that are acknowledged, at least
	appendAndRead := func() error {
		shown, err := os.Open(filepath.Join(mnt, "a.npy"))
		if err != nil {
			return err
		}
		defer shown.Close()
		file, err := os.OpenFile(filepath.Join(mnt, "a.raw"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		for range rounds {
			if _, err := file.Write(bytes.Repeat([]byte{7}, row)); err != nil {
				return err
			}
			n, found := rows.Add(1), make([]byte, row)
			if _, err := shown.ReadAt(found, header+(n-1)*row); err != nil {
				return fmt.Errorf("row %d, which was appended: %w", n-1, err)
			}
			if found[0] != 7 || found[row-1] != 7 {
				return fmt.Errorf("row %d is %v", n-1, found)
			}
		}
		return nil
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if err := appendAndRead(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
