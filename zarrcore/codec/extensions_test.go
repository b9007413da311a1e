package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestValueCasts casts numbers as cast-value-rs does, in both byte orders (testdata/extensions.py).
func TestValueCasts(t *testing.T) {
	for _, c := range lines(t, "testdata/casts.jsonl") {
		for _, endian := range []string{"little", "big"} {
			checkCast(t, c, endian)
		}
	}
}

func checkCast(t *testing.T, c pyjson.Value, endian string) {
	t.Helper()
	name := fmt.Sprintf("%s to %s, %s", c.Get("config").Raw(), c.Get("to").Text(), endian)
	codecs := fmt.Sprintf(`[{"name":"cast_value","configuration":%s},`+
		`{"name":"bytes","configuration":{"endian":%q}}]`, c.Get("config").Raw(), endian)
	bind := func(n int64) *Chain {
		return mustBind(t, string(c.Get("to").Raw()), []int64{n}, codecs)
	}
	toSize, fromSize := bind(1).ChunkBytes(), bind(1).chunk.encoded.size
	encoded, want, refused := unbase64(t, c.Get("encoded")), unbase64(t, c.Get("decoded")),
		unbase64(t, c.Get("refused"))
	if endian == "big" {
		swapBytes(encoded, int(fromSize))
		swapBytes(want, int(toSize))
		swapBytes(refused, int(fromSize))
	}
	got := make([]byte, len(want))
	if err := bind(int64(len(want))/toSize).Decode(got, memory(encoded), 0); err != nil {
		t.Errorf("%s: %v", name, err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s: wrong:\n%x\n%x\n%x", name, encoded, got, want)
	}
	one := bind(1)
	for ; len(refused) > 0; refused = refused[fromSize:] {
		err := one.Decode(got[:toSize], memory(refused[:fromSize]), 0)
		if !errors.Is(err, compress.ErrCorrupt) {
			t.Errorf("%s: %x: %v, want damage", name, refused[:fromSize], err)
		}
	}
}

// TestScalarMap holds what the decoding side of a map makes of a number that is stored, by its
// bits.
func TestScalarMap(t *testing.T) {
	cases := []struct {
		to, from, pairs string
		encoded, want   uint64
	}{
		{"float32", "uint8", `[[255,"NaN"]]`, 255, 0x7fc00000},
		{"float32", "uint8", `[[255,"0x7fc00001"]]`, 255, 0x7fc00001},
		{"float32", "uint8", `[[255,"+Infinity"],[255,"NaN"]]`, 255, 0x7f800000},
		{"float32", "uint8", `[[254,1],[255,"-Infinity"]]`, 255, 0xff800000},
		{"float32", "uint8", `[[255,"NaN"]]`, 254, 0x437e0000},
		{"float64", "int64", `[[-1,0.1]]`, 1<<64 - 1, 0x3fb999999999999a},
		{"int64", "int64", `[[9007199254740993,5]]`, 1<<53 + 1, 5},
		{"int64", "int64", `[[9007199254740993,5]]`, 1 << 53, 1 << 53},
		{"uint8", "float16", `[["NaN",7],["Infinity",8],["-Infinity",9],[0,10]]`, 0xfe01, 7},
		{"uint8", "float16", `[["NaN",7],["Infinity",8],["-Infinity",9],[0,10]]`, 0x7c00, 8},
		{"uint8", "float16", `[["NaN",7],["Infinity",8],["-Infinity",9],[0,10]]`, 0xfc00, 9},
		{"uint8", "float16", `[["NaN",7],["Infinity",8],["-Infinity",9],[0,10]]`, 0x8000, 10},
		{"uint8", "float16", `[["0x3c00",7]]`, 0x3c00, 7},
		{"float32", "float32", `[[-9999,"NaN"]]`, 0xc61c3c00, 0x7fc00000},
		// a signalling NaN stays one
		{"float32", "float32", `[[-9999,"NaN"]]`, 0x7f800001, 0x7f800001},
	}
	for _, c := range cases {
		codecs := fmt.Sprintf(`[{"name":"cast_value","configuration":{"data_type":%q,`+
			`"scalar_map":{"decode":%s}}},%s]`, c.from, c.pairs, bytesLE)
		chain := mustBind(t, fmt.Sprintf("%q", c.to), []int64{300}, codecs)
		size := int(chain.chunk.encoded.size / 300)
		object := make([]byte, 300*size)
		copy(object[290*size:], binary.LittleEndian.AppendUint64(nil, c.encoded)[:size])
		copy(object, object[290*size:][:size])
		got := make([]byte, chain.ChunkBytes())
		if err := chain.Decode(got, memory(object), 0); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		size = len(got) / 300
		want := binary.LittleEndian.AppendUint64(nil, c.want)[:size]
		if !bytes.Equal(got[:size], want) || !bytes.Equal(got[290*size:][:size], want) {
			t.Errorf("%+v: %x", c, got[:size])
		}
	}
}

// TestScaleOffset holds what whole numbers decode to: nil where that is not a number of the type.
func TestScaleOffset(t *testing.T) {
	cases := []struct {
		dataType, offset, scale string
		encoded                 []byte
		want                    []byte
	}{
		{"int8", "1", "3", []byte{6, 0xf7}, []byte{3, 0xfe}},
		{"int8", "0", "-3", []byte{6, 0xf7}, []byte{0xfe, 3}},
		{"int8", "0", "3", []byte{7}, nil}, // does not divide
		{"int8", "0", "3", []byte{0xf9}, nil},
		{"int8", "0", "-3", []byte{7}, nil},
		{"uint8", "1", "2", []byte{8, 3}, nil},
		{"uint64", "0", "3", bytes.Repeat([]byte{0xfe}, 8), nil},
		{"int8", "0", "-1", []byte{0x80}, nil},
		{"int8", "-1", "-1", []byte{0x80}, nil}, // the quotient already is out of range
		{"int8", "127", "1", []byte{1}, nil},
		{"int8", "-128", "1", []byte{0xff}, nil},
		{"uint8", "200", "2", []byte{110}, []byte{255}},
		{"uint8", "200", "2", []byte{112}, nil},
		{"int64", "0", "-1", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, nil},
		{"int64", "0", "-1", make([]byte, 8), make([]byte, 8)},
		{"int64", "9223372036854775807", "1", []byte{1, 0, 0, 0, 0, 0, 0, 0}, nil},
		{"int64", "-9223372036854775808", "1", bytes.Repeat([]byte{0xff}, 8), nil},
		{"uint64", "18446744073709551615", "1", make([]byte, 8), bytes.Repeat([]byte{0xff}, 8)},
		{"uint64", "18446744073709551615", "1", []byte{1, 0, 0, 0, 0, 0, 0, 0}, nil},
	}
	for _, c := range cases {
		codecs := fmt.Sprintf(`[{"name":"scale_offset","configuration":{"offset":%s,`+
			`"scale":%s}},%s]`, c.offset, c.scale, bytesLE)
		size := mustBind(t, fmt.Sprintf("%q", c.dataType), []int64{1}, codecs).ChunkBytes()
		chain := mustBind(t, fmt.Sprintf("%q", c.dataType),
			[]int64{int64(len(c.encoded)) / size}, codecs)
		got := make([]byte, len(c.encoded))
		err := chain.Decode(got, memory(c.encoded), 0)
		switch {
		case c.want == nil && !errors.Is(err, compress.ErrCorrupt):
			t.Errorf("%+v: %v, want damage", c, err)
		case c.want != nil && (err != nil || !bytes.Equal(got, c.want)):
			t.Errorf("%+v: %x, %v", c, got, err)
		}
	}
}

// TestFillWithoutEncoding holds that a shard with an empty chunk is refused where the filter before
// it never yields the fill value.
func TestFillWithoutEncoding(t *testing.T) {
	for _, filter := range []string{
		`{"name":"scale_offset","configuration":{"offset":1}}`,   // 0-1
		`{"name":"scale_offset","configuration":{"offset":255}}`, // 0-255
	} {
		codecs := `[` + filter + `,` + sharded(`[2]`, `["bytes"]`, `["bytes"]`, ``) + `]`
		chain := mustBind(t, `"uint8"`, []int64{4}, codecs)
		err := chain.Decode(make([]byte, 4), memory(shard(none, none, none, none)), 0)
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, want an unsupported operation", filter, err)
		}
	}
}
