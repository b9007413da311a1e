package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// Documents of the smallest arrays and groups.
const (
	arrayV1 = `{"zarr_format": 1, "shape": [3], "chunks": [3], "dtype": "|u1", "fill_value": 0, ` +
		`"order": "C", "compression": null, "compression_opts": null}`
	arrayV2 = `{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|u1", "fill_value": 0, ` +
		`"order": "C", "compressor": null, "filters": null}`
	arrayV3 = `{"zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "uint8",
		"fill_value": 0,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
		"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}`
	groupV2 = `{"zarr_format": 2}`
	groupV3 = `{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}`
)

// hierarchy has one node of each kind.
var hierarchy = map[string]string{
	"zarr.json":                groupV3,
	"v1/meta":                  arrayV1,
	"v1/attrs":                 `{}`,
	"v2/.zarray":               arrayV2,
	"v2/.zattrs":               `{"units": "K"}`,
	"v2/0":                     "abc",
	"v2group/.zgroup":          groupV2,
	"v2group/inner/.zarray":    arrayV2,
	"v3/zarr.json":             arrayV3,
	"v3/c/0":                   "abc",
	"both/zarr.json":           groupV3,
	"both/.zarray":             arrayV2,
	"implicit/deep/er/.zarray": arrayV2,
	"notjson/zarr.json":        `{"zarr_format": 3, "node_type": "arr`,
	"empty/zarr.json":          "",
	"notjson2/.zarray":         `nonsense`,
	"badtype/.zarray":          strings.Replace(arrayV2, "|u1", "|x1", 1),
	"badcodec/zarr.json": strings.Replace(arrayV3, `{"name": "bytes"}`,
		`{"name": "nobody.knows"}`, 1),
	"badgroup/zarr.json": `{"zarr_format": 3, "node_type": "group", "attributes": 7}`,
	"badgroup/a/.zarray": arrayV2,
	"file":               "no directory",
}

func hierarchyStore(t testing.TB) *memstore.Driver {
	d := memstore.New()
	for key, doc := range hierarchy {
		put(t, d, key, []byte(doc))
	}
	return d
}

func TestNodes(t *testing.T) {
	h := open(t, hierarchyStore(t), nil)
	tests := []struct {
		path   string
		kind   zarrcore.NodeKind
		format int
		err    error // why it cannot be read, at the latest by OpenArray
	}{
		{"", zarrcore.GroupNode, 3, nil},
		{"v1", zarrcore.ArrayNode, 1, nil},
		{"v2", zarrcore.ArrayNode, 2, nil},
		{"v2group", zarrcore.GroupNode, 2, nil},
		{"v2group/inner", zarrcore.ArrayNode, 2, nil},
		{"v3", zarrcore.ArrayNode, 3, nil},
		{"both", zarrcore.GroupNode, 3, nil},
		{"implicit", zarrcore.DirectoryNode, 0, nil},
		{"implicit/deep", zarrcore.DirectoryNode, 0, nil},
		{"implicit/deep/er", zarrcore.ArrayNode, 2, nil},
		{"notjson", zarrcore.ArrayNode, 3, meta.ErrInvalid},
		{"empty", zarrcore.ArrayNode, 3, meta.ErrInvalid},
		{"notjson2", zarrcore.ArrayNode, 2, meta.ErrInvalid},
		{"badtype", zarrcore.ArrayNode, 2, errors.ErrUnsupported},
		{"badcodec", zarrcore.ArrayNode, 3, errors.ErrUnsupported},
		{"badgroup", zarrcore.GroupNode, 3, nil},
		{"badgroup/a", zarrcore.ArrayNode, 2, nil},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			n, err := h.Node(context.Background(), tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if n.Kind != tt.kind || n.Format != tt.format || n.Path != tt.path ||
				n.Version == "" && tt.format != 0 {
				t.Errorf("got a %s of version %d: %+v", n.Kind, n.Format, n)
			}
			if n.Document == nil || n.Kind == zarrcore.ArrayNode && n.Meta == nil {
				t.Error("no document, or an array without metadata")
			}
			_, err = h.OpenArray(context.Background(), tt.path)
			want := tt.err
			if tt.kind != zarrcore.ArrayNode {
				want = zarrcore.ErrNotArray
			}
			if !errors.Is(err, want) {
				t.Errorf("OpenArray: got %v, want %v", err, want)
			}
		})
	}
}

