package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
)

// shard builds a shard of two plain chunks of 8 bytes with its index at the end: offsets and
// lengths as given.
func shard(entries ...uint64) []byte {
	b := []byte("chunk 0.chunk 1.")
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, e)
	}
	return b
}

const none = ^uint64(0)

// TestCorruptShards holds that nothing but an entry of all ones is an empty chunk (rule 27 of the
// conformance notes: some readers show fill value for damage).
func TestCorruptShards(t *testing.T) {
	end := mustBind(t, `"uint8"`, []int64{16}, `[`+sharded(`[8]`, `["bytes"]`, `["bytes"]`, ``)+`]`)
	start := mustBind(t, `"uint8"`, []int64{16},
		`[`+sharded(`[8]`, `["bytes"]`, `["bytes"]`, `,"index_location":"start"`)+`]`)
	summed := mustBind(t, `"uint8"`, []int64{16},
		`[`+sharded(`[8]`, `["bytes"]`, `["bytes","crc32c"]`, ``)+`]`)
	cases := []struct {
		name   string
		chain  *Chain
		object []byte
		want   string // "" for chunk 1
	}{
		{"good", end, shard(0, 8, 8, 8), ""},
		{"gap, order, overlap", end, shard(8, 8, 8, 8), ""},
		{"empty chunk", end, shard(0, 8, none, none), "no such chunk"},
		{"empty object", end, nil, "shard of 0 bytes, expected at least its index of 32"},
		{"index does not fit", end, shard()[:1],
			"shard of 1 bytes, expected at least its index of 32"},
		{"length 0", end, shard(0, 8, 8, 0), "chunk 1 has length 0"},
		{"half empty offset", end, shard(0, 8, none, 8), "chunk 1 is 8 bytes at offset " +
			"18446744073709551615, expected within the shard's 48 bytes"},
		{"half empty length", end, shard(0, 8, 8, none), "chunk 1 is 18446744073709551615 bytes " +
			"at offset 8, expected within the shard's 48 bytes"},
		{"beyond the end", end, shard(0, 8, 41, 8),
			"chunk 1 is 8 bytes at offset 41, expected within the shard's 48 bytes"},
		{"sum overflows", end, shard(0, 8, 1<<63, 1<<63), "expected within the shard's 48 bytes"},
		{"chunk too long", end, shard(0, 8, 0, 9), "expected 8 encoded bytes, found 9"},
		{"chunk too short", end, shard(0, 8, 0, 7), "expected 8 encoded bytes, found 7"},
		{"start without body", start, shard(32, 8, 40, 8)[16:],
			"chunk 1 is 8 bytes at offset 40, expected within the shard's 32 bytes"},
		{"index checksum", summed, append(shard(0, 8, 8, 8), 1, 2, 3, 4),
			`shard index: codec "crc32c": `},
	}
	for _, c := range cases {
		got := make([]byte, 8)
		err := c.chain.Decode(got, memory(c.object), 1)
		lo, hi, partErr := decodePart(c.chain, make([]byte, 8), memory(c.object), 1, 2, 3)
		switch {
		case c.want == "":
			if err != nil || partErr != nil || string(got) != "chunk 1." || lo > 2 || hi < 5 {
				t.Errorf("%s: %q, %v, %v", c.name, got, err, partErr)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case partErr == nil || partErr.Error() != err.Error():
			t.Errorf("%s: part: %v, want %v", c.name, partErr, err)
		case errors.Is(err, ErrEmpty) == errors.Is(err, compress.ErrCorrupt):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestCorruptObjects holds that an object does not decode if its codecs expect another length.
func TestCorruptObjects(t *testing.T) {
	cases := []struct {
		codecs string
		n      int
		want   error
		text   string
	}{
		{`["bytes"]`, 0, compress.ErrCorrupt, "expected 16 encoded bytes, found 0"},
		{`["bytes"]`, 15, compress.ErrCorrupt, "expected 16 encoded bytes, found 15"},
		{`["bytes"]`, 17, compress.ErrCorrupt, "expected 16 encoded bytes, found 17"},
		{`["bytes","crc32c"]`, 19, compress.ErrCorrupt, "expected 20 encoded bytes, found 19"},
		{`["bytes","gzip"]`, 0, compress.ErrCorrupt, "empty, expected the encoding of 16 bytes"},
		{`["bytes","gzip"]`, 5, compress.ErrCorrupt, `codec "gzip": `},
		{`["bytes","zstd"]`, 2 << 20, compress.ErrTooLarge,
			"2097152 encoded bytes for 16 decoded ones, expected at most 1048848"},
		{`["bytes","zstd","gzip"]`, 2 << 20, compress.ErrTooLarge, "2097152 encoded bytes"},
		{`[{"name":"numcodecs.packbits"},"bytes"]`, 3, compress.ErrCorrupt,
			"expected 2 padding bits, found 0"},
	}
	for _, c := range cases {
		size := int64(16)
		dataType := `"uint8"`
		if strings.Contains(c.codecs, "packbits") {
			dataType, size = `"bool"`, 14
		}
		chain := mustBind(t, dataType, []int64{size}, c.codecs)
		err := chain.Decode(make([]byte, size), memory(make([]byte, c.n)), 0)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s, %d bytes: %v, want %q", c.codecs, c.n, err, c.text)
		}
	}
}

// TestEmptyArray holds that a chunk without bytes needs no object.
func TestEmptyArray(t *testing.T) {
	a := arrayOf(t, `"uint8"`, []int64{4}, `["bytes","gzip"]`)
	a.Chunk = []int64{0}
	c, err := Bind(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Decode(nil, memory(nil), 0); err != nil {
		t.Error(err)
	}
}

// shrinking is an object that is shorter than its Size.
type shrinking struct{ memory }

func (s shrinking) Size() int64 { return s.memory.Size() + 4 }

// failing is an object that cannot be read.
type failing struct{ memory }

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

// TestReadErrors holds that a short read is damage and that any other error is passed on.
func TestReadErrors(t *testing.T) {
	c := mustBind(t, `"uint8"`, []int64{16}, `["bytes"]`)
	buf := make([]byte, 16)
	if err := c.Decode(buf, shrinking{make([]byte, 12)}, 0); !errors.Is(err, compress.ErrCorrupt) {
		t.Errorf("%v, want corrupt", err)
	}
	if err := c.Decode(buf, failing{make([]byte, 16)}, 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v, want the source's error", err)
	}
	if err := c.Decode(buf[:15], memory(make([]byte, 16)), 0); err == nil {
		t.Error("a buffer of another size was accepted")
	}
	if _, _, err := decodePart(c, buf, memory(make([]byte, 16)), 0, 10, 7); err == nil {
		t.Error("a part beyond the chunk was accepted")
	}
}

// TestPackBits holds the packings that zarrs writes, and what the specification says of signs and
// padding.
func TestPackBits(t *testing.T) {
	cases := []struct {
		dataType, config string
		packed, want     []byte
	}{
		{`"bool"`, `{}`, []byte{0xaa, 1}, []byte{0, 1, 0, 1, 0, 1, 0, 1, 1}},
		{`"uint4"`, `{}`, []byte{0x10, 0x32}, []byte{0, 1, 2, 3}},
		{`"int4"`, `{}`, []byte{0xf7, 0x08}, []byte{7, 0xff, 0xf8, 0}},
		{`"uint2"`, `{"padding_encoding":"first_byte"}`, []byte{2, 0x24}, []byte{0, 1, 2}},
		{`"int2"`, `{"padding_encoding":"last_byte"}`, []byte{0x24, 2}, []byte{0, 1, 0xfe}},
		{`"int16"`, `{"first_bit":0,"last_bit":11}`, []byte{0x01, 0xf0, 0xff},
			[]byte{1, 0, 0xff, 0xff}},
		{`"uint16"`, `{"first_bit":4,"last_bit":15}`, []byte{0x01, 0xf0, 0xff},
			[]byte{0x10, 0, 0xf0, 0xff}},
		{`"int64"`, `{"first_bit":0,"last_bit":59}`,
			[]byte{1, 0, 0, 0, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
			[]byte{1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{`"float64"`, `{}`, []byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{1, 2, 3, 4, 5, 6, 7, 8}},
	}
	for _, c := range cases {
		a := arrayOf(t, c.dataType, []int64{1},
			`[{"name":"packbits","configuration":`+c.config+`}]`)
		a.Chunk = []int64{int64(len(c.want)) / a.Type.Size}
		chain, err := Bind(a)
		if err != nil {
			t.Errorf("%s %s: %v", c.dataType, c.config, err)
			continue
		}
		got := make([]byte, len(c.want))
		if err := chain.Decode(got, memory(c.packed), 0); err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s %s: %x, %v, want %x", c.dataType, c.config, got, err, c.want)
		}
		if packed, err := chain.EncodeChunk(nil, c.want); err != nil ||
			!bytes.Equal(packed, c.packed) {
			t.Errorf("%s %s: encoded to %x, %v, want %x",
				c.dataType, c.config, packed, err, c.packed)
		}
	}
	// zarrs leaves it out where all bits are stored
	for _, padding := range []string{"first_byte", "last_byte"} {
		chain := mustBind(t, `"uint16"`, []int64{2},
			`[{"name":"packbits","configuration":{"padding_encoding":"`+padding+`"}}]`)
		got := make([]byte, 4)
		if err := chain.Decode(got, memory{1, 2, 3, 4}, 0); err != nil ||
			!bytes.Equal(got, []byte{1, 2, 3, 4}) {
			t.Errorf("%s left out: %x, %v", padding, got, err)
		}
		want :=
			map[string][]byte{"first_byte": {0, 1, 2, 3, 4}, "last_byte": {1, 2, 3, 4, 0}}[padding]
		if packed, err := chain.EncodeChunk(nil, []byte{1, 2, 3, 4}); err != nil ||
			!bytes.Equal(packed, want) {
			t.Errorf("%s: encoded to %x, %v, want %x", padding, packed, err, want)
		}
	}
}
