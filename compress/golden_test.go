package compress_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
)

// goldenCase is one object of testdata/golden.json, which testdata/generate.py writes.
type goldenCase struct {
	Codec   string       `json:"codec"`
	Config  goldenConfig `json:"config"`
	Input   string       `json:"input"`
	Encoded []byte       `json:"encoded"`
}

type goldenConfig struct {
	Format   int            `json:"format"`
	Filters  []goldenFilter `json:"filters"`
	Location string         `json:"location"`
	InitVal  uint32         `json:"initval"`
	Prefix   string         `json:"prefix"`
}

type goldenFilter struct {
	ID   int64 `json:"id"`
	Dist int   `json:"dist"`
	LC   *int  `json:"lc"`
	LP   *int  `json:"lp"`
	PB   *int  `json:"pb"`
}

// decode decodes an object by the codec's name, limited to len(dst).
func (c goldenConfig) decode(codec string, dst, src []byte) (int, error) {
	if d := c.decoder(codec); d != nil {
		return d.Decode(dst, src)
	}
	sum := c.checksum(codec)
	if sum == nil {
		return 0, fmt.Errorf("no codec %q", codec)
	}
	payload, err := sum.Strip(src)
	if len(payload) > len(dst) {
		return 0, compress.ErrTooLarge
	}
	return copy(dst, payload), err
}

func (c goldenConfig) decoder(codec string) compress.Decoder {
	switch codec {
	case "zlib":
		return compress.Zlib{}
	case "gzip":
		return compress.Gzip{}
	case "zstd":
		return compress.Zstd{}
	case "lz4":
		return compress.LZ4{}
	case "bz2":
		return compress.BZ2{}
	case "base64":
		return compress.Base64{}
	case "lzma":
		l := compress.LZMA{Format: c.Format}
		for _, f := range c.Filters {
			filter := compress.LZMAFilter{ID: f.ID, Dist: f.Dist}
			if f.LC != nil {
				filter.Props = &[3]int{*f.LC, *f.LP, *f.PB}
			}
			l.Filters = append(l.Filters, filter)
		}
		return l
	}
	return nil
}

func (c goldenConfig) checksum(codec string) compress.Checksum {
	location := map[string]compress.Location{"start": compress.Start,
		"end": compress.End}[c.Location]
	switch codec {
	case "crc32":
		return compress.CRC32{Location: location}
	case "crc32c":
		return compress.CRC32C{Location: location}
	case "adler32":
		return compress.Adler32{Location: location}
	case "fletcher32":
		return compress.Fletcher32{}
	case "jenkins_lookup3":
		return compress.JenkinsLookup3{InitVal: c.InitVal, Prefix: []byte(c.Prefix)}
	}
	return nil
}

// golden reads the committed cases; inputs are by name.
func golden(t testing.TB) (cases []goldenCase, inputs map[string][]byte) {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	inputs = make(map[string][]byte)
	for _, c := range cases {
		if inputs[c.Input] == nil {
			if inputs[c.Input], err = os.ReadFile("testdata/" + c.Input + ".bin"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cases, inputs
}

// TestDecodesOthers: each object decodes to its input, into exact and larger destinations, with and
// without spare capacity; one byte less is ErrTooLarge.
func TestDecodesOthers(t *testing.T) {
	cases, inputs := golden(t)
	for i, c := range cases {
		want := inputs[c.Input]
		name := fmt.Sprintf("%d %s %s", i, c.Codec, c.Input)
		for _, spare := range [][2]int{{0, 0}, {0, 200 << 10}, {100, 0}} {
			dst := make([]byte, len(want)+spare[0], len(want)+spare[0]+spare[1])
			n, err := c.Config.decode(c.Codec, dst, c.Encoded)
			if err != nil || !bytes.Equal(dst[:n], want) {
				t.Errorf("%s with %d+%d spare: %d bytes, %v; expected %d", name, spare[0], spare[1],
					n, err, len(want))
			}
		}
		if _, err := c.Config.decode(c.Codec, make([]byte, len(want)-1, len(want)+1000),
			c.Encoded); !errors.Is(err, compress.ErrTooLarge) {
			t.Errorf("%s into one byte less: %v, expected ErrTooLarge", name, err)
		}
	}
}

// TestGivenUp: an object that does not fit leaves nothing behind for the next one.
func TestGivenUp(t *testing.T) {
	cases, inputs := golden(t)
	for i, c := range cases {
		want := inputs[c.Input]
		if len(want) < 100 {
			continue
		}
		if _, err := c.Config.decode(c.Codec, make([]byte, len(want)/4), c.Encoded); !errors.Is(err,
			compress.ErrTooLarge) {
			t.Errorf("%d %s %s into a quarter: %v, expected ErrTooLarge", i, c.Codec, c.Input, err)
		}
		dst := make([]byte, len(want))
		if _, err := c.Config.decode(c.Codec, dst, c.Encoded); err != nil ||
			!bytes.Equal(dst, want) {
			t.Errorf("%d %s %s after one that did not fit: %v", i, c.Codec, c.Input, err)
		}
	}
}

// TestTruncatedObjects: no object that ends early decodes to all of its input.
func TestTruncatedObjects(t *testing.T) {
	cases, inputs := golden(t)
	for i, c := range cases {
		want := inputs[c.Input]
		dst := make([]byte, len(want))
		for n := range c.Encoded {
			got, err := c.Config.decode(c.Codec, dst, c.Encoded[:n:n])
			if err == nil && got == len(want) && n < len(c.Encoded)-8 { // padding may be missing
				t.Errorf("%d %s %s cut to %d of %d bytes: no error", i, c.Codec, c.Input, n,
					len(c.Encoded))
			}
			if err != nil && !errors.Is(err, compress.ErrCorrupt) {
				t.Errorf("%d %s %s cut to %d of %d bytes: %v, expected ErrCorrupt", i, c.Codec,
					c.Input, n, len(c.Encoded), err)
			}
		}
	}
}

// TestFlipped: an object with a changed byte (about a hundred of them are tried) never panics.
// Where the format has a checksum it is an error, or decodes to its input.
func TestFlipped(t *testing.T) {
	cases, inputs := golden(t)
	checked := map[string]bool{"zlib": true, "gzip": true, "bz2": true, "crc32": true,
		"crc32c": true, "adler32": true, "fletcher32": true}
	for i, c := range cases {
		want := inputs[c.Input]
		dst := make([]byte, len(want))
		for at := 0; at < len(c.Encoded); at += 1 + len(c.Encoded)/100 {
			changed := bytes.Clone(c.Encoded)
			changed[at] ^= 1 << (at % 8)
			n, err := c.Config.decode(c.Codec, dst, changed)
			if err == nil && checked[c.Codec] && n == len(want) && !bytes.Equal(dst[:n], want) {
				t.Errorf("%d %s %s with byte %d changed: other output without error", i, c.Codec,
					c.Input, at)
			}
		}
	}
}