// TestNodeMadeDuringALook makes an array right after its documents were looked for. Its directory
// is found then, and is not a group.
func TestNodeMadeDuringALook(t *testing.T) {
	for name, doc := range map[string]string{
		"zarr.json": arrayV3,
		".zarray":   arrayV2,
		"meta":      arrayV1,
	} {
		d, k := group(t), &hook{}
		h := open(t, storetest.Faulty(d, k), nil)
		k.once(storetest.OpStat, "n", func() error {
			put(t, d, "n/"+name, []byte(doc))
			if name == "meta" {
				put(t, d, "n/attrs", []byte(`{}`))
			}
			return nil
		})
		if n, err := h.Node(t.Context(), "n"); err != nil || n.Kind != zarrcore.ArrayNode {
			t.Errorf("%s: found %+v, %v", name, n, err)
		}
	}
}

// TestErrorsNameTheDocument: or the member of it.
func TestErrorsNameTheDocument(t *testing.T) {
	h := open(t, hierarchyStore(t), nil)
	for path, want := range map[string]string{
		"notjson": `cannot open "notjson": zarr.json: line 1, column 37 (byte 36): ` +
			`expected a closing '"', found the end of the document`,
		"notjson2": `cannot open "notjson2": .zarray: line 1, column 1 (byte 0): ` +
			`expected a value, found 'n'`,
		"badtype": `cannot open "badtype": dtype: unknown type "|x1": unsupported operation`,
	} {
		if _, err := h.OpenArray(context.Background(), path); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", path, err, want)
		}
	}
}

func TestNoNodes(t *testing.T) {
	d := hierarchyStore(t)
	h := open(t, d, nil)
	for _, path := range []string{
		"nowhere", "v2/nowhere", "file", "file/below", "v3/zarr.json", "v3/zarr.json/below",
	} {
		_, err := h.Node(context.Background(), path)
		var e *zarrcore.Error
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) || e.Path != path {
			t.Errorf("%s: got %v, want a zarrcore.Error for fs.ErrNotExist", path, err)
		}
	}
	put(t, d, "v3/c/0/0", []byte{0})
	for _, path := range []string{"v3/c", "v3/c/0"} { // chunks are not nodes
		if n, err := h.Node(context.Background(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %+v, %v", path, n, err)
		}
	}
	if err := d.Delete(context.Background(), "zarr.json", store.If{}); err != nil {
		t.Fatal(err)
	}
	if n, err := h.Node(context.Background(), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that has gone: got %+v, %v", n, err)
	}
	for _, path := range []string{"..", "v2/../v2", "/", "a\x00b"} {
		if _, err := h.Node(context.Background(), path); err == nil {
			t.Errorf("%q is a node", path)
		}
	}
}

