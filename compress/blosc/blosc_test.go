package blosc

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
)

// vector is a buffer that c-blosc made, and what it holds.
type vector struct {
	name          string
	encoded, want []byte
}

// vectors reads testdata/vectors.zip, which testdata/make_vectors.py wrote.
var vectors = sync.OnceValues(func() ([]vector, error) {
	z, err := zip.OpenReader("testdata/vectors.zip")
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var all []vector
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		encoded, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		var typeSize, size int
		var content string
		fields := strings.Split(f.Name, "-")
		content = fields[4]
		if _, err := fmt.Sscan(fields[2]+" "+fields[5], &typeSize, &size); err != nil {
			return nil, err
		}
		all = append(all, vector{f.Name, encoded, makeContent(content, typeSize, size)})
	}
	return all, nil
})

func readVectors(t testing.TB) []vector {
	all, err := vectors()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// makeContent is the twin of the functions of make_vectors.py.
func makeContent(content string, typeSize, size int) []byte {
	b, n := make([]byte, size), noise(size)
	for i := range b {
		switch content {
		case "ramp":
			if i%typeSize < 8 {
				b[i] = byte(uint64(i/typeSize*3) >> (8 * (i % typeSize)))
			}
		case "wave":
			b[i] = byte(i*3>>4^i>>9) & 0x3f
		case "runs":
			b[i] = byte(i >> 10)
		case "noise":
			b[i] = n[i]
		case "mixed":
			if i>>11&1 != 0 {
				b[i] = n[i]
			}
		case "far":
			b[i] = byte(i / 9001)
			if i%9001 < 300 {
				b[i] = n[i%9001]
			}
		default:
			panic("unknown content " + content)
		}
	}
	return b
}

func noise(n int) []byte {
	b, x := make([]byte, n), uint64(1)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return b
}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.name, func(t *testing.T) { checkWhole(t, v); checkPartial(t, v) })
	}
}

