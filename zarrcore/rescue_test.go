package zarrcore_test

import (
	"bytes"
	"errors"
	iofs "io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

// fullArray returns an array of 50 times 30 numbers in a store without room, and the store.
func fullArray(t *testing.T) (*zarrcore.Hierarchy, *full, *zarrcore.Array) {
	t.Helper()
	d := newFull()
	h := writable(t, 3, d.Driver)
	a, err := h.CreateArray(t.Context(), "a", []int64{50, 30}, descr(t, "'<i4'"), false)
	must(t, err)
	d.set(syscall.ENOSPC)
	return h, d, a
}

// TestRescueTwice: a file and its note have their name together. If only the file of an earlier
// rescue was removed, the next one does not take its name: the note beside it is another's.
func TestRescueTwice(t *testing.T) {
	for _, left := range []string{"", ".json"} {
		h, d, a := fullArray(t)
		dir, data := t.TempDir(), counting(1500)
		_, err := a.WriteAt(t.Context(), data[1000:2000], 1000)
		must(t, err)
		first, err := h.Rescue(dir)
		must(t, err)
		other := first[0] + left
		for _, name := range []string{first[0], first[0] + ".json"} {
			if name != other {
				must(t, os.Remove(name))
			}
		}
		before, err := os.ReadFile(other)
		must(t, err)
		_, err = a.WriteAt(t.Context(), data[4000:5000], 4000)
		must(t, err)
		second, err := h.Rescue(dir)
		if err != nil || len(second) != 1 || second[0] == first[0] {
			t.Fatalf("%q is left, and the next rescue gives %q, %v", other, second, err)
		}
		if after, err := os.ReadFile(other); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%q has changed: %v", other, err)
		}
		d.set(nil)
		n, err := restored(t, reopened(t, d.Driver), second[0])
		if err != nil || n != 2000 {
			t.Errorf("%d bytes are restored, expected 2000: %v", n, err)
		}
		_, err = rescue.Open(first[0])
		want(t, err, iofs.ErrNotExist)
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
			t.Errorf("files: %v, %v", entries, err)
		}
	}
}

// restored puts back what is in a file.
func restored(t *testing.T, h *zarrcore.Hierarchy, name string) (bytes int64, err error) {
	t.Helper()
	r, err := rescue.Open(name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return h.Restore(t.Context(), r, r.Array())
}

// TestRestoreMismatch: a file that is not that of the note beside it is refused, and the error says
// what was expected and found.
func TestRestoreMismatch(t *testing.T) {
	h, _, a := fullArray(t)
	_, err := a.WriteAt(t.Context(), counting(250), 1000)
	must(t, err)
	files, err := h.Rescue(t.TempDir())
	must(t, err)
	name := files[0]
	good, err := os.ReadFile(name)
	must(t, err)
	note, err := os.ReadFile(name + ".json")
	must(t, err)
	r, err := rescue.Open(name)
	must(t, err)
	must(t, r.Close())
	for _, tc := range []struct {
		name       string
		data, note []byte
		says       string
	}{
		{"shorter", good[:5000], note, "expected 6000 bytes, found 5000"},
		{"longer", append(bytes.Clone(good), 0), note, "expected 6000 bytes, found 6001"},
		{"zeros", make([]byte, 6000), note, "checksum"},
		{"cut note", good, note[:len(note)-20], "not complete"},
		{"empty note", good, nil, "not complete"},
	} {
		must(t, os.WriteFile(name, tc.data, 0o600))
		must(t, os.WriteFile(name+".json", tc.note, 0o600))
		if _, err := rescue.Open(name); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: expected an error with %q, found %v", tc.name, tc.says, err)
		}
	}
	must(t, os.WriteFile(name+".json", note, 0o600))
	must(t, os.Remove(name))
	_, err = rescue.Open(name)
	if !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestRescueOfColumns: a note has as few stretches as there are, whatever the order of the chunks.
// No column is all of the fill value: it would need no space, and a flush in the background would
// take it out of the note.
func TestRescueOfColumns(t *testing.T) {
	const rows, columns = 300, 400
	d := newFull()
	h := writable(t, 3, d.Driver)
	must(t, h.CreateFromDocument(t.Context(), "a", []byte(`{"zarr_format": 3, "node_type": "array",
		"shape": [300, 400],
		"data_type": "uint8", "fill_value": 255,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [300, 1]}},
		"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}`)))
	a := openArray(t, h, "a")
	data := counting(rows * columns / 4)
	d.set(syscall.ENOSPC)
	_, err := a.WriteAt(t.Context(), data[1:], 1)
	must(t, err)
	files, err := h.Rescue(t.TempDir())
	must(t, err)
	note, err := os.ReadFile(files[0] + ".json")
	must(t, err)
	if !bytes.Contains(note, []byte(`"stretches":[[1,119999]]`)) {
		t.Errorf("the note is %.400s", note)
	}
	d.set(nil)
	other := reopened(t, d.Driver)
	if n, err := restored(t, other, files[0]); err != nil || n != rows*columns-1 {
		t.Errorf("%d bytes are restored: %v", n, err)
	}
	if !bytes.Equal(whole(t, openArray(t, reopened(t, d.Driver), "a"))[1:], data[1:]) {
		t.Error("the array has other bytes")
	}
}
