package zarrcore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// words is an array of strings to be written: what its document says, and its elements.
type words struct {
	shape, chunk []int64
	inner        []int64   // chunks of shards; nil: not sharded
	grid         string    // of a grid whose objects differ in shape: its document,
	cuts         [][]int64 // and their lengths along each axis
	missing      float64   // share of objects, and of chunks in shards, that are not stored
	data         []string
}

// write writes the array at path with random words, with the fill value in what is missing.
func (w *words) write(t testing.TB, d store.Writer, path string, rng *rand.Rand) {
	t.Helper()
	letters := []string{"a", "é", "名", "😀", `"`, "\\", "\n", " ", "\x01"}
	w.data = make([]string, volume(w.shape))
	for i := range w.data {
		w.data[i] = strings.Repeat(letters[rng.IntN(len(letters))], rng.IntN(12))
	}
	put(t, d, under(path, "zarr.json"), []byte(w.document()))
	cuts := w.lengths()
	counts := make([]int64, len(w.shape))
	for i := range counts {
		counts[i] = int64(len(cuts[i]))
	}
	for at := range positions(counts) {
		origin, block := make([]int64, len(at)), make([]int64, len(at))
		for i, c := range at {
			for _, n := range cuts[i][:c] {
				origin[i] += n
			}
			block[i] = cuts[i][c]
		}
		if rng.Float64() < w.missing {
			w.erase(origin, block)
			continue
		}
		put(t, d,
			under(path,
				strings.Join(append([]string{"c"},
					strings.Fields(strings.Trim(fmt.Sprint(at), "[]"))...), "/")),
			w.object(t, origin, block, rng))
	}
}

// lengths returns the lengths of objects along each axis.
func (w *words) lengths() [][]int64 {
	if w.cuts != nil {
		return w.cuts
	}
	cuts := make([][]int64, len(w.shape))
	for i, n := range w.shape {
		cuts[i] = slices.Repeat(w.chunk[i:i+1], int((n+w.chunk[i]-1)/w.chunk[i]))
	}
	return cuts
}