func checkWhole(t *testing.T, v vector) {
	t.Helper()
	dst := make([]byte, len(v.want)+1) // room to spare is fine
	n, err := Decode(dst[:len(v.want)], v.encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(dst[:n], v.want) {
		t.Fatalf("wrong content of %d bytes, expected %d", n, len(v.want))
	}
}

func checkPartial(t *testing.T, v vector) {
	t.Helper()
	got, err := decodePartially(v.encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, v.want) {
		t.Fatal("wrong content, block by block")
	}
}

// decodePartially decodes all blocks, last first, each from its bytes alone and
// without touching its neighbours.
func decodePartially(encoded []byte) ([]byte, error) {
	h, err := ParseHeader(encoded[:min(len(encoded), HeaderLen)], int64(len(encoded)))
	if err != nil {
		return nil, err
	}
	if h.Size > 1<<24 {
		return nil, errors.New("too large for a test")
	}
	x, err := NewIndex(h, encoded[:h.IndexLen()])
	if err != nil {
		return nil, err
	}
	out := make([]byte, x.Size())
	for i := x.Blocks() - 1; i >= 0; i-- {
		lo := int64(i) * x.BlockSize()
		hi := lo + x.BlockLen(i)
		off, n := x.Range(i)
		src := bytes.Clone(encoded[off : off+n])
		if err := x.DecodeRange(out[lo:hi], src, i, 0); err != nil {
			return nil, err
		}
		if err := checkRanges(x, out[lo:hi], src, i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkRanges decodes stretches of block i and compares them with the block.
func checkRanges(x *Index, block, src []byte, i int) error {
	size := len(block)
	for _, r := range [][2]int{{0, size / 3}, {size / 2, size/2 + 1}, {size / 5, size - size/7},
		{size - 1, size}} {
		got := make([]byte, r[1]-r[0])
		if err := x.DecodeRange(got, src, i, int64(r[0])); err != nil {
			return err
		}
		if !bytes.Equal(got, block[r[0]:r[1]]) {
			return fmt.Errorf("bytes %d to %d of block %d differ", r[0], r[1], i)
		}
	}
	return nil
}

func TestLimits(t *testing.T) {
	for _, v := range readVectors(t) {
		if len(v.want) == 0 {
			continue
		}
		small := make([]byte, len(v.want)-1)
		if _, err := Decode(small, v.encoded); !errors.Is(err, compress.ErrTooLarge) {
			t.Errorf("%s: into too few bytes: %v, expected ErrTooLarge", v.name, err)
		}
		large := bytes.Repeat([]byte{0xA5}, len(v.want)+100)
		n, err := Decode(large, v.encoded)
		if err != nil || n != len(v.want) {
			t.Errorf("%s: into too many bytes: %d, %v", v.name, n, err)
		}
		cut := v.encoded[:len(v.encoded)-1]
		if _, err := Decode(large, cut); !errors.Is(err, compress.ErrCorrupt) ||
			!strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: truncated: %v, expected ErrCorrupt", v.name, err)
		}
		longer := append(bytes.Clone(v.encoded), 1, 2, 3)
		if _, err := Decode(large, longer); err != nil {
			t.Errorf("%s: with bytes behind the buffer: %v", v.name, err)
		}
	}
}

// find returns the vector of the given name.
func find(t testing.TB, name string) vector {
	for _, v := range readVectors(t) {
		if v.name == name {
			return v
		}
	}
	t.Fatalf("no vector %s", name)
	return vector{}
}

// multiBlock is a vector of several blocks, the last one short.
const multiBlock = "lz4-1-4-2048-wave-4999"

// TestAnyOrder: blocks lie in the order in which the encoder's threads ended.
func TestAnyOrder(t *testing.T) {
	v := find(t, multiBlock)
	h, err := ParseHeader(v.encoded, int64(len(v.encoded)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewIndex(h, v.encoded)
	if err != nil {
		t.Fatal(err)
	}
	swapped := bytes.Clone(v.encoded[:h.IndexLen()])
	for i := x.Blocks() - 1; i >= 0; i-- {
		off, n := x.Range(i)
		binary.LittleEndian.PutUint32(swapped[HeaderLen+4*i:], uint32(len(swapped)))
		swapped = append(swapped, v.encoded[off:off+n]...)
	}
	if bytes.Equal(swapped, v.encoded) {
		t.Fatal("nothing swapped")
	}
	v.encoded = swapped
	checkWhole(t, v)
	checkPartial(t, v)
}

func TestHostile(t *testing.T) {
	put := func(off int, value uint32) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[off:], value) }
	}
	flags := func(set byte) func([]byte) { return func(b []byte) { b[2] |= set } }
	const size, block, encoded, starts = 4, 8, 12, 16
	tests := []struct {
		name   string
		change func([]byte)
		says   string
	}{
		{"version", func(b []byte) { b[0] = 5 }, "format version 5, expected 2"},
		{"reserved flag", flags(0x08), "reserved"},
		{"no such codec", flags(0xe0), "inner codec 7"},
		{"type size 0", func(b []byte) { b[3] = 0 }, "elements of 0 bytes"},
		{"huge size", put(size, 1<<32-1), "content of 4294967295 bytes"},
		{"block size 0", put(block, 0), "blocks of 0 bytes"},
		{"block size over size", put(block, 5000), "blocks of 5000 bytes"},
		{"block size 1", put(block, 1), "for the offsets of 4999 blocks"},
		{"encoded too short", put(encoded, 15), "buffer of 15 bytes"},
		{"encoded shorter than index", put(encoded, 20), "buffer of 20 bytes"},
		{"encoded too long", put(encoded, 1<<31), "truncated"},
		{"encoded 4 GiB", put(encoded, 1<<32-1), "truncated"},
		{"start in header", put(starts, 4), "block 0 at offset 4"},
		{"start in index", put(starts+4, 27), "block 1 at offset 27"},
		{"start negative", put(starts+8, 1<<32-1), "block 2 at offset 4294967295"},
		{"overlapping", put(starts+4, 29), "block 0"},
		{"stream negative", put(28, 1<<32-5), "-5 bytes"},
		{"stream empty", put(28, 0), "0 bytes"},
		{"stream too long", put(28, 1<<31-1), "2147483647 bytes"},
		{"stored of wrong length", flags(flagStored), "to store 4999"},
		{"another codec", flags(0x40), "block 0"},
	}
	for _, test := range tests {
		b := bytes.Clone(find(t, multiBlock).encoded)
		test.change(b)
		_, err := Decode(make([]byte, 1<<16), b)
		if !errors.Is(err, compress.ErrCorrupt) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, expected ErrCorrupt with %q", test.name, err, test.says)
		}
		if _, err := decodePartially(b); err == nil {
			t.Errorf("%s: block by block: no error", test.name)
		}
	}
}

// TestSplitsUneven: streams that do not add up to their block.
func TestSplitsUneven(t *testing.T) {
	b := []byte{2, 1, 1 << 5, 3, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0}
	b = append(b, noise(1100)...)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(b)))
	if _, err := Decode(make([]byte, 1024), b); err == nil ||
		!strings.Contains(err.Error(), "multiple of its 3 streams") {
		t.Error(err)
	}
}

