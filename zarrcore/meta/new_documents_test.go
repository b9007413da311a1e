package meta

import (
	"errors"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestSpecDocuments reads each document that zarr-python 3 wrote for a new array or group, and
// holds that writing what it says gives the same bytes.
func TestSpecDocuments(t *testing.T) {
	nodes := readNodes(t, "testdata/written/documents.txtar")
	if len(nodes) < 100 {
		t.Fatalf("%d nodes, expected 100 or more", len(nodes))
	}
	for _, n := range nodes {
		t.Run(n.name, func(t *testing.T) {
			documents := rewrite(t, n.objects)
			if len(documents) != len(n.objects) {
				t.Fatalf("%d documents, want %d", len(documents), len(n.objects))
			}
			for _, d := range documents {
				compareLines(t, string(d.Data), string(n.objects[d.Name]))
			}
		})
	}
}

// rewrite returns the documents of the array or group that documents describe.
func rewrite(t *testing.T, objects map[string][]byte) []Document {
	t.Helper()
	var a *Array
	var g *Group
	var err error
	switch {
	case objects[NameV3] != nil:
		a, g, err = ParseV3(objects[NameV3])
	case objects[NameGroup] != nil:
		g, err = ParseV2Group(objects[NameGroup], objects[NameAttrs])
	default:
		a, err = ParseV2Array(objects[NameArray], objects[NameAttrs])
	}
	if err != nil {
		t.Fatal(err)
	}
	if g != nil {
		return GroupDocuments(g.Format, g.Attributes)
	}
	documents, err := specOf(t, a).Documents()
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// specOf returns what an array of a regular chain is to be.
func specOf(t *testing.T, a *Array) Spec {
	s := Spec{Format: a.Format, Shape: a.Shape, Chunk: a.Chunk, Type: a.Type, Fill: a.Fill,
		Codecs: a.Codecs, Order: a.Order,
		Separator: a.Keys.Separator, DimensionNames: a.DimensionNames, Attributes: a.Attributes}
	if sharding := a.Codecs[0]; sharding.Name == "sharding_indexed" {
		var err error
		s.Shard = a.Chunk
		if s.Chunk, err = lengths("", sharding.Config.Get("chunk_shape")); err != nil {
			t.Fatal(err)
		}
		if s.Codecs, err = ParseCodecs(sharding.Config.Get("codecs")); err != nil {
			t.Fatal(err)
		}
	}
	if s.Codecs[0].Name == "transpose" {
		s.Order, s.Codecs = 'F', s.Codecs[1:]
	}
	s.Codecs = slices.DeleteFunc(slices.Clone(s.Codecs), func(c Codec) bool {
		return c.Name == "bytes"
	})
	return s
}

// TestSpecRefused tries what a format cannot say.
func TestSpecRefused(t *testing.T) {
	v2 := Spec{Format: 2, Shape: []int64{4}, Chunk: []int64{2}, Type: typeOf(t, `"<f4"`)}
	v3 := v2
	v3.Format = 3
	change := func(s Spec, change func(*Spec)) Spec {
		change(&s)
		return s
	}
	typed := func(s Spec, typ string) Spec {
		s.Type, s.Fill = typeOf(t, typ), nil
		return s
	}
	for _, c := range []struct {
		name string
		spec Spec
		want string
		kind error
	}{
		{"format 1", change(v2, func(s *Spec) {
			s.Format = 1
		}), "zarr_format: expected 2 or 3, found 1", errors.ErrUnsupported},
		{"shards in format 2", change(v2, func(s *Spec) {
			s.Shard = []int64{4}
		}), "shards: expected none in format 2, found [4]", errors.ErrUnsupported},
		{"codec of format 3", change(v2, func(s *Spec) { s.Codecs = []Codec{{Name: "crc32c"}} }),
			`codecs: expected codecs of format 2, which are named numcodecs.ID, found "crc32c"`,
			errors.ErrUnsupported},
		{"big-endian bytes of a little-endian type", change(v3, func(s *Spec) {
			s.Codecs = []Codec{{"bytes", made(`{"endian": "big"}`)}}
		}),
			`codecs: expected an endian of "little", as the data type has it, found "big"`,
			ErrInvalid},
		{"the same in a shard", change(v3, func(s *Spec) {
			s.Codecs, s.Shard = []Codec{{"bytes", made(`{"endian": "big"}`)}}, []int64{4}
		}),
			`codecs: expected an endian of "little", as the data type has it, found "big"`,
			ErrInvalid},
		{"the same in format 2", change(v2, func(s *Spec) {
			s.Codecs = []Codec{{"bytes", made(`{"endian": "big"}`)}}
		}),
			`codecs: expected an endian of "little", as the data type has it, found "big"`,
			ErrInvalid},
		{"x87", typed(v3, `"<f16"`), `data_type: format 3 has no <f16: unsupported operation`,
			errors.ErrUnsupported},
		{"subarray", typed(v3, `[["a", "<f4", [2]]]`),
			`data_type: format 3 has no struct field "a" of shape [2]: unsupported operation`,
			errors.ErrUnsupported},
		{"padding", typed(v3, `[["a", "<f4"], ["", "|V4"]]`),
			`data_type: format 3 has no padding in a struct: unsupported operation`,
			errors.ErrUnsupported},
		{"mixed order", typed(v3, `[["a", "<f4"], ["b", ">i2"]]`),
			`data_type: format 3 has no struct of both byte orders: unsupported operation`,
			errors.ErrUnsupported},
		{"NaN with payload", change(v2, func(s *Spec) { s.Fill = []byte{1, 0, 0xc0, 0x7f} }),
			"fill_value: format 2 has no fill value 0100c07f of type <f4: unsupported operation",
			errors.ErrUnsupported},
		{"short fill", change(v2, func(s *Spec) {
			s.Fill = []byte{1}
		}), "fill_value: fill value of <f4: expected 4 bytes, found 1", ErrInvalid},
		{"rank of chunk", change(v3, func(s *Spec) {
			s.Chunk = []int64{2, 2}
		}), "chunk_grid.configuration.chunk_shape: expected 1 lengths, one for each axis of " +
			"shape, found [ 2, 2 ]", ErrInvalid},
		{"shard not whole", change(v3, func(s *Spec) {
			s.Shard = []int64{3}
		}), "chunk_shape[0]: expected a divisor of the shard's 3, found 2", ErrInvalid},
		{"empty chunk", change(v2, func(s *Spec) {
			s.Chunk = []int64{0}
		}), "chunks[0]: expected 1 or more for an axis of length 4, found 0", ErrInvalid},
		{"names", change(v3, func(s *Spec) {
			s.DimensionNames = []string{"a", "b"}
		}), "dimension_names: expected an array of 1 strings or nulls, one for each axis of " +
			"shape, found [ \"a\", \"b\" ]", ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.spec.Documents()
			if err == nil || err.Error() != c.want || !errors.Is(err, c.kind) {
				t.Errorf("%v\nwant\n%s", err, c.want)
			}
		})
	}
}

func typeOf(t *testing.T, spelled string) dtype.Type {
	t.Helper()
	v, err := pyjson.Parse([]byte(spelled))
	if err != nil {
		t.Fatal(err)
	}
	typ, err := dtype.ParseV2(v)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// TestSpecStruct writes a structured type of either byte order in version 3, as zarr-python 3.4
// does.
func TestSpecStruct(t *testing.T) {
	for _, c := range []struct{ typ, endian string }{
		{`[["a", "<i4"], ["n", [["b", "|S3"], ["c", "<f4"]]]]`, `{"endian":"little"}`},
		{`[["a", ">i4"], ["n", [["b", "|S3"], ["c", ">f4"]]]]`, `{"endian":"big"}`},
	} {
		s := Spec{Format: 3, Shape: []int64{4}, Chunk: []int64{4}, Type: typeOf(t, c.typ)}
		documents, err := s.Documents()
		if err != nil {
			t.Fatal(err)
		}
		root := made(string(documents[0].Data))
		for _, m := range []struct{ member, want string }{
			{"data_type",
				`{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int32"},` +
					`{"name":"n","data_type":` +
					`{"name":"struct","configuration":{"fields":[{"name":"b","data_type":` +
					`{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}},` +
					`{"name":"c","data_type":"float32"}]}}}]}}`},
			{"fill_value", `{"a":0,"n":{"b":"","c":0.0}}`},
			{"codecs", `[{"name":"bytes","configuration":` + c.endian + `}]`},
		} {
			if got := string(root.Get(m.member).Standard()); got != m.want {
				t.Errorf("%s of %s: %s, want %s", m.member, c.typ, got, m.want)
			}
		}
	}
}
