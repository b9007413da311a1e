package zarrcore_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestZarrs reads the grids and key encodings that zarrs alone can write. testdata/zarrs-fixtures
// made the arrays, whose elements are 0, 1, 2 and so on.
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
		if s := storedOf(t, h, name); s.Bytes == 0 || s.Objects != s.Of {
			t.Errorf("%s: %+v stored", name, s)
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

// TestShardsOfDifferentShapes holds that an array is refused as a whole if the chunks of its shards
// do not divide one of them.
func TestShardsOfDifferentShapes(t *testing.T) {
	for _, c := range []struct {
		lengths string
		good    bool
	}{
		// what lies behind the end does not matter
		{"[4, 2, 6]", true}, {"[[2, 6]]", true}, {"[12, 3]", true},
		{"[6, 3, 3]", false}, {"[4, 3, 5]", false}, {"[3, 9]", false},
	} {
		d := group(t)
		put(t, d, "a/zarr.json", fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array",
			"shape": [12], "data_type": "uint8", "fill_value": 0,
			"chunk_grid": {"name": "rectilinear",
			"configuration": {"kind": "inline", "chunk_shapes": [%s]}},
			"chunk_key_encoding": {"name": "default"},
			"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2],
			"codecs": [{"name": "bytes"}],
			"index_codecs": [{"name": "bytes",
			"configuration": {"endian": "little"}}]}}]}`, c.lengths))
		_, err := open(t, d, nil).OpenArray(t.Context(), "a")
		var named *zarrcore.Error
		if (err == nil) != c.good || err != nil && !errors.As(err, &named) {
			t.Errorf("shards of %s: %v, want good %v", c.lengths, err, c.good)
		}
	}
}

// TestZarrsIsWritten writes over the arrays of TestZarrs, each byte by itself, and reads them
// again.
func TestZarrsIsWritten(t *testing.T) {
	d := memstore.New()
	unzip(t, d, "testdata/zarrs.zip")
	h := open(t, d, nil)
	names, err := children(h, "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	for _, name := range names {
		name = strings.TrimSuffix(name, " array")
		a := openArray(t, h, name)
		data := readAt(t, a, 0, a.Size())
		for i := 0; i < len(data); i += 3 { // two of three bytes stay
			data[i] = byte(200 - i)
			if _, err := a.WriteAt(t.Context(), data[i:i+1], int64(i)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		want[name] = data
	}
	if err := h.Flush(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	h = open(t, d, nil)
	for name, data := range want {
		if a := openArray(t, h, name); !bytes.Equal(readAt(t, a, 0, a.Size()), data) {
			t.Errorf("%s differs", name)
		}
	}
}

// gridDocument is the document of an array of bytes in a grid, uncompressed, or in shards with
// chunks of the given shape.
func gridDocument(shape, grid, inner string) []byte {
	codecs := `{"name": "bytes"}`
	if inner != "" {
		codecs = fmt.Sprintf(`{"name": "sharding_indexed",
			"configuration": {"chunk_shape": %s, "codecs": [%s],
			"index_codecs": [{"name": "bytes",
			"configuration": {"endian": "little"}}]}}`, inner, codecs)
	}
	return fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array", "shape": %s,
		"data_type": "uint8", "fill_value": 9,
		"chunk_grid": %s, "chunk_key_encoding": {"name": "v2"},
		"codecs": [%s]}`, shape, grid, codecs)
}

