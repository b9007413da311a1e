package zarrcore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	iofs "io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// sortedChildren lists a group in order.
func sortedChildren(t *testing.T, h *zarrcore.Hierarchy, path string) string {
	t.Helper()
	names, err := children(h, path)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// TestConsolidated reads stores of zarr-python that cannot be listed: what there is, and its
// documents, are known by the copies in the root's.
func TestConsolidated(t *testing.T) {
	for file, format := range map[string]int{"testdata/consolidated-v2.zip": 2,
		"testdata/consolidated-v3.zip": 3} {
		d := memstore.NewUnlistable()
		unzip(t, d, file)
		if err := d.Delete(t.Context(), "g/h/zarr.json", store.If{}); err != nil &&
			!errors.Is(err, iofs.ErrNotExist) {
			t.Fatal(err) // the copy will do
		}
		h := open(t, d, nil)
		for path, want := range map[string]string{"": "a array, g group", "g": "b array, h group",
			"g/h": "", "a": ""} {
			if got := sortedChildren(t, h, path); got != want {
				t.Errorf("%s: %q holds %s, want %s", file, path, got, want)
			}
		}
		if n, err := h.Node(t.Context(), "g/h"); err != nil || n.Kind != zarrcore.GroupNode ||
			n.Format != format {
			t.Errorf("%s: %+v, %v", file, n, err)
		}
		if _, err := h.Node(t.Context(), "g/nothing"); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: a node that is not: %v", file, err)
		}
		var want []byte
		for n := range 35 {
			want = binary.LittleEndian.AppendUint16(want, uint16(n))
		}
		for _, path := range []string{"a", "g/b"} {
			a := openArray(t, h, path)
			if got := readAt(t, a, 0, a.Size()); !bytes.Equal(got, want) {
				t.Errorf("%s: %s differs", file, path)
			}
			if start, end, err := a.NextData(t.Context(), 7); start != 7 || end != a.Size() ||
				err != nil {
				t.Errorf("%s: data from %d to %d, %v; want all to count as data", file, start, end,
					err)
			}
			n, err := h.Node(t.Context(), path)
			must(t, err)
			if _, err := h.Stored(t.Context(), n, 1000); !errors.Is(err, store.ErrCannotList) {
				t.Errorf("%s: bytes stored of objects that cannot be listed: %v", file, err)
			}
			if again := openArray(t, h, path); again != a {
				t.Errorf("%s: %s was opened as another array, though nothing has changed", file,
					path)
			}
		}
	}
}

// TestConsolidatedIgnored holds that the copies are not looked at where the store can list: they
// may be outdated.
func TestConsolidatedIgnored(t *testing.T) {
	d := memstore.New()
	unzip(t, d, "testdata/consolidated-v2.zip")
	put(t, d, "new/.zgroup", []byte(`{"zarr_format": 2}`))
	if err := d.Delete(t.Context(), "a/.zarray", store.If{}); err != nil {
		t.Fatal(err)
	}
	if got, want := sortedChildren(t, open(t, d, nil), ""),
		"a directory, g group, new group"; got != want {
		t.Errorf("the root holds %s, want %s", got, want)
	}
}

// TestNoList is about stores that can neither list nor have consolidated metadata: their nodes can
// be opened by name.
func TestNoList(t *testing.T) {
	d := memstore.NewUnlistable()
	put(t, d, ".zgroup", []byte(`{"zarr_format": 2}`))
	put(t, d, "a/.zarray",
		[]byte(
			`{"zarr_format": 2, "shape": [2, 1], "chunks": [2, 1], "dtype": "|u1", "fill_value": `+
				`0, "order": "C", "compressor": null}`))
	put(t, d, "a/0/0", []byte("xy")) // nested, which only the object itself shows
	h := open(t, d, nil)
	if _, err := children(h, ""); !errors.Is(err, store.ErrCannotList) ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("listing: %v", err)
	}
	a := openArray(t, h, "a")
	if got := readAt(t, a, 0, 2); string(got) != "xy" {
		t.Errorf("read %q", got)
	}
	put(t, d, "a/0/0", []byte("zz"))
	if got := readAt(t, openArray(t, h, "a"), 0, 2); string(got) != "zz" {
		t.Errorf("read %q after a change", got)
	}
}

// TestConsolidatedHostile holds that copies which no writer makes do no harm.
func TestConsolidatedHostile(t *testing.T) {
	deep := strings.Repeat("a/", 3000)
	for _, doc := range []string{
		`{"zarr_consolidated_format": 2, "metadata": {"a/.zgroup": {}}}`,
		`{"zarr_consolidated_format": 1, "metadata": []}`,
		`{"zarr_consolidated_format": 1}`,
		`{"zarr_consolidated_format": 1, "metadata": {"a/.zgroup": {}`,
		`[]`,
	} {
		d := memstore.NewUnlistable()
		put(t, d, ".zgroup", []byte(`{"zarr_format": 2}`))
		put(t, d, ".zmetadata", []byte(doc))
		if _, err := children(open(t, d, nil), ""); !errors.Is(err, store.ErrCannotList) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	d := memstore.NewUnlistable()
	put(t, d, ".zgroup", []byte(`{"zarr_format": 2}`))
	put(t, d, ".zmetadata", []byte(`{"zarr_consolidated_format": 1,
		"metadata": {"../x/.zgroup": {}, "/y/.zgroup": {"zarr_format": 2}, "z/.zarray": 3,
		"": {}, ".zgroup": {}, "`+deep+`.zgroup": {}, "p/q/.zgroup": {"zarr_format": 2},
		"file": {}}}`))
	h := open(t, d, nil)
	if got, want := sortedChildren(t, h, ""), "p directory, y group, z array"; got != want {
		t.Errorf("the root holds %s, want %s", got, want)
	}
	if n, err := h.Node(t.Context(), "p"); err != nil || n.Kind != zarrcore.DirectoryNode {
		t.Errorf("a folder: %+v, %v", n, err)
	}
	if n, err := h.Node(t.Context(), "z"); err != nil || n.Err == nil {
		t.Errorf("found a node that is not an array: %+v, %v", n, err)
	}
}
