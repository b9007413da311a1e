package zarrcore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// renamedStore is a store with the group "g". In it is an array of two bytes, and one of two
// strings.
func renamedStore(t *testing.T) *Hierarchy {
	t.Helper()
	d, err := dirstore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(d, "test")
	for key, data := range map[string]string{
		"g/s/c/0":     "\x02\x00\x00\x00" + "\x01\x00\x00\x00x" + "\x01\x00\x00\x00y",
		"zarr.json":   `{"zarr_format": 3, "node_type": "group"}`,
		"g/zarr.json": `{"zarr_format": 3, "node_type": "group"}`,
		"g/a/zarr.json": fmt.Sprintf(renamedArray, `"uint8"`, "0",
			`{"name": "bytes"}`),
		"g/s/zarr.json": fmt.Sprintf(renamedArray, `"string"`, `""`,
			`{"name": "vlen-utf8"}`),
	} {
		if err := s.Put(t.Context(), key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Open(t.Context(), s, &Options{ScratchDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

const renamedArray = `{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": %s,
	"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
	"chunk_key_encoding": {"name": "default"}, "fill_value": %s, "codecs": [%s]}`

// TestRenameUpdatesTables: a rename of a group updates each of the five tables that know arrays by
// their paths. These are the open arrays, the last renames, the open arrays of strings, those made
// beside another one, and what is not durable yet. A rename that forgets one of them fails here.
func TestRenameUpdatesTables(t *testing.T) {
	for _, c := range []struct {
		table string
		put   func(t *testing.T, h *Hierarchy) (check func(at string) error)
	}{
		{"live.table", openTable},
		{"live.renameLog", renamesTable},
		{"vlenarray.Table", stringsTable},
		{"besides", besideTable},
		{"durable.Dirs", undurableTable},
	} {
		t.Run(c.table, func(t *testing.T) {
			h := renamedStore(t)
			check := c.put(t, h)
			for _, step := range [][2]string{{"g", "k"}, {"k", "m"}} {
				if err := h.Rename(t.Context(), step[0], step[1], false); err != nil {
					t.Fatal(err)
				}
			}
			if err := check("m"); err != nil {
				t.Errorf("after the group was renamed twice: %v", err)
			}
		})
	}
}

func arrayAt(t *testing.T, h *Hierarchy, path string) *Array {
	t.Helper()
	a, err := h.OpenArray(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// openTable has an array open in a program, which goes on with it where it is.
func openTable(t *testing.T, h *Hierarchy) func(at string) error {
	a := arrayAt(t, h, "g/a")
	a.NewReader() // which is open until the test ends
	return func(at string) error { return written(t, h, a, path.Join(at, "a")) }
}

// renamesTable has an array in hand that no program has open. It is not told of the second rename.
func renamesTable(t *testing.T, h *Hierarchy) func(at string) error {
	a := arrayAt(t, h, "g/a")
	return func(at string) error { return written(t, h, a, path.Join(at, "a")) }
}

// written writes to an array that was opened before the renames, and returns an error if that is
// not what is stored at path.
func written(t *testing.T, h *Hierarchy, a *Array, path string) error {
	if _, err := a.WriteAt(t.Context(), []byte{1, 2}, 0); err != nil {
		return err
	}
	if err := a.Flush(t.Context(), true); err != nil {
		return err
	}
	now, err := h.OpenArray(t.Context(), path)
	if err != nil {
		return err
	}
	p := make([]byte, 2)
	if _, err = now.ReadAt(t.Context(), p, 0); err == nil && p[1] != 2 {
		err = fmt.Errorf("what was written is not there: %v", p)
	}
	return err
}

// stringsTable has an array of strings open in a program.
func stringsTable(t *testing.T, h *Hierarchy) func(at string) error {
	v, err := h.OpenVlen(t.Context(), "g/s")
	if err != nil {
		t.Fatal(err)
	}
	v.Open()
	return func(at string) error {
		p := make([]byte, 100)
		n, err := v.Lines().ReadAt(t.Context(), p, 0)
		if errors.Is(err, io.EOF) && string(p[:n]) == "\"x\"\n\"y\"\n" {
			return nil
		}
		return fmt.Errorf("a program that has the strings open reads %q, %v", p[:n], err)
	}
}

// besideTable makes an array beside another one.
func besideTable(t *testing.T, h *Hierarchy) func(at string) error {
	n, err := h.Node(t.Context(), "g/a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.CreateBeside(t.Context(), "g/a", n.Document, func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return func(at string) error {
		if path.Dir(b.Path()) != at {
			return fmt.Errorf("the array beside the other one is at %q", b.Path())
		}
		return b.Remove(context.WithoutCancel(t.Context()))
	}
}

// undurableTable stores bytes that are not durable yet.
func undurableTable(t *testing.T, h *Hierarchy) func(at string) error {
	a := arrayAt(t, h, "g/a")
	_, err := a.WriteAt(t.Context(), []byte{1, 2}, 0)
	if err == nil {
		err = a.Flush(t.Context(), false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !h.undurable.HasAny("g/a") {
		t.Fatal("nothing is noted as not durable")
	}
	return func(at string) error {
		if h.undurable.HasAny("g/a") || !h.undurable.HasAny(path.Join(at, "a")) {
			return fmt.Errorf("not durable is what was stored of %q", h.undurable.Paths())
		}
		return nil
	}
}
