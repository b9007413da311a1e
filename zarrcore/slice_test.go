package zarrcore_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// sliceable returns an array of 8 x 8 bytes in chunks of 2 x 2, which are all stored. A byte is 16
// times its row, and its column.
func sliceable(t *testing.T) (*zarrcore.Hierarchy, *zarrcore.Array) {
	t.Helper()
	s := memstore.New()
	doc := `{"zarr_format": 2, "shape": [8, 8], "chunks": [2, 2], "dtype": "|u1", "fill_value": 0,
		"order": "C", "compressor": {"id": "zlib", "level": 1}, "filters": null}`
	for key, text := range map[string]string{".zgroup": `{"zarr_format": 2}`, "a/.zarray": doc} {
		put(t, s, key, []byte(text))
	}
	fill := open(t, s, nil)
	a := openArray(t, fill, "a")
	for i := range int64(64) {
		if _, err := a.WriteAt(t.Context(), []byte{byte(i/8*16 + i%8)}, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Flush(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	h := open(t, s, nil)
	return h, openArray(t, h, "a")
}

// sliceOf returns the part of a with these indexes.
func sliceOf(a *zarrcore.Array, rows, columns layout.Indexes) *zarrcore.Array {
	m := a.Meta()
	shape := []int64{rows.Count, columns.Count}
	return a.Slice(zarrcore.Slice{Meta: m.Part(shape, nil, m.Type, false, false),
		Bytes: layout.NewSelection(m.Shape, 1, []layout.Indexes{rows, columns}, false)})
}

// TestSliceDecodesWhatItTouches: reading a slice decodes no chunk that has nothing of it.
func TestSliceDecodesWhatItTouches(t *testing.T) {
	for _, tc := range []struct {
		name          string
		rows, columns layout.Indexes
		chunks        int64
	}{
		{"one element", layout.Indexes{Start: 3, Step: 1, Count: 1}, layout.Indexes{Start: 5,
			Step: 1, Count: 1}, 1},
		{"a row", layout.Indexes{Start: 3, Step: 1, Count: 1}, layout.All(8), 4},
		{"a column", layout.All(8), layout.Indexes{Start: 5, Step: 1, Count: 1}, 4},
		{"corners", layout.Indexes{Start: 7, Step: -7, Count: 2}, layout.Indexes{Step: 7, Count: 2},
			4},
		{"every fourth row and column", layout.Indexes{Step: 4, Count: 2}, layout.Indexes{Start: 1,
			Step: 4, Count: 2}, 4},
		{"nothing", layout.Indexes{}, layout.All(8), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, a := sliceable(t)
			s := sliceOf(a, tc.rows, tc.columns)
			var want []byte
			for i := range tc.rows.Count {
				for j := range tc.columns.Count {
					want = append(want,
						byte((tc.rows.Start+i*tc.rows.Step)*16+tc.columns.Start+j*tc.columns.Step))
				}
			}
			got := make([]byte, s.Size())
			if len(got) > 0 {
				if _, err := s.ReadAt(t.Context(), got, 0); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%v, expected %v", got, want)
			}
			if n := h.Status().ChunksDecoded; n != tc.chunks {
				t.Errorf("%d chunks were decoded, expected %d", n, tc.chunks)
			}
		})
	}
}

// TestSliceBesideEdits: a slice is made and read while the attributes of its array change.
func TestSliceBesideEdits(t *testing.T) {
	h, a := sliceable(t)
	edited := make(chan error, 1)
	go func() {
		for i := range 100 {
			if err := h.SetAttribute(t.Context(), "a", "units", fmt.Append(nil, i)); err != nil {
				edited <- err
				return
			}
		}
		edited <- nil
	}()
	for isOver := false; !isOver; {
		got := make([]byte, 1)
		s := sliceOf(a, layout.Indexes{Start: 3, Step: 1, Count: 1}, layout.All(8))
		if _, err := s.ReadAt(t.Context(), got, 5); err != nil || got[0] != 3*16+5 {
			t.Fatalf("%v, %v", got, err)
		}
		select {
		case err := <-edited:
			isOver = true
			if err != nil {
				t.Error(err)
			}
		default: // it goes on
		}
	}
}

// TestSliceIsWritten: a slice that is one stretch of the array is written in place. Another one is
// refused, and nothing changes. Both show what is dirty.
func TestSliceIsWritten(t *testing.T) {
	_, a := sliceable(t)
	row := sliceOf(a, layout.Indexes{Start: 3, Step: 1, Count: 1}, layout.All(8))
	column := sliceOf(a, layout.All(8), layout.Indexes{Start: 2, Step: 1, Count: 1})
	if err := row.Writable(); err != nil {
		t.Error(err)
	}
	if _, err := row.WriteAt(t.Context(), []byte{1, 2, 3}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := row.WriteAt(t.Context(), []byte{1, 2, 3}, 6); err == nil {
		t.Error("bytes were written behind the end of a slice")
	}
	if err := row.SetSize(t.Context(), 4); err == nil {
		t.Error("a slice was truncated")
	}
	if err := column.Writable(); err == nil {
		t.Error("a column can be written")
	}
	if _, err := column.WriteAt(t.Context(), []byte{9}, 0); err == nil {
		t.Error("a column was written")
	}
	if err := column.Clear(t.Context(), 0, 8); err == nil {
		t.Error("a column was made zero")
	}
	for what, tc := range map[string]struct {
		a    *zarrcore.Array
		want []byte
	}{
		"the row":    {row, []byte{48, 1, 2, 3, 52, 53, 54, 55}},
		"the column": {column, []byte{2, 18, 34, 2, 66, 82, 98, 114}},
	} {
		for _, state := range []string{"dirty", "stored"} {
			got := make([]byte, 8)
			if _, err := tc.a.ReadAt(context.Background(), got, 0); err != nil || !bytes.Equal(got,
				tc.want) {
				t.Errorf("%s, %s: %v, expected %v, %v", what, state, got, tc.want, err)
			}
			if err := a.Flush(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := row.Clear(t.Context(), 0, 100); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 64)
	if _, err := a.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got[24:32], make([]byte,
		8)) || got[23] == 0 || got[32] == 0 {
		t.Error(fmt.Sprint("the row is not zero, or more than that: ", got, err))
	}
}
