package zarrcore_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestZarrs reads the grids and key encodings that zarrs alone can write. testdata/zarrs-fixtures made the arrays, whose elements
// are 0, 1, 2 and so on.
func TestZarrs(t *testing.T) {
	d := memstore.New()
	unzip(t, d, "testdata/zarrs.zip")
	h := open(t, d, nil)
	arrays := 0
	names, err := children(h, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(name, " array")
		arrays++
		a := openArray(t, h, name)
		var want []byte
		for n := range volume(a.Meta().Shape) {
			want = binary.LittleEndian.AppendUint16(want, uint16(n))
		}
		if got := readAt(t, a, 0, a.Size()); !bytes.Equal(got, want) {
			t.Errorf("%s differs: %v", name, got)
		}
		for off := range a.Size() - 3 { // pieces that begin and end anywhere
			if got := readAt(t, a, off, 4); !bytes.Equal(got, want[off:off+4]) {
				t.Errorf("%s differs at byte %d", name, off)
			}
		}
		if stored, err := a.Stored(t.Context()); err != nil || stored == 0 {
			t.Errorf("%s: %d bytes stored, %v", name, stored, err)
		}
	}
	if arrays != 12 {
		t.Errorf("%d arrays, want 12", arrays)
	}
}

// unzip puts the files of an archive into a store.
func unzip(t *testing.T, d store.Writer, file string) {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		put(t, d, f.Name, data)
	}
}

// TestShardsOfDifferentShapes holds that an array is refused as a whole if the chunks of its shards do not divide one of them.
func TestShardsOfDifferentShapes(t *testing.T) {
	for _, c := range []struct {
		lengths string
		good    bool
	}{
		{"[4, 2, 6]", true}, {"[[2, 6]]", true}, {"[12, 3]", true}, // what lies behind the end does not matter
		{"[6, 3, 3]", false}, {"[4, 3, 5]", false}, {"[3, 9]", false},
	} {
		d := group(t)
		put(t, d, "a/zarr.json", fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array", "shape": [12], "data_type": "uint8", "fill_value": 0,
			"chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [%s]}},
			"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2],
			"codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]}`, c.lengths))
		_, err := open(t, d, nil).OpenArray(t.Context(), "a")
		var named *zarrcore.Error
		if (err == nil) != c.good || err != nil && !errors.As(err, &named) {
			t.Errorf("shards of %s: %v, want good %v", c.lengths, err, c.good)
		}
	}
}

// TestOtherGridsAreNotWritten holds that arrays whose chunks differ in shape are not written to by the rules for regular ones.
func TestOtherGridsAreNotWritten(t *testing.T) {
	d := memstore.New()
	unzip(t, d, "testdata/zarrs.zip")
	h := open(t, d, nil)
	for _, path := range []string{"rectilinear", "rectilinear_sharded", "bounded"} {
		a := openArray(t, h, path)
		if _, err := a.WriteAt(t.Context(), []byte{1, 2}, 0); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: WriteAt: %v", path, err)
		}
		if err := a.SetSize(t.Context(), 0); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: SetSize: %v", path, err)
		}
		if _, err := h.Node(t.Context(), path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	a := openArray(t, h, "suffix_slash")
	if _, err := a.WriteAt(t.Context(), []byte{7, 7}, 0); err != nil {
		t.Fatal(err)
	}
	if err := h.Flush(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := readAt(t, openArray(t, open(t, d, nil), "suffix_slash"), 0, 4); !bytes.Equal(got, []byte{7, 7, 1, 0}) {
		t.Errorf("under keys with a suffix: %v", got)
	}
}