func (w *words) document() string {
	codecs := `"vlen-utf8","gzip"`
	if w.inner != nil {
		codecs =
			fmt.Sprintf(
				`{"name":"sharding_indexed","configuration":{"chunk_shape":%s,"codecs":[%s],`+
					`"index_codecs":["bytes"]}}`, list(w.inner), codecs)
	}
	grid := w.grid
	if grid == "" {
		grid = fmt.Sprintf(`{"name":"regular","configuration":{"chunk_shape":%s}}`, list(w.chunk))
	}
	return fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":%s,"data_type":"string",
		"fill_value":"none","codecs":[%s],
		"chunk_grid":%s,"chunk_key_encoding":{"name":"default"}}`, list(w.shape), codecs, grid)
}

// object encodes the object of that shape whose first element is at origin.
func (w *words) object(t testing.TB, origin, block []int64, rng *rand.Rand) []byte {
	if w.inner == nil {
		return w.encode(t, origin, block)
	}
	counts := make([]int64, len(block))
	for i := range counts {
		counts[i] = block[i] / w.inner[i]
	}
	var body, index []byte
	for at := range positions(counts) {
		begin, off, n := add(origin, multiply(at, w.inner)), ^uint64(0), ^uint64(0)
		if rng.Float64() < w.missing {
			w.erase(begin, w.inner)
		} else {
			chunk := w.encode(t, begin, w.inner)
			off, n = uint64(len(body)), uint64(len(chunk))
			body = append(body, chunk...)
		}
		index = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(index, off), n)
	}
	return append(body, index...)
}

// each calls do with the element of data for each place of a block, nil for those outside the
// array.
func (w *words) each(origin, block []int64, do func(word *string)) {
	for at := range positions(block) {
		place, inside := int64(0), true
		for i, p := range add(origin, at) {
			inside = inside && p < w.shape[i]
			place = place*w.shape[i] + p
		}
		if inside {
			do(&w.data[place])
		} else {
			do(nil)
		}
	}
}

func (w *words) erase(origin, block []int64) {
	w.each(origin, block, func(word *string) {
		if word != nil {
			*word = "none"
		}
	})
}

func (w *words) encode(t testing.TB, origin, block []int64) []byte {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, uint32(volume(block)))
	w.each(origin, block, func(word *string) {
		padding := ""
		if word == nil {
			word = &padding
		}
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(*word))), *word...)
	})
	return gzipOf(b)
}

// lines is the array as encoding/json would write its lines, without the escapes that it makes for
// HTML's sake.
func (w *words) lines(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, word := range w.data {
		if err := e.Encode(word); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// fixed is the array as UTF-32 of a fixed width, and that width.
func (w *words) fixed() (b []byte, width int64) {
	for _, word := range w.data {
		width = max(width, int64(utf8.RuneCountInString(word)))
	}
	for _, word := range w.data {
		for _, r := range word {
			b = binary.LittleEndian.AppendUint32(b, uint32(r))
		}
		b = append(b, make([]byte, 4*(int(width)-utf8.RuneCountInString(word)))...)
	}
	return b, width
}

// vlenShapes are arrays of strings of many cuts.
var vlenShapes = map[string]words{
	"no axes":    {shape: []int64{}, chunk: []int64{}},
	"empty":      {shape: []int64{0, 3}, chunk: []int64{2, 2}},
	"one axis":   {shape: []int64{1000}, chunk: []int64{64}, missing: .3},
	"one chunk":  {shape: []int64{7}, chunk: []int64{10}},
	"two axes":   {shape: []int64{37, 41}, chunk: []int64{8, 5}, missing: .3},
	"columns":    {shape: []int64{700, 3}, chunk: []int64{700, 1}},
	"three axes": {shape: []int64{5, 6, 70}, chunk: []int64{2, 3, 32}},
	"shards": {shape: []int64{33, 30}, chunk: []int64{8, 12}, inner: []int64{4, 3},
		missing: .2},
	"nothing written": {shape: []int64{3000}, chunk: []int64{100}, missing: 1},
	"cut": {shape: []int64{20, 9}, missing: .2, cuts: [][]int64{{3, 1, 6, 7, 7}, {2, 2, 2, 3}},
		grid: `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[3,1,6,` +
			`[7,9999]],[[2,3],3]]}}`},
	"cut with padding": {shape: []int64{7, 9}, cuts: [][]int64{{5, 4}, {20}},
		grid: `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[5,4,` +
			`[1,9999]],20]}}`},
	"cut shards": {shape: []int64{9, 12}, inner: []int64{2, 3}, missing: .2,
		cuts: [][]int64{{2, 6, 2}, {3, 9}},
		grid: `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[2,6,[2,3],` +
			`[4,9999]],[3,9]]}}`},
	"bounded": {shape: []int64{10, 5}, missing: .2, cuts: [][]int64{{4, 4, 2}, {3, 2}},
		grid: `{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[4,3]}}`},
	"bounded, shorter than one": {shape: []int64{2, 3}, cuts: [][]int64{{2}, {3}},
		grid: `{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[30,4]}}`},
	"bounded, large chunks": {shape: []int64{100}, cuts: [][]int64{{64, 36}},
		grid: `{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[64]}}`},
	"bounded shards": {shape: []int64{10, 4}, inner: []int64{2, 1}, missing: .2,
		cuts: [][]int64{{4, 4, 2}, {3, 1}},
		grid: `{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[4,3]}}`},
}

// TestVlenModel reads arrays of strings in every way: in order, at random before and after
// counting, as lines and of fixed width.
func TestVlenModel(t *testing.T) {
	ctx := context.Background()
	for name, w := range vlenShapes {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			d := group(t)
			w.write(t, d, "a", rng)
			want := w.lines(t)
			h := open(t, d, nil)
			v := openVlen(t, h, "a")
			if v.Len() != int64(len(w.data)) {
				t.Fatalf("%d elements, want %d", v.Len(), len(w.data))
			}
			checkAtRandom(t, rng, want, func(p []byte, off int64) (int, error) {
				return v.Lines().ReadAt(ctx, p, off)
			})
			r := v.Lines()
			var got []byte
			for p := make([]byte, 777); ; {
				n, err := r.ReadAt(ctx, p, int64(len(got)))
				got = append(got, p[:n]...)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("in order: %d bytes differ from %d", len(got), len(want))
			}
			fixed, width := w.fixed()
			c, err := v.Count(ctx)
			if err != nil || c.Lines != int64(len(want)) || c.Width != width {
				t.Fatalf("counted %+v, %v; want %d bytes, width %d", c, err, len(want), width)
			}
			checkAtRandom(t, rng, want, func(p []byte, off int64) (int, error) {
				return r.ReadAt(ctx, p, off)
			})
			if len(fixed) > 0 {
				checkAtRandom(t, rng, fixed, func(p []byte, off int64) (int, error) {
					return v.ReadFixed(ctx, p, off, width)
				})
			}
		})
	}
}

func openVlen(t testing.TB, h *zarrcore.Hierarchy, path string) *zarrcore.VlenArray {
	t.Helper()
	v, err := h.OpenVlen(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkAtRandom reads stretches of what should be want, also across its end.
func checkAtRandom(
	t *testing.T, rng *rand.Rand, want []byte, readAt func(p []byte, off int64) (int, error),
) {
	t.Helper()
	for range 40 {
		off := rng.IntN(len(want) + 2)
		p := make([]byte, rng.IntN(300)+1)
		n, err := readAt(p, int64(off))
		end := min(len(want), off+len(p))
		if off > len(want) {
			end = off
		}
		if n != end-off || n > 0 && !bytes.Equal(p[:n], want[off:end]) ||
			(err != nil) != (n < len(p)) || err != nil && err != io.EOF {
			t.Errorf("[%d, +%d) of %d: %d bytes, %v", off, len(p), len(want), n, err)
		}
	}
}

// TestVlenDecodesOnce: a program that reads in order has each chunk decoded once, and counting what
// was read decodes none again.
func TestVlenDecodesOnce(t *testing.T) {
	ctx := context.Background()
	w := words{shape: []int64{600, 20}, chunk: []int64{50, 7}}
	d := group(t)
	w.write(t, d, "a", rand.New(rand.NewPCG(1, 1)))
	h := open(t, d, nil)
	v := openVlen(t, h, "a")
	r, size := v.Lines(), len(w.lines(t))
	for off := 0; off < size; off += 1000 {
		if _, err := r.ReadAt(ctx, make([]byte, 1000), int64(off)); err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	if _, err := v.Count(ctx); err != nil {
		t.Fatal(err)
	}
	if got := h.Status().ChunksDecoded; got != 12*3 {
		t.Errorf("%d chunks decoded, want %d", got, 12*3)
	}
}

// TestVlenChanges: what was stored before OpenVlen is what is read after it, and a reader gets
// ErrChanged once its lines have moved.
func TestVlenChanges(t *testing.T) {
	ctx := context.Background()
	w := words{shape: []int64{600}, chunk: []int64{100}}
	rng := rand.New(rand.NewPCG(5, 6))
	d := group(t)
	w.write(t, d, "a", rng)
	h := open(t, d, nil)
	old := openVlen(t, h, "a")
	if _, err := old.Count(ctx); err != nil {
		t.Fatal(err)
	}
	before := w.lines(t)
	w.write(t, d, "a", rng)
	v := openVlen(t, h, "a")
	want := w.lines(t)
	got := make([]byte, len(want))
	if n, err := v.Lines().ReadAt(ctx, got, 0); n != len(want) || err != nil ||
		!bytes.Equal(got, want) {
		t.Errorf("after a change: %d bytes, %v", n, err)
	}
	if c, err := v.Count(ctx); err != nil || c.Lines != int64(len(want)) {
		t.Errorf("after a change: counted %+v, %v; want %d", c, err, len(want))
	}
	// The old reader may still have its chunks, otherwise it gets an error.
	for i := range 4 {
		big := words{shape: []int64{1000}, chunk: []int64{1000}}
		big.write(t, d, fmt.Sprint("big", i), rng)
		openVlen(t, h, fmt.Sprint("big", i)).Count(ctx)
	}
	n, err := old.Lines().ReadAt(ctx, make([]byte, len(before)), 0)
	if !errors.Is(err, zarrcore.ErrChanged) && (err != nil || n != len(before)) {
		t.Errorf("a reader from before the change: %d bytes, %v", n, err)
	}
}

// TestVlenStale: a reader that was opened before objects were replaced, and has none of them in
// memory, gets an error and no torn lines.
func TestVlenStale(t *testing.T) {
	ctx := context.Background()
	w := words{shape: []int64{600}, chunk: []int64{100}}
	rng := rand.New(rand.NewPCG(5, 6))
	d := group(t)
	w.write(t, d, "a", rng)
	h := open(t, d, &zarrcore.Options{CacheSize: 1}) // keeps one chunk
	v := openVlen(t, h, "a")
	c, err := v.Count(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, d, "a", rng)
	if _, err := v.Lines().ReadAt(ctx, make([]byte, c.Lines), 0); !errors.Is(err,
		zarrcore.ErrChanged) {
		t.Errorf("lines: %v, want ErrChanged", err)
	}
	if _, err := v.ReadFixed(ctx, make([]byte, 10000), 0, 3); !errors.Is(err, zarrcore.ErrChanged) {
		t.Errorf("fixed width: %v, want ErrChanged", err)
	}
}

// TestVlenCorrupt: a damaged chunk is an error that names it. Lines before the chunk can be read,
// and strings of a fixed width anywhere else.
func TestVlenCorrupt(t *testing.T) {
	ctx := context.Background()
	w := words{shape: []int64{600}, chunk: []int64{100}}
	d := group(t)
	w.write(t, d, "a", rand.New(rand.NewPCG(7, 8)))
	put(t, d, "a/c/3", []byte("no gzip"))
	h := open(t, d, nil)
	v := openVlen(t, h, "a")
	_, err := v.Count(ctx)
	var z *zarrcore.Error
	if !errors.Is(err, compress.ErrCorrupt) || !errors.As(err, &z) || z.Path != "a" ||
		z.Key != "a/c/3" {
		t.Errorf("counting: %v", err)
	}
	want := w.lines(t)
	p := make([]byte, len(want))
	n, err := v.Lines().ReadAt(ctx, p, 0)
	if !errors.Is(err, compress.ErrCorrupt) || !bytes.Equal(p[:n], want[:n]) ||
		bytes.Count(p[:n], []byte("\n")) != 300 {
		t.Errorf("%d bytes, %v", n, err)
	}
	fixed, width := w.fixed()
	at := 4 * width * 450
	if n, err := v.ReadFixed(ctx, p[:100], at, width); err != nil ||
		!bytes.Equal(p[:n], fixed[at:at+100]) {
		t.Errorf("behind the damage: %v", err)
	}
	put(t, d, "a/c/3", w.object(t, []int64{300}, w.chunk, nil))
	if c, err := v.Count(ctx); err != nil || c.Lines != int64(len(want)) {
		t.Errorf("mended: %+v, %v", c, err)
	}
}

// TestVlenRefused: each way to open refuses what is for the other, and what nobody can read.
func TestVlenRefused(t *testing.T) {
	ctx := context.Background()
	d := group(t)
	w := words{shape: []int64{4}, chunk: []int64{2}}
	w.write(t, d, "strings", rand.New(rand.NewPCG(9, 9)))
	f := fixture{element: elements[0], path: "numbers", format: 3, shape: []int64{4},
		chunk: []int64{2}, separator: "/"}
	f.write(t, d, rand.New(rand.NewPCG(9, 9)))
	put(t, d, "pickled/.zarray",
		[]byte(
			`{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|O","order":"C",`+
				`"compressor":null,"fill_value":null,"filters":[{"id":"pickle"}]}`))
	put(t, d, "endless/zarr.json",
		[]byte(strings.Replace(strings.Replace(w.document(), `"shape":[4]`,
			`"shape":[100000000000]`, 1), "gzip", "zstd", 1)))
	h := open(t, d, nil)
	if _, err := h.OpenArray(ctx, "strings"); !errors.Is(err, zarrcore.ErrVlen) ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("OpenArray of strings: %v", err)
	}
	if _, err := h.OpenVlen(ctx, "numbers"); err == nil {
		t.Error("OpenVlen takes numbers")
	}
	for _, path := range []string{"strings", "numbers"} {
		if err := h.Readable(ctx, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		"pickled": `cannot open "pickled": codec "numcodecs.pickle": not decoded, ` +
			`as decoding it executes code from the data; if you trust it, ` +
			`read it with zarr-python and store it again as strings or numbers`,
		"endless": `cannot open "endless": 100000000000 elements of no fixed size, ` +
			`expected at most 68719476736: unsupported operation`,
	} {
		if err := h.Readable(ctx, path); !errors.Is(err, errors.ErrUnsupported) ||
			err.Error() != want {
			t.Errorf("%s: %v\nwant %s", path, err, want)
		}
	}
	if _, err := h.OpenVlen(ctx, ""); !errors.Is(err, zarrcore.ErrNotArray) {
		t.Errorf("a group: %v", err)
	}
}

