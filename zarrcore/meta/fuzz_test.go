package meta

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// checkArray holds what is promised of every array, whatever its document was.
func checkArray(t *testing.T, doc []byte, a *Array, err error) {
	if err != nil && errors.Is(err, ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("%q: %v is of no kind or of two", doc, err)
	}
	if a == nil {
		if err == nil {
			t.Fatalf("%q: neither an array nor an error", doc)
		}
		return
	}
	if (a.Shape == nil) != (a.Chunk == nil) || len(a.Shape) != len(a.Chunk) {
		t.Fatalf("%q: shape %v, chunk %v", doc, a.Shape, a.Chunk)
	}
	if !json.Valid(a.Document) && !bytes.Equal(a.Document, doc) {
		t.Fatalf("%q shows as %q", doc, a.Document)
	}
	if err != nil {
		return
	}
	if _, err := a.Grid(); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	if vlen := a.Type.Kind == dtype.Object; vlen != (a.Type.Size == 0) || !vlen &&
		int64(len(a.Fill)) != a.Type.Size {
		t.Fatalf("%q: fill value of %d bytes for %v", doc, len(a.Fill), a.Type)
	}
	if n := len(a.DimensionNames); n != 0 && n != len(a.Shape) {
		t.Fatalf("%q: names %q for %v", doc, a.DimensionNames, a.Shape)
	}
	a.Keys.Key(a.Shape)
}

// addSeeds adds the documents of real writers.
func addSeeds(f *testing.F, files []string, add func(objects map[string][]byte)) {
	for _, file := range files {
		for _, n := range readNodes(f, "testdata/"+file+".txtar") {
			add(n.objects)
		}
	}
}

func FuzzV3(f *testing.F) {
	addSeeds(f, []string{"zarr-python-3", "tensorstore"}, func(objects map[string][]byte) {
		if doc := objects["zarr.json"]; doc != nil {
			f.Add(doc)
		}
	})
	f.Add(document(goodV3, `chunk_memory_layout: "C"`, `shape: [9223372036854775807, 3]`))
	f.Add(document(goodV3, rectilinearGrid(`[[4, [1, 3]], 3], "kind": "inline"`)))
	f.Add(document(goodV3,
		`chunk_grid: {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [3, 9]}}`))
	f.Add(document(goodV3,
		`chunk_key_encoding: {"name": "suffix", "configuration": {"suffix": ".z", `+
			`"base-encoding": "v2"}}`))
	f.Add(document(goodGroupV3, `consolidated_metadata: null`, `ext: {"must_understand": false}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a, g, err := ParseV3(doc)
		if g == nil {
			checkArray(t, doc, a, err)
			return
		}
		if a != nil || !json.Valid(g.Document) && !bytes.Equal(g.Document, doc) {
			t.Fatalf("%q: array %v, document %q", doc, a, g.Document)
		}
	})
}

func FuzzCodecs(f *testing.F) {
	f.Add(
		[]byte(
			`["bytes", {"name": "sharding_indexed", "configuration": {"codecs": ["bytes"], ` +
				`"index_codecs": [{"name": "crc32c"}]}}]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		list, err := pyjson.Parse(doc)
		if err != nil {
			return
		}
		codecs, err := ParseCodecs(list)
		if err != nil && errors.Is(err, ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("%q: %v is of no kind or of two", doc, err)
		}
		for _, c := range codecs {
			if c.Config.Exists() && c.Config.Kind() != pyjson.Object {
				t.Fatalf("%q has codec %q with %s", doc, c.Name, c.Config.Raw())
			}
		}
	})
}

