package meta

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// chainText writes the names of codecs, transposes with their order and shards with what is in
// them.
func chainText(t *testing.T, codecs []Codec) string {
	t.Helper()
	var names []string
	for _, c := range codecs {
		switch c.Name {
		case transpose:
			names = append(names, strings.Join(strings.Fields(string(c.Config.Get("order").Raw())),
				""))
		case sharding:
			inner, err := ParseCodecs(c.Config.Get("codecs"))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, "{"+chainText(t, inner)+"}")
		default:
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, " ")
}

// chainOf is the inverse of chainText, for a list of names as in a document.
func chainOf(t *testing.T, list string) []Codec {
	t.Helper()
	v, err := pyjson.Parse([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	codecs, err := ParseCodecs(v)
	if err != nil {
		t.Fatal(err)
	}
	return codecs
}

func transposeText(order string) string {
	return `{"name": "transpose", "configuration": {"order": ` + order + `}}`
}

func shardText(chunk string, codecs ...string) string {
	return `{"name": "sharding_indexed", "configuration": {"chunk_shape": ` + chunk +
		`, "codecs": [` + strings.Join(codecs, ", ") +
		`], "index_codecs": ["bytes"]}}`
}

func arrayText(shape, codecs string) string {
	return fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": %s, "data_type": "uint8",
		"fill_value": 0, "codecs": [%s],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": %[1]s}},
		"chunk_key_encoding": "default"}`, shape, codecs)
}

// TestFortranOrder: the first codec of a chunk says in which order an array is shown, however many
// shards the chunk lies in.
func TestFortranOrder(t *testing.T) {
	back := transposeText("[2, 1, 0]")
	for _, c := range []struct {
		codecs string
		want   bool
	}{
		{`"bytes"`, false},
		{back + `, "bytes"`, true},
		{transposeText("[0, 1, 2]") + ", " + back + `, "bytes"`, false},
		{transposeText("[2, 0, 1]") + `, "bytes"`, false},
		{transposeText("[1, 0]") + `, "bytes"`, false}, // of two axes, which nothing can decode
		{transposeText(`"F"`) + `, "bytes"`, false},
		{shardText("[1, 1, 1]", `"bytes"`), false},
		{shardText("[1, 1, 1]", back, `"bytes"`), true},
		{shardText("[1, 1, 1]", shardText("[1, 1, 1]", back, `"bytes"`), `"crc32c"`), true},
		{shardText("[1, 1, 1]", transposeText("[0, 1, 2]"), back, `"bytes"`), false},
		{back + ", " + shardText("[1, 1, 1]", `"bytes"`), true},
		{back + ", " + shardText("[1, 1, 1]", back, `"bytes"`), true},
		{transposeText("[0, 1, 2]") + ", " + shardText("[1, 1, 1]", back, `"bytes"`), false},
	} {
		a, _, err := ParseV3([]byte(arrayText("[4, 5, 6]", c.codecs)))
		if err != nil {
			t.Fatal(err)
		}
		if a.IsInFortranOrder() != c.want ||
			a.HasOrder(true) != c.want || a.HasOrder(false) == c.want {
			t.Errorf("%s: Fortran order %t, expected %t", c.codecs, a.IsInFortranOrder(), c.want)
		}
	}
	one, _, err := ParseV3([]byte(arrayText("[4]", transposeText("[0]")+`, "bytes"`)))
	if err != nil || one.IsInFortranOrder() || !one.HasOrder(true) || !one.HasOrder(false) {
		t.Errorf("an array of one axis has both orders: %v", err)
	}
}

// TestReversed: a chunk of the array with its axes reversed is stored as it is shown.
func TestReversed(t *testing.T) {
	back := transposeText("[1, 0]")
	for codecs, want := range map[string]string{
		back + `, "bytes"`:                                 "bytes",
		shardText("[2, 3]", back, `"bytes"`):               "[1,0] {[1,0] bytes}",
		back + ", " + shardText("[3, 2]", `"bytes"`):       "{bytes}",
		back + ", " + back + ", " + `"bytes"`:              "[1,0] bytes",
		back + ", " + shardText("[3, 2]", back, `"bytes"`): "{[1,0] bytes}",
	} {
		a, _, err := ParseV3([]byte(arrayText("[4, 6]", codecs)))
		if err != nil {
			t.Fatal(err)
		}
		r := a.Reversed()
		if got := chainText(t, r.Codecs); got != want {
			t.Errorf("%s: reversed %s, expected %s", chainText(t, a.Codecs), got, want)
		}
		if !slices.Equal(r.Shape, []int64{6, 4}) || !slices.Equal(r.Chunk, []int64{6, 4}) ||
			r.IsInFortranOrder() || !a.IsInFortranOrder() {
			t.Errorf("%s: shape %v, chunks %v", codecs, r.Shape, r.Chunk)
		}
	}
}

// TestSpecOrder: an array is shown in the order that was asked for. Its elements are stored as the
// chain of its chunks says, whatever transposes that has.
func TestSpecOrder(t *testing.T) {
	for _, c := range []struct {
		codecs string
		order  byte
		want   string
	}{
		{`["gzip"]`, 'C', "bytes gzip"},
		{`["gzip"]`, 'F', "[2,1,0] bytes gzip"},
		{`["gzip"]`, 0, "bytes gzip"},
		{`[` + transposeText("[2, 1, 0]") + `]`, 'C', "[0,1,2] [2,1,0] bytes"},
		{`[` + transposeText("[2, 1, 0]") + `]`, 'F', "[2,1,0] bytes"},
		{`[` + transposeText("[2, 1, 0]") + `]`, 0, "[2,1,0] bytes"},
		{`[` + transposeText("[1, 2, 0]") + `]`, 'C', "[1,2,0] bytes"},
		// axis 1 of the reversed ones is 1, 0 is 2, 2 is 0
		{`[` + transposeText("[1, 2, 0]") + `]`, 'F', "[2,1,0] [1,0,2] bytes"},
		{`[` + transposeText("[0, 1, 2]") + `]`, 'F', "[2,1,0] [2,1,0] bytes"},
		{`[` + transposeText("[2, 1, 0]") + "," + transposeText("[2, 1, 0]") + `]`, 'C',
			"[0,1,2] [2,1,0] [2,1,0] bytes"},
	} {
		for _, shard := range [][]int64{nil, {4, 4, 4}} {
			s := Spec{Format: 3, Shape: []int64{5, 6, 7}, Chunk: []int64{2, 2, 2}, Shard: shard,
				Type:   typeOf(t, `"<f4"`),
				Codecs: chainOf(t, c.codecs), Order: c.order}
			docs, err := s.Documents()
			if err != nil {
				t.Fatal(err)
			}
			a, _, err := ParseV3(docs[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if shard != nil {
				want = "{" + want + "}"
			}
			if got := chainText(t, a.Codecs); got != want {
				t.Errorf("%s in order %q, shards %v: %s, expected %s", c.codecs, c.order, shard,
					got, want)
			}
			if c.order != 0 && !a.HasOrder(c.order == 'F') {
				t.Errorf("%s in order %q, shards %v: shown in the other order", c.codecs, c.order,
					shard)
			}
		}
	}
}

// TestSpecOrderRefused: a chain that hides the order is not a document of an array in another one.
func TestSpecOrderRefused(t *testing.T) {
	s := Spec{Format: 3, Shape: []int64{4, 4}, Chunk: []int64{4, 4}, Type: typeOf(t, `"<f4"`),
		Order:  'C',
		Codecs: chainOf(t, "["+shardText("[2, 2]", transposeText("[1, 0]"), `"bytes"`)+"]")}
	_, err := s.Documents()
	if want := "codecs: expected codecs of an array in order C, found those of the " +
		"other order"; err == nil || err.Error() != want || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, expected %s", err, want)
	}
}

// TestTurnOrder: a document of the other order has the same codecs except one transpose, and the
// same bytes elsewhere.
func TestTurnOrder(t *testing.T) {
	back := transposeText("[1, 0]")
	for codecs, want := range map[string]string{
		`"bytes", "gzip"`:                                         "[1,0] bytes gzip",
		back + `, "bytes", "gzip"`:                                "bytes gzip",
		shardText("[2, 2]", `"bytes"`):                            "{[1,0] bytes}",
		shardText("[2, 2]", back, `"bytes"`):                      "{bytes}",
		shardText("[2, 2]", shardText("[1, 1]", `"bytes"`)):       "{{[1,0] bytes}}",
		shardText("[2, 2]", shardText("[1, 1]", back, `"bytes"`)): "{{bytes}}",
		transposeText("[0, 1]") + ", " + back + `, "bytes"`:       "[1,0] [0,1] [1,0] bytes",
	} {
		doc := arrayText("[4, 6]", codecs)
		a, _, err := ParseV3([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		text, err := TurnOrder(a, []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := ParseV3(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got := chainText(t, b.Codecs)
		if got != want || a.IsInFortranOrder() == b.IsInFortranOrder() {
			t.Errorf("%s: %s, expected %s", chainText(t, a.Codecs), got, want)
		}
		before, _, _ := strings.Cut(doc, `"codecs"`)
		if !strings.HasPrefix(string(text), before) || !slices.Equal(a.Shape, b.Shape) ||
			!slices.Equal(a.Chunk, b.Chunk) {
			t.Errorf("other members have changed: %s", text)
		}
	}
	const zarray = `{"zarr_format": 2, "shape": [4, 6], "chunks": [2, 2], "dtype": "<f4", ` +
		`"order": "F", "fill_value": 0,   "filters": null, "compressor": null}`
	a, err := ParseV2Array([]byte(zarray), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := TurnOrder(a, []byte(zarray)); err != nil ||
		string(text) != strings.Replace(zarray, `"F"`, `"C"`, 1) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestShards: the chunks of shards have the array's axes, whatever transposes stand before them.
func TestShards(t *testing.T) {
	for codecs, want := range map[string]string{
		`"bytes"`:                         "[]",
		shardText("[2, 3, 4]", `"bytes"`): "[[2 3 4]]",
		transposeText("[2, 1, 0]") + ", " + shardText("[4, 3, 2]",
			`"bytes"`): "[[2 3 4]]",
		transposeText("[1, 2, 0]") + ", " + shardText("[3, 4, 2]", transposeText("[2, 0, 1]"),
			shardText("[1, 3, 2]", `"bytes"`)): "[[2 3 4] [1 3 2]]",
		// which nothing can decode
		transposeText("[1, 0]") + ", " + shardText("[4, 3]", `"bytes"`): "[[4 3]]",
	} {
		a, _, err := ParseV3([]byte(arrayText("[4, 6, 8]", codecs)))
		if err != nil {
			t.Fatal(err)
		}
		shards, err := a.Shards()
		chunks := [][]int64{}
		for _, s := range shards {
			chunks = append(chunks, s.Chunk)
		}
		if got := fmt.Sprint(chunks); got != want || err != nil {
			t.Errorf("%s: %s, %v, expected %s", chainText(t, a.Codecs), got, err, want)
		}
	}
}