// TestFileInTheWay: in a directory store a path through a file is ENOTDIR,
// which is fs.ErrNotExist to us.
func TestFileInTheWay(t *testing.T) {
	dir := t.TempDir()
	for name, doc := range map[string]string{"zarr.json": groupV3, "file": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(doc), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := dirstore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	h := open(t, d, nil)
	for _, path := range []string{"file", "file/a", "file/a/b"} {
		if _, err := h.Node(context.Background(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want fs.ErrNotExist", path, err)
		}
	}
}

func TestOpenNeedsMetadata(t *testing.T) {
	d := memstore.New()
	_, err := zarrcore.Open(context.Background(), store.New(d, "s"), nil)
	if !errors.Is(err, zarrcore.ErrNotStore) {
		t.Errorf("an empty store: got %v, want ErrNotStore", err)
	}
	put(t, d, "a/.zarray", []byte(arrayV2))
	_, err = zarrcore.Open(context.Background(), store.New(d, "s"), nil)
	if !errors.Is(err, zarrcore.ErrNotStore) {
		t.Errorf("an implicit root: got %v, want ErrNotStore", err)
	}
	put(t, d, ".zarray", []byte(arrayV2))
	put(t, d, "0", []byte("abc"))
	a := openArray(t, open(t, d, nil), "")
	if got := readAt(t, a, 0, 3); string(got) != "abc" || a.Path() != "" {
		t.Errorf("the root array holds %q", got)
	}
}

// children lists a group's children as "name kind", sorted.
func children(h *zarrcore.Hierarchy, path string) ([]string, error) {
	var all []string
	err := h.Children(context.Background(), path, func(c zarrcore.Child) error {
		all = append(all, c.Name+" "+c.Kind.String())
		return nil
	})
	slices.Sort(all)
	return all, err
}

func TestChildren(t *testing.T) {
	h := open(t, hierarchyStore(t), nil)
	tests := []struct{ path, want string }{
		{"", "badcodec array, badgroup group, badtype array, both group, empty array, " +
			"implicit directory, notjson array, notjson2 array, v1 array, v2 array, " +
			"v2group group, v3 array"},
		{"v2group", "inner array"},
		{"implicit", "deep directory"},
		{"badgroup", "a array"},
		{"v3", ""}, // chunks are not children
		{"v2", ""},
	}
	for _, tt := range tests {
		got, err := children(h, tt.path)
		if err != nil || strings.Join(got, ", ") != tt.want {
			t.Errorf("%q: %v\ngot  %s\nwant %s", tt.path, err, strings.Join(got, ", "), tt.want)
		}
	}
	if _, err := children(h, "nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing group: got %v", err)
	}
}

// TestChildrenAreStreamed: children are given out while the listing goes on. An error of yield
// ends it. An error of the listing comes after what was found.
func TestChildrenAreStreamed(t *testing.T) {
	const many = 40_000 // a listing is ahead of its reader by two runs: 4096 names, then 32768
	d := group(t)
	for i := range many {
		put(t, d, fmt.Sprintf("a%d/.zarray", i), []byte(arrayV2))
	}
	entries := 0
	h := open(t, storetest.Faulty(d, storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		if op.Kind == storetest.OpEntry {
			entries++
		}
		return storetest.Fault{}
	})), nil)
	if got, err := children(h, ""); len(got) != many || err != nil {
		t.Errorf("%d children, %v", len(got), err)
	}
	before, disorder := "", 0
	h.Children(context.Background(), "", func(c zarrcore.Child) error {
		if c.Name < before {
			disorder++
		}
		before = c.Name
		return nil
	})
	if disorder > many/64 { // a slow machine sorts few at a time
		t.Errorf("%d of %d children come before one of a smaller name", disorder, many)
	}
	entries = 0
	errStop := errors.New("enough")
	err := h.Children(context.Background(), "", func(zarrcore.Child) error { return errStop })
	if err != errStop {
		t.Errorf("got %v, want the error of yield", err)
	}
	if entries == many {
		t.Errorf("%d entries were listed for one child", entries)
	}
	h = open(t,
		storetest.Faulty(d, storetest.OnNth(1500, storetest.OpEntry, fs.ErrPermission)), nil)
	if got, err := children(h, ""); len(got) == 0 || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a listing that breaks off: %d children, %v", len(got), err)
	}
}

// storedOf returns what is stored of an array.
func storedOf(t *testing.T, h *zarrcore.Hierarchy, path string) zarrcore.Stored {
	t.Helper()
	n, err := h.Node(t.Context(), path)
	must(t, err)
	s, err := h.Stored(t.Context(), n, 1000)
	must(t, err)
	return s
}

