package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// bitRoundChain binds bitround for that many elements.
func bitRoundChain(t *testing.T, dataType string, elements int, keepbits, endian string) *Chain {
	t.Helper()
	fill := `0`
	switch {
	case strings.HasPrefix(dataType, "complex"):
		fill = `[0,0]`
	case dataType == "bool":
		fill = `false`
	}
	a, _, err := meta.ParseV3(fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[%d],
		"data_type":%q,"fill_value":%s,
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[%[1]d]}},
		"chunk_key_encoding":{"name":"default"},
		"codecs":[{"name":"bitround","configuration":{%[4]s}},
		{"name":"bytes",
		"configuration":{"endian":%[5]q}}]}`, elements, dataType, fill, keepbits, endian))
	if err != nil {
		t.Fatal(err)
	}
	chain, err := Bind(a)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// TestBitRound encodes whole numbers and bfloat16 as zarrs does, in both byte orders; encoding what
// was decoded changes nothing more (testdata/zarrs-bitround). TestEncodeFilters has the floats of
// numcodecs.
func TestBitRound(t *testing.T) {
	sizes := map[string]int{"8": 1, "16": 2, "32": 4, "64": 8}
	for _, c := range lines(t, "testdata/bitround.jsonl") {
		plain, err := hex.DecodeString(c.Get("plain").Text())
		want, err2 := hex.DecodeString(c.Get("encoded").Text())
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		name := c.Get("data_type").Text()
		size := sizes[strings.TrimLeft(name, "abcdefilmnoptux_")]
		elements := len(plain) / size
		if strings.HasPrefix(name, "complex") {
			elements /= 2
		}
		keep := fmt.Sprintf(`"keepbits":%s`, c.Get("keepbits").Raw())
		for endian, order := range map[string]func([]byte) []byte{
			"little": bytes.Clone,
			"big":    func(b []byte) []byte { return reversedEach(b, size) },
		} {
			chain := bitRoundChain(t, name, elements, keep, endian)
			got, err := chain.EncodeChunk(nil, order(plain))
			if err != nil || !bytes.Equal(got, order(want)) {
				t.Errorf("%s, %s, %s: %v; encoded\n%x, expected\n%x, of\n%x",
					name, keep, endian, err, got, order(want), order(plain))
			}
			if again, err := chain.EncodeChunk(nil, order(want)); err != nil ||
				!bytes.Equal(again, order(want)) {
				t.Errorf("%s, %s, %s: encoded again: %v\n%x, expected\n%x",
					name, keep, endian, err, again, order(want))
			}
		}
	}
}

// reversedEach is numbers of that size in the other byte order.
func reversedEach(b []byte, size int) []byte {
	b = bytes.Clone(b)
	for item := b; len(item) > 0; item = item[size:] {
		for i := range size / 2 {
			item[i], item[size-1-i] = item[size-1-i], item[i]
		}
	}
	return b
}

// TestBitRoundEdges: no number changes its sign or leaves the range of its type. zarrs makes -128
// of 127 for 3 bits.
func TestBitRoundEdges(t *testing.T) {
	for _, c := range []struct {
		dataType    string
		keep        int
		plain, want int64
	}{
		{"int8", 3, 127, 112}, {"int8", 3, 111, 112}, {"int8", 1, 127, 64}, {"int8", 3, -1, -32},
		{"int8", 7, -1, -2}, {"int8", 8, -1, -1}, {"int8", 1, -128, -128},
		{"uint8", 3, 255, 224}, {"uint8", 3, 240, 224}, {"uint8", 3, 0, 0}, {"uint8", 1, 1, 1},
		{"uint8", 3, 15, 16},
		{"int64", 1, 1<<63 - 1, 1 << 62}, {"int64", 2, -1, -1 << 62}, {"uint64", 1, -1, -1 << 63},
		{"int64", 64, 1<<63 - 1, 1<<63 - 1}, {"int64", 1, -1 << 63, -1 << 63}, // of a date, NaT
	} {
		plain := binary.LittleEndian.AppendUint64(nil, uint64(c.plain))
		size := 8
		if strings.HasSuffix(c.dataType, "t8") {
			size = 1
		}
		got, err := bitRoundChain(t, c.dataType, 1, fmt.Sprintf(`"keepbits":%d`, c.keep),
			"little").EncodeChunk(nil, plain[:size])
		if want := binary.LittleEndian.AppendUint64(nil, uint64(c.want))[:size]; err != nil ||
			!bytes.Equal(got, want) {
			t.Errorf("%d bits of %s %d: %x, %v, expected %x",
				c.keep, c.dataType, c.plain, got, err, want)
		}
	}
	dates := mustBind(t,
		`{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`, []int64{1},
		`[{"name":"bitround","configuration":{"keepbits":4}},`+bytesLE+`]`)
	got, err := dates.EncodeChunk(nil, binary.LittleEndian.AppendUint64(nil, 1_700_000_000))
	if err != nil || binary.LittleEndian.Uint64(got) != 13<<27 {
		t.Errorf("a date: %x, %v", got, err)
	}
}

// TestBitRoundNotEncoded holds why chunks are not encoded; they can be read all the same.
func TestBitRoundNotEncoded(t *testing.T) {
	for _, c := range []struct{ dataType, keep, want string }{
		{"bool", `"keepbits":3`,
			`codec "bitround" cannot be written: type |b1 has no bits that could be rounded`},
		{"float8_e4m3", `"keepbits":3`, `codec "bitround" cannot be written: ` +
			`type float8_e4m3 has no bits that could be rounded`},
		{"int32", `"keepbits":0`, `codec "bitround" cannot be written: unsupported operation: ` +
			`configuration "keepbits": expected an integer from 1 to 64, found 0`},
		{"bfloat16", `"keepbits":8`, `codec "bitround" cannot be written: unsupported operation: ` +
			`configuration "keepbits": expected an integer from 0 to 7, found 8`},
		{"bfloat16", ``, `codec "bitround" cannot be written: unsupported operation: ` +
			`configuration lacks "keepbits": expected an integer from 0 to 7`},
	} {
		chain := bitRoundChain(t, c.dataType, 4, c.keep, "little")
		if err := chain.Writable(); !errors.Is(err, errors.ErrUnsupported) ||
			err.Error() != c.want {
			t.Errorf("%s, %s: %v\nwant %s", c.dataType, c.keep, err, c.want)
		}
		data := make([]byte, chain.ChunkBytes())
		if err := chain.Decode(data, memory(make([]byte, len(data))), 0); err != nil {
			t.Errorf("%s, %s: reading: %v", c.dataType, c.keep, err)
		}
	}
}