func FuzzConsolidated(f *testing.F) {
	f.Add(
		[]byte(
			`{"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}, ` +
				`"a/.zarray": {"shape": [1]}}}`))
	f.Add(
		[]byte(
			`{"zarr_format": 3, "consolidated_metadata": {"kind": "inline", "metadata": {"a": ` +
				`{"node_type": "array"}, "/b": 1}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, name := range []string{NameV3, NameConsolidated} {
			docs, err := Consolidated(name, doc)
			if err != nil &&
				(docs != nil ||
					errors.Is(err, ErrInvalid) == errors.Is(err, errors.ErrUnsupported)) {
				t.Fatalf("%q: %v, with %d documents", doc, err, len(docs))
			}
			for key, d := range docs {
				if len(d) == 0 {
					t.Fatalf("%q: the document %q is empty", doc, key)
				}
			}
		}
	})
}

func FuzzV2(f *testing.F) {
	addSeeds(f,
		[]string{"zarr-python-3", "zarr-python-2", "tensorstore"}, func(objects map[string][]byte) {
			if doc := objects[".zarray"]; doc != nil {
				f.Add(doc, objects[".zattrs"])
			}
		})
	f.Add(document(goodV2, `dtype: [["a", "<i2"], ["b", [["c", "|S3"]], [2]]]`, `order: "F"`,
		`filters: [{"id": "delta"}]`), []byte("{}"))
	f.Fuzz(func(t *testing.T, zarray, zattrs []byte) {
		a, err := ParseV2Array(zarray, zattrs)
		checkArray(t, zarray, a, err)
		if err == nil {
			checkUpgraded(t, a)
		}
		g, err := ParseV2Group(zarray, zattrs)
		if !json.Valid(g.Document) && !bytes.Equal(g.Document, zarray) {
			t.Fatalf("%q: %v, shows as %q", zarray, err, g.Document)
		}
		upgraded, upErr := UpgradeGroup(zarray, zattrs)
		if (err == nil) != (upErr == nil) {
			t.Fatalf("%q: %v, upgraded: %v", zarray, err, upErr)
		}
		if err == nil {
			if a, g, err := ParseV3(upgraded.Data); err != nil || a != nil || g == nil {
				t.Fatalf("%q became %q: %v", zarray, upgraded.Data, err)
			}
		}
	})
}

func FuzzV1(f *testing.F) {
	addSeeds(f, []string{"zarr-python-1"}, func(objects map[string][]byte) {
		f.Add(objects["meta"], objects["attrs"])
	})
	f.Fuzz(func(t *testing.T, meta, attrs []byte) {
		a, err := ParseV1(meta, attrs)
		checkArray(t, meta, a, err)
		docs, upErr := UpgradeV1(meta, attrs)
		if (err == nil) != (upErr == nil) {
			t.Fatalf("%q: %v, upgraded: %v", meta, err, upErr)
		}
		if err != nil {
			return
		}
		v2, err := ParseV2Array(docs[0].Data, docs[1].Data)
		if err != nil {
			t.Fatalf("%q upgraded to %q: %v", meta, docs[0].Data, err)
		}
		checkSame(t, a, v2)
	})
}

// checkUpgraded holds that the document of version 3 describes the same array, or that the error
// says why there is none.
func checkUpgraded(t *testing.T, a *Array) {
	doc, err := UpgradeV2(a)
	if err != nil {
		if errors.Is(err, ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("%q: %v is of no kind or of two", a.Document, err)
		}
		return
	}
	v3, _, err := ParseV3(doc.Data)
	if err != nil {
		t.Fatalf("%q upgraded to %q: %v", a.Document, doc.Data, err)
	}
	checkSame(t, a, v3)
}

func checkSame(t *testing.T, a, later *Array) {
	if !slices.Equal(a.Shape, later.Shape) || !slices.Equal(a.Chunk, later.Chunk) ||
		a.Type.Descr() != later.Type.Descr() ||
		a.Type.Kind != dtype.Object && !bytes.Equal(a.Fill, later.Fill) ||
		a.Keys.Key(a.Shape) != later.Keys.Key(a.Shape) {
		t.Fatalf("%q became\n%q", a.Document, later.Document)
	}
}