// TestNextData: stretches without stored objects are holes.
func TestNextData(t *testing.T) {
	ctx := context.Background()
	d := group(t)
	f := &fixture{element: elements[3], format: 3, shape: []int64{10, 6}, chunk: []int64{2, 3},
		separator: "/"}
	put(t, d, "a/zarr.json", []byte(f.documents()["zarr.json"]))
	const slab = 2 * 6 * 8 // bytes of two rows
	h := open(t, d, nil)
	check := func(off, start, end int64) {
		t.Helper()
		s, e, err := openArray(t, h, "a").NextData(ctx, off)
		if s != start || e != end || err != nil {
			t.Errorf("data after %d: from %d to %d, %v; want %d to %d", off, s, e, err, start, end)
		}
	}
	check(0, 5*slab, 5*slab)
	for _, key := range []string{"1/0", "2/1", "4/0"} {
		put(t, d, "a/c/"+key, make([]byte, 2*3*8))
	}
	check(0, slab, 3*slab)
	check(slab+1, slab+1, 3*slab)
	check(3*slab-1, 3*slab-1, 3*slab)
	check(3*slab, 4*slab, 5*slab)
	check(5*slab-1, 5*slab-1, 5*slab)
	check(5*slab, 5*slab, 5*slab)
	put(t, d, "a/c/9/9", []byte("outside the array"))
	put(t, d, "a/c/1/0.partial", []byte("no chunk"))
	got := storedOf(t, h, "a")
	if got.Bytes != 3*2*3*8 || got.Objects != 3 || got.Of != 10 || !got.Whole {
		t.Errorf("stored: %+v; want 3 of 10 objects: only chunks count", got)
	}
	n, err := h.Node(ctx, "a")
	must(t, err)
	if got, err = h.Stored(ctx, n, 4); got.Whole || got.Objects > 3 || err != nil {
		t.Errorf("stored, by 4 looks: %+v, %v; want a part", got, err)
	}
	f.element = elements[0] // of a fill value that is not zero
	put(t, d, "a/zarr.json", []byte(f.documents()["zarr.json"]))
	check(7, 7, 60)
}

// TestStatus: a scan from start to end decodes every byte once.
func TestStatus(t *testing.T) {
	for name, f := range map[string]fixture{
		"a chunk is a band": {shape: []int64{400_000}, chunk: []int64{100_000}},
		"slabs":             {shape: []int64{64, 6400}, chunk: []int64{16, 1600}},
		"cut chunks":        {shape: []int64{70, 6450}, chunk: []int64{16, 1600}},
		"shards": {shape: []int64{64, 6400}, chunk: []int64{32, 3200},
			inner: []int64{16, 1600}},
		"small": {shape: []int64{4000}, chunk: []int64{1000}},
	} {
		f.element, f.path, f.format, f.separator, f.checksum = elements[3], "a", 3, "/", true
		d := group(t)
		f.write(t, d, rand.New(rand.NewPCG(1, 2)))
		h := open(t, d, nil)
		r := openArray(t, h, "a").NewReader()
		for off := int64(0); off < int64(len(f.data)); off += 128 << 10 {
			if _, err := read(r, off, 128<<10); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		s := h.Status()
		if s.BytesServed != int64(len(f.data)) || s.Amplification != 1 || s.ArraysOpen != 1 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestReadAheadDecodesOnce: the requests of two windows of read-ahead come in any order, and are
// one sequence all the same.
func TestReadAheadDecodesOnce(t *testing.T) {
	const mib, readAhead = 1 << 20, 4 << 20
	f := fixture{path: "a", format: 3, shape: []int64{48, mib}, chunk: []int64{1, mib},
		separator: "/", checksum: true}
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2)))
	h := open(t, d, &zarrcore.Options{ReadAhead: readAhead})
	r := openArray(t, h, "a").NewReader()
	defer r.Close()
	for window := int64(0); window < int64(len(f.data)); window += 2 * readAhead {
		for _, n := range []int64{0, 1, 6, 2, 5, 7, 3, 4} {
			at := window + n*mib
			if got, err := read(r, at, mib); err != nil || !bytes.Equal(got, f.data[at:at+mib]) {
				t.Fatalf("%d bytes at %d: %v", len(got), at, err)
			}
		}
	}
	if s := h.Status(); s.ChunksDecoded != 48 {
		t.Errorf("%d chunks decoded, expected 48, each once", s.ChunksDecoded)
	}
}

// TestRandomReadsDecodeWhatTheyTouch: a large read somewhere does not bring a
// whole band.
func TestRandomReadsDecodeWhatTheyTouch(t *testing.T) {
	f := fixture{element: elements[3], path: "a", format: 3, shape: []int64{64, 6400},
		chunk: []int64{64, 100}, separator: "/", checksum: true}
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2)))
	h := open(t, d, nil)
	r := openArray(t, h, "a").NewReader()
	defer r.Close()
	const n = 25_600 // half a row: 32 of 64 chunks
	for range 10 {
		if _, err := read(r, 40*51_200, n); err != nil {
			t.Fatal(err)
		}
	}
	if s := h.Status(); s.ChunksDecoded != 32 {
		t.Errorf("%d chunks decoded, expected 32", s.ChunksDecoded)
	}
}