// TestGridsAreResized: where a grid lists lengths, an array can have as many rows as they add up
// to, and objects keep their lengths. Where chunks end with the array, those at its end are stored
// again.
func TestGridsAreResized(t *testing.T) {
	rectilinear :=
		`{"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [%s, [2, 3]]}}`
	bounded := `{"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [4, 3]}}`
	for _, c := range []struct {
		name, grid, inner string
		rows              int64
		err               error  // of having so many rows
		objects           string // the bytes of those along the left edge then
	}{
		{"cut", fmt.Sprintf(rectilinear, "[4, 1, 5]"), "", 3, nil, "[8]"},
		{"grown within the lengths", fmt.Sprintf(rectilinear, "[4, 1, 5, 2]"), "", 12, nil,
			"[8 2 10 4]"},
		{"grown beyond them", fmt.Sprintf(rectilinear, "[4, 1, 5, 2]"), "", 13,
			zarrcore.ErrFixedSize, "[8 2 10]"},
		{"one length for all", fmt.Sprintf(rectilinear, "4"), "", 13, nil, "[8 8 8 8]"},
		{"bounded, cut", bounded, "", 7, nil, "[12 9]"},
		{"bounded, cut at a chunk's end", bounded, "", 4, nil, "[12]"},
		{"bounded, grown", bounded, "", 7 + 8, nil, "[12 12 12 9]"},
		{"shards of one length",
			`{"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [4, 5]}}`, "[1, 1]",
			7, nil, "[340 255]"},
		{"shards that no chunks divide",
			`{"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [4, 5]}}`, "[2, 1]",
			7, iofs.ErrInvalid, "[180 180 90]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := group(t)
			h := open(t, d, nil)
			if err := h.CreateFromDocument(t.Context(), "a",
				gridDocument("[10, 5]", c.grid, c.inner)); err != nil {
				t.Fatal(err)
			}
			a := openArray(t, h, "a")
			ones := bytes.Repeat([]byte{1}, int(a.Size()))
			if _, err := a.WriteAt(t.Context(), ones, 0); err != nil {
				t.Fatal(err)
			}
			if err := a.Flush(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if err := a.SetSize(t.Context(), c.rows*5); !errors.Is(err, c.err) {
				t.Fatalf("%v, expected %v", err, c.err)
			}
			rows := c.rows
			if c.err != nil {
				rows = 10
			} else if more := a.Live().Size() - int64(len(ones)); more > 0 {
				// so that all objects are stored
				if _, err := a.WriteAt(t.Context(), ones[:more], int64(len(ones))); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.Flush(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if got := leftEdge(t, d, "a"); got != c.objects {
				t.Errorf("objects of %s bytes, expected %s", got, c.objects)
			}
			b := openArray(t, open(t, d, nil), "a")
			if got := readAt(t, b, 0, b.Size()); !bytes.Equal(got,
				bytes.Repeat([]byte{1}, int(rows*5))) {
				t.Errorf("%d rows expected, found %v", rows, got)
			}
		})
	}
}

// leftEdge lists the sizes of the objects N.0 of an array.
func leftEdge(t *testing.T, d store.Driver, path string) string {
	t.Helper()
	sizes := []int64{}
	for n := 0; ; n++ {
		obj, err := store.New(d, "").Open(t.Context(), fmt.Sprintf("%s/%d.0", path, n))
		if err != nil {
			return fmt.Sprint(sizes)
		}
		sizes = append(sizes, obj.Info().Size)
		obj.Close()
	}
}

// TestBoundedKeepsOtherAxes: where chunks end with the array, only the first axis can get another
// length. Of another axis all chunks along the edge would have to be stored again.
func TestBoundedKeepsOtherAxes(t *testing.T) {
	d := group(t)
	h := open(t, d, nil)
	grid := `{"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [4, 3]}}`
	if err := h.CreateFromDocument(t.Context(), "a",
		gridDocument("[10, 5]", grid, "")); err != nil {
		t.Fatal(err)
	}
	if err := h.SetDocument(t.Context(), "a", gridDocument("[10, 6]", grid, "")); !errors.Is(err,
		meta.ErrInvalid) {
		t.Errorf("%v, expected ErrInvalid", err)
	}
	if got := fmt.Sprint(openArray(t, h, "a").Meta().Shape); got != "[10 5]" {
		t.Errorf("shape %s", got)
	}
	if err := h.SetDocument(t.Context(), "a", gridDocument("[11, 5]", grid, "")); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(openArray(t, h, "a").Live().Meta().Shape); got != "[11 5]" {
		t.Errorf("shape %s", got)
	}
}

// TestOverwriteBeyondGrid: a .npy is written over an array. If the array becomes longer than the
// lengths of its grid, it gets another grid.
func TestOverwriteBeyondGrid(t *testing.T) {
	d := group(t)
	h := open(t, d, nil)
	grid :=
		`{"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[4, 6], 3]}}`
	if err := h.CreateFromDocument(t.Context(), "a",
		gridDocument("[10, 5]", grid, "")); err != nil {
		t.Fatal(err)
	}
	typ := openArray(t, h, "a").Meta().Type
	for _, c := range []struct {
		shape []int64
		same  bool
	}{{[]int64{8, 5}, true}, {[]int64{10, 7}, true}, {[]int64{11, 7}, false}} {
		a, err := h.Overwrite(t.Context(), "a", c.shape, typ, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.WriteAt(t.Context(), bytes.Repeat([]byte{5}, int(a.Size())), 0); err != nil {
			t.Fatal(err)
		}
		if err := a.Flush(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		b := openArray(t, open(t, d, nil), "a")
		if fmt.Sprint(b.Meta().Shape) != fmt.Sprint(c.shape) || b.Meta().IsRegular() == c.same ||
			readAt(t, b, b.Size()-1, 1)[0] != 5 {
			t.Errorf("shape %v, expected %v; in the same grid: %v, expected %v", b.Meta().Shape,
				c.shape, !b.Meta().IsRegular(), c.same)
		}
	}
}
