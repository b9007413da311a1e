package zarrcore_test

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

const (
	inShardsInFortran = `{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2],
		"codecs": [` + inFortran + `],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}`
	inNestedShards = `{"name": "sharding_indexed",
		"configuration": {"chunk_shape": [2, 2], "codecs": [
		{"name": "sharding_indexed",
		"configuration": {"chunk_shape": [1, 2], "codecs": [%s], "index_codecs": ["bytes"]}}],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}`
)

// reordered returns the bytes of an array of two axes in the other order.
func reordered(data []byte, rows, columns int) []byte {
	other := make([]byte, len(data))
	for i := range rows {
		for j := range columns {
			other[j*rows+i] = data[i*columns+j]
		}
	}
	return other
}

// TestInOrder: bytes in C and in Fortran order come to the same elements, in whatever order they
// are stored. An array is only written in its own order.
func TestInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		codecs  string
		fortran bool
	}{
		"C":       {plainBytes, false},
		"Fortran": {inFortran, true},
		"C, stored in Fortran": {`{"name": "transpose", "configuration": {"order": ` +
			`[0, 1]}}, ` + inFortran, false},
		"shards":           {inShardsInFortran, true},
		"nested shards":    {fmt.Sprintf(inNestedShards, inFortran), true},
		"nested shards, C": {fmt.Sprintf(inNestedShards, plainBytes), false},
		"transpose before and inside": {`{"name": "transpose", "configuration": {"order": ` +
			`[1, 0]}}, ` + inShardsInFortran, true},
		"shards, and a codec behind": {inShardsInFortran + `, "crc32c"`, true},
		"transpose before the shards": {`{"name": "transpose", "configuration": {"order": ` +
			`[1, 0]}}, ` + fmt.Sprintf(inNestedShards, plainBytes), true},
		"the same, and a codec behind": {`{"name": "transpose", "configuration": {"order": ` +
			`[1, 0]}}, ` + fmt.Sprintf(inNestedShards, plainBytes) + `, "gzip"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := memstore.New()
			h := writable(t, 3, d)
			a := described(t, h, "a", numbers("[7, 5]", "[4, 4]", c.codecs))
			if _, err := a.InOrder(!c.fortran); !errors.Is(err, errors.ErrUnsupported) ||
				!strings.Contains(err.Error(), "order") {
				t.Errorf("in the other order: %v", err)
			}
			shown, err := a.InOrder(c.fortran)
			must(t, err)
			data := upTo(35)
			write(t, shown, 0, data)
			inC := data
			if c.fortran {
				inC = reordered(data, 5, 7)
			}
			for range 2 { // dirty, then stored
				if !bytes.Equal(whole(t, a), inC) || !bytes.Equal(whole(t, shown), data) {
					t.Fatalf("elements are in wrong places: % x", whole(t, a))
				}
				must(t, h.Flush(t.Context(), false))
			}
			write(t, shown, 9, []byte{200, 201, 202}) // a part of chunks
			must(t, h.Flush(t.Context(), false))
			copy(data[9:], []byte{200, 201, 202})
			if c.fortran {
				inC = reordered(data, 5, 7)
			}
			if got := whole(t, openArray(t, reopened(t, d), "a")); !bytes.Equal(got, inC) {
				t.Errorf("stored as % x, expected % x", got, inC)
			}
		})
	}
}

// TestInOrderOfOneAxis: the two orders of one axis are the same.
func TestInOrderOfOneAxis(t *testing.T) {
	a := described(t, writable(t, 3, memstore.New()), "a", numbers("[7]", "[4]", plainBytes))
	for _, fortran := range []bool{false, true} {
		if b, err := a.InOrder(fortran); b != a || err != nil {
			t.Errorf("Fortran order %t: %v", fortran, err)
		}
	}
}

// TestOverwriteInOtherOrder: content in the other order keeps the array's chunks, codecs and
// attributes, and its order once it comes back.
func TestOverwriteInOtherOrder(t *testing.T) {
	for _, codecs := range []string{plainBytes + `, "gzip"`, inFortran, inShardsInFortran,
		fmt.Sprintf(inNestedShards, inFortran)} {
		h := writable(t, 3, memstore.New())
		a := described(t, h, "a", numbers("[7, 5]", "[4, 4]", codecs))
		must(t, h.SetAttribute(t.Context(), "a", "units", []byte(`"m"`)))
		for range 2 {
			fortran := !a.Meta().IsInFortranOrder()
			b, err := h.Overwrite(t.Context(), "a", []int64{9, 5}, descr(t, "'|u1'"), fortran)
			must(t, err)
			if !slices.Equal(b.Chunk(), a.Chunk()) ||
				!slices.Equal(b.Meta().Chunk, a.Meta().Chunk) || !b.Meta().HasOrder(fortran) {
				t.Errorf("%s: chunks %v of %v, expected %v of %v", codecs, b.Chunk(),
					b.Meta().Chunk, a.Chunk(), a.Meta().Chunk)
			}
			if units := b.Meta().Attributes.Get("units").Text(); units != "m" ||
				!slices.Equal(b.Meta().Shape, []int64{9, 5}) {
				t.Errorf("%s: shape %v, units %q", codecs, b.Meta().Shape, units)
			}
			shown, err := b.InOrder(fortran)
			must(t, err)
			write(t, shown, 0, upTo(45))
			must(t, h.Flush(t.Context(), false))
			if !bytes.Equal(whole(t, shown), upTo(45)) {
				t.Errorf("%s: elements are in wrong places", codecs)
			}
			a = b
		}
	}
}

// TestOverwriteBoundedInFortranOrder: an array of a bounded grid has C order only. To take Fortran
// order, it is recreated by the recipe.
func TestOverwriteBoundedInFortranOrder(t *testing.T) {
	h := writable(t, 3, memstore.New())
	doc := strings.Replace(string(numbers("[7, 5]", "[4, 4]", plainBytes)), `"regular"`,
		`"zarrs.regular_bounded"`, 1)
	described(t, h, "a", []byte(doc))
	a, err := h.Overwrite(t.Context(), "a", []int64{7, 5}, descr(t, "'|u1'"), true)
	must(t, err)
	if !a.Meta().IsInFortranOrder() || !a.Meta().IsRegular() {
		t.Error("it is not in Fortran order")
	}
}

// TestOverwriteOfReadOnlyCodecs: an array whose codecs cannot encode is recreated by the recipe,
// and takes what is written.
func TestOverwriteOfReadOnlyCodecs(t *testing.T) {
	h := writable(t, 3, memstore.New())
	old := described(t, h, "a",
		numbers("[7, 5]", "[4, 4]",
			plainBytes+`, {"name": "numcodecs.lzma", "configuration": {"format": 0}}`))
	if old.Writable() == nil {
		t.Fatal("it can be written")
	}
	a, err := h.Overwrite(t.Context(), "a", []int64{9, 5}, descr(t, "'|u1'"), false)
	must(t, err)
	write(t, a, 0, upTo(45))
	must(t, h.Flush(t.Context(), false))
}

// TestRecipeOfNoArray: where the codecs of a recipe fit no array of such a shape, or cannot encode,
// nothing is made, and what is there stays.
func TestRecipeOfNoArray(t *testing.T) {
	const lzma = `{"name": "numcodecs.lzma", "configuration": {"format": 0}}`
	for codecs, kind := range map[string]error{
		`["bytes", ` + lzma + `]`:               errors.ErrUnsupported,
		`["bytes", {"name": "numcodecs.zfpy"}]`: errors.ErrUnsupported,

		`[{"name": "transpose", "configuration": {"order": [2, 0, 1]}}, "bytes"]`: meta.ErrInvalid,
		`[{"name": "transpose", "configuration": {"order": [1, 1]}}, "bytes"]`:    meta.ErrInvalid,
	} {
		h := created(t, "codecs", codecs)
		_, err := h.CreateArray(t.Context(), "a", []int64{7, 5}, descr(t, "'|u1'"), true)
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v, expected %v", codecs, err, kind)
		}
		if _, err := h.Node(t.Context(), "a"); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: an array is left: %v", codecs, err)
		}
		b := described(t, h, "b", numbers("[7]", "[4]", plainBytes))
		write(t, b, 0, upTo(7))
		must(t, b.Flush(t.Context(), false))
		if _, err := h.Overwrite(t.Context(), "b", []int64{7, 5}, descr(t, "'|u1'"),
			true); !errors.Is(err, kind) {
			t.Errorf("%s: over an array: %v", codecs, err)
		}
		if got := whole(t, openArray(t, h, "b")); !bytes.Equal(got, upTo(7)) {
			t.Errorf("%s: over an array: what was there is % x", codecs, got)
		}
	}
}