func TestHeaderAlone(t *testing.T) {
	for n := range HeaderLen {
		if _, err := ParseHeader(make([]byte, n), 1000); !errors.Is(err, compress.ErrCorrupt) {
			t.Errorf("%d bytes: %v, expected ErrCorrupt", n, err)
		}
	}
}

func TestDecodeRangeMisuse(t *testing.T) {
	v := find(t, multiBlock)
	h, _ := ParseHeader(v.encoded, int64(len(v.encoded)))
	if _, err := NewIndex(h, v.encoded[:h.IndexLen()-1]); !errors.Is(err, compress.ErrCorrupt) {
		t.Errorf("short index: %v, expected ErrCorrupt", err)
	}
	x, _ := NewIndex(h, v.encoded)
	off, n := x.Range(1)
	src, dst := v.encoded[off:off+n], make([]byte, x.BlockLen(1))
	for _, err := range []error{
		x.DecodeRange(dst, src, -1, 0), x.DecodeRange(dst, src, x.Blocks(), 0),
		x.DecodeRange(dst, src, 1, 1), x.DecodeRange(dst, src, 1, -1),
		x.DecodeRange(dst, src[1:], 1, 0),
	} {
		if !errors.Is(err, compress.ErrCorrupt) {
			t.Errorf("%v, expected ErrCorrupt", err)
		}
	}
}

// TestDecodeAllocatesNothing takes the best of some runs: a pool may lose its content to
// the garbage collector, and does so at random under the race detector.
func TestDecodeAllocatesNothing(t *testing.T) {
	for _, codec := range []string{"blosclz", "lz4", "snappy", "zlib", "zstd"} {
		v := find(t, codec+"-2-4-2048-wave-4999")
		dst, least := make([]byte, len(v.want)), 1.0
		for range 50 {
			least = min(least, testing.AllocsPerRun(1, func() {
				if _, err := Decode(dst, v.encoded); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if least > 0 {
			t.Errorf("%s: always allocates, expected only the first time", codec)
		}
	}
}

// corpora is the folder of golden data that others wrote.
func corpora(t *testing.T) string {
	dir := os.Getenv("ZARRFS_CORPORA")
	if dir == "" {
		t.Skip("ZARRFS_CORPORA is not set: golden data of c-blosc and numcodecs not checked")
	}
	return dir
}

// TestCBloscCompat decodes what releases of c-blosc since 1.3.0 wrote: a million
// int32, 0, 1, 2, ….
func TestCBloscCompat(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpora(t), "c-blosc/compat/*.cdata"))
	if len(files) != 29 {
		t.Fatalf("%d files, expected 29", len(files))
	}
	want := make([]byte, 4_000_000)
	for i := range len(want) / 4 {
		binary.LittleEndian.PutUint32(want[4*i:], uint32(i))
	}
	for _, file := range files {
		checkFile(t, file, want)
	}
}

// TestNumcodecsFixture decodes numcodecs' golden files: 13 arrays by 13 codecs.
func TestNumcodecsFixture(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpora(t),
		"numcodecs/fixture/blosc/codec.*/encoded.*.dat"))
	if len(files) != 169 {
		t.Fatalf("%d files, expected 169", len(files))
	}
	for _, file := range files {
		number := strings.Split(filepath.Base(file), ".")[1]
		npy, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "array."+number+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, file, npy[10+int(binary.LittleEndian.Uint16(npy[8:])):])
	}
}

func checkFile(t *testing.T, file string, want []byte) {
	t.Helper()
	encoded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
	t.Run(name, func(t *testing.T) {
		v := vector{name, encoded, want}
		checkWhole(t, v)
		checkPartial(t, v)
	})
}
