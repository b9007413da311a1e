package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestWriteIsSeenAfterOtherAppended: another program makes the array longer while it is open. What
// is written through one handle of the mount is still seen through every other one, whichever was
// opened first.
func TestWriteIsSeenAfterOtherAppended(t *testing.T) {
	for _, writerFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("writer first %v", writerFirst), func(t *testing.T) {
			store := semanticsStore(t)
			path := filepath.Join(mount(t, store), "a.raw")
			open := func(flags int) *os.File {
				f, err := os.OpenFile(path, flags, 0)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
				return f
			}
			first, second := os.O_RDONLY, os.O_RDWR
			if writerFirst {
				first, second = second, first
			}
			one := open(first)
			p := make([]byte, 8)
			one.ReadAt(p, 0)
			put(t, store, "a/zarr.json", fmt.Sprintf(arrayDoc, 2*chunks*chunkLen, chunkLen, "K"))
			other := open(second)
			w, r := other, one
			if writerFirst {
				w, r = one, other
			}
			if _, err := r.ReadAt(p, 0); err != nil {
				t.Fatal(err)
			}
			for i, when := range []string{"at once", "after fsync"} {
				want := []byte(fmt.Sprintf("written%d", i))
				if _, err := w.WriteAt(want, 0); err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					if err := w.Sync(); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := r.ReadAt(p, 0); err != nil || !bytes.Equal(p, want) {
					t.Errorf("%s: read %q, %v, expected %q", when, p, err, want)
				}
			}
		})
	}
}

// TestOpenedWhileOtherAppended: programs open an array that another one has made longer while this
// mount stores what was written to it. They see the new rows and all that was written here, at
// once.
func TestOpenedWhileOtherAppended(t *testing.T) {
	reader := startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	const number, chunk = 400, 4096
	spec := arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{number * chunk},
		Chunks: []int64{chunk}, Order: "C", Keys: "/", Codec: "[]"}
	store := filepath.Join(t.TempDir(), "s.zarr")
	spec.write(t, store)
	doc, err := os.ReadFile(filepath.Join(store, "a/zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(mount(t, store), "a.raw")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := make([]byte, number*chunk)
	var opened, meanwhile int
	for round := byte(1); round < 20 && meanwhile == 0; round++ {
		for i := range number { // a part of each chunk, so that it waits for fsync
			p := bytes.Repeat([]byte{round}, 100)
			copy(want[i*chunk+7:], p)
			if _, err := f.WriteAt(p, int64(i*chunk+7)); err != nil {
				t.Fatal(err)
			}
		}
		stored := make(chan error, 1)
		go func() { stored <- f.Sync() }()
		time.Sleep(2 * time.Millisecond)
		more := bytes.Repeat([]byte{100 + round}, chunk)
		put(t, store, fmt.Sprintf("a/c/%d", len(want)/chunk), string(more))
		was, now := fmt.Sprintf("[%d]", len(want)), fmt.Sprintf("[%d]", len(want)+chunk)
		doc = bytes.Replace(doc, []byte(was), []byte(now), 1)
		want = append(want, more...)
		put(t, store, "a/zarr.json", string(doc))
		for ended := false; !ended; opened++ {
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("round %d, opened %d files: %d bytes of %d, %v; %s",
					round, opened, len(got), len(want), err, firstDifference(got, want))
			}
			select {
			case err := <-stored:
				if ended = true; err != nil {
					t.Fatal(err)
				}
			default:
				meanwhile++
			}
		}
	}
	t.Logf("%d files were opened, %d of them while what was written was being stored",
		opened, meanwhile)
	if meanwhile == 0 {
		t.Error("the test shows nothing: fsync was too fast")
	}
	spec.Shape = []int64{int64(len(want))}
	if err := reader.check(
		filepath.Join(store, "a"), spec, want, filepath.Join(t.TempDir(), "want")); err != nil {
		t.Error(err)
	}
}

func firstDifference(got, want []byte) string {
	if len(got) != len(want) || bytes.Equal(got, want) {
		return ""
	}
	return difference(got, want)
}