// TestVlenBudget: decoded chunks take what the budget allows, and one that would take more than the
// limit is an error.
func TestVlenBudget(t *testing.T) {
	ctx := context.Background()
	d := group(t)
	w := words{shape: []int64{40}, chunk: []int64{1}}
	put(t, d, "a/zarr.json", []byte(w.document()))
	word := strings.Repeat("x", 1<<20)
	w.data = make([]string, 40)
	for i := range w.data {
		w.data[i] = word
		put(t, d, fmt.Sprint("a/c/", i), w.encode(t, []int64{int64(i)}, w.chunk))
	}
	w.data[7] = strings.Repeat("x", 70<<20) // more than the least limit
	put(t, d, "b/zarr.json", []byte(w.document()))
	put(t, d, "b/c/7", w.encode(t, []int64{7}, w.chunk))
	h := open(t, d, &zarrcore.Options{CacheSize: 16 << 20})
	if c, err := openVlen(t, h, "a").Count(ctx); err != nil || c.Lines != 40*(1<<20+3) {
		t.Errorf("%+v, %v", c, err)
	}
	if got := h.Status().MemoryUsed; got > 6<<20 || got < 2<<20 {
		t.Errorf("%d bytes of memory are in use, want some 4 MiB", got)
	}
	if _, err := openVlen(t, h, "b").Count(ctx); !errors.Is(err, compress.ErrTooLarge) ||
		!strings.Contains(err.Error(), `"b": chunk b/c/7`) {
		t.Errorf("a chunk of 70 MiB: %v", err)
	}
}