// TestFortranWhileOtherAppends: zarr-python appends rows to an array while what was written to its
// .npy, in Fortran order, is not stored. fsync stores each element where it belongs, and none of
// the appended rows is lost.
func TestFortranWhileOtherAppends(t *testing.T) {
	interpreter := python(t, "ZARRFS_PY3", ".venv-v3")
	reader := startPeer(t, interpreter)
	for _, shards := range [][]int64{nil, {8, 8}} {
		for _, openedSince := range []bool{false, true} {
			name := fmt.Sprintf("shards %v, opened since %v", shards, openedSince)
			t.Run(name, func(t *testing.T) {
				spec := arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{6, 5},
					Chunks: []int64{4, 4}, Shards: shards, Order: "F", Keys: "/",
					Codec: "[]", Index: "end"}
				store := filepath.Join(t.TempDir(), "s.zarr")
				spec.write(t, store)
				dir := mount(t, store)
				f, err := os.OpenFile(filepath.Join(dir, "a.npy"), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				const rows, more, columns, header = 6, 5, 5, 128
				want := bytes.Repeat([]byte{200}, (rows+more)*columns)
				for i := range rows * columns { // all elements, one by one
					if _, err := f.WriteAt([]byte{byte(i + 1)}, int64(header+i)); err != nil {
						t.Fatal(err)
					}
					want[i%rows*columns+i/rows] = byte(i + 1)
				}
				script := fmt.Sprintf("import numpy, zarr; zarr.open_array(%q, "+
					"mode='r+').append(numpy.full((%d, %d), 200, 'uint8'))",
					filepath.Join(store, "a"), more, columns)
				if out, err := command(interpreter, "-c", script); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if openedSince {
					if got, err := os.ReadFile(filepath.Join(dir, "a.raw")); err != nil ||
						!bytes.Equal(got, want) {
						t.Errorf("opened before fsync: %v, %v, expected %v", got, err, want)
					}
					_, err := f.WriteAt([]byte{77}, header+1)
					if err != nil { // row 1 of the six that this program knows
						t.Fatal(err)
					}
					want[columns] = 77
				}
				if err := f.Sync(); err != nil {
					t.Errorf("fsync: %v", err)
				}
				if got, err := os.ReadFile(filepath.Join(dir, "a.raw")); err != nil ||
					!bytes.Equal(got, want) {
					t.Errorf("opened after fsync: %v, %v, expected %v", got, err, want)
				}
				spec.Shape[0] = rows + more
				if err := reader.check(filepath.Join(store, "a"), spec, want,
					filepath.Join(t.TempDir(), "want")); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestTruncateWhileOtherMountAppends: one mount truncates an array and another appends rows to it,
// at the same time. What is stored then is as if one had come after the other. A change that fails
// with ESTALE has changed nothing in the store.
func TestTruncateWhileOtherMountAppends(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	before := []byte("ABCDEFGHIJ")
	added := []byte("klm")
	array := func(i int) string { return fmt.Sprintf("a%d", i) }
	const rounds = 150
	for i := range rounds {
		put(t, store, array(i)+"/zarr.json", `{"zarr_format": 3, "node_type": "array",
			"shape": [10], "data_type": "uint8", "fill_value": 0,
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
			"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}`)
		for j, p := range []string{"ABCD", "EFGH", "IJ\x00\x00"} {
			put(t, store, fmt.Sprintf("%s/c/%d", array(i), j), p)
		}
	}
	cutter, appender := mount(t, store), mount(t, store)
	results := map[string]int{}
	for i := range rounds {
		one, err := os.OpenFile(filepath.Join(cutter, array(i)+".raw"), os.O_RDWR, 0)
		other, err2 := os.OpenFile(filepath.Join(appender, array(i)+".raw"),
			os.O_RDWR|os.O_APPEND, 0)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		var cutErr, appendErr error
		var both sync.WaitGroup
		both.Go(func() { cutErr = errors.Join(one.Truncate(6), one.Sync()) })
		both.Go(func() {
			_, err := other.Write(added)
			appendErr = errors.Join(err, other.Sync())
		})
		both.Wait()
		for _, err := range []error{cutErr, appendErr} {
			if err != nil && !errors.Is(err, syscall.ESTALE) {
				t.Errorf("round %d: %v", i, err)
			}
		}
		one.Close()
		other.Close()
		got := storedBytes(t, filepath.Join(store, array(i)))
		legal := [][]byte{before[:6], append(before[:6:6], added...),
			append([]byte("ABCDEF\x00\x00\x00\x00"), added...)}
		switch {
		case cutErr != nil && appendErr != nil:
			legal = [][]byte{before}
		case cutErr != nil:
			legal = [][]byte{append(before[:10:10], added...)}
		case appendErr != nil:
			legal = legal[:1]
		}
		found := -1
		for k, p := range legal {
			if bytes.Equal(got, p) {
				found = k
			}
		}
		if found < 0 {
			t.Errorf("round %d: truncate %v, append %v, stored %q", i, cutErr, appendErr, got)
		}
		results[fmt.Sprintf("truncate %v, append %v, %d rows", cutErr == nil, appendErr == nil,
			len(got))]++
		if appendErr != nil { // so that nothing is left to be stored when the mount ends
			os.Remove(filepath.Join(appender, array(i)+".raw"))
			os.Remove(filepath.Join(appender, array(i)+".npy"))
			os.Remove(filepath.Join(appender, array(i)+".json"))
		}
	}
	t.Logf("%d rounds: %v", rounds, results)
}

// storedBytes reads an array of bytes, of one axis and without compression, from its objects.
func storedBytes(t *testing.T, dir string) []byte {
	t.Helper()
	var doc struct{ Shape []int64 }
	text, err := os.ReadFile(filepath.Join(dir, "zarr.json"))
	if err := errors.Join(err, json.Unmarshal(text, &doc)); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, doc.Shape[0])
	for at := int64(0); at < doc.Shape[0]; at += 4 {
		chunk, err := os.ReadFile(filepath.Join(dir, "c", fmt.Sprint(at/4)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		copy(p[at:], chunk)
	}
	return p
}
