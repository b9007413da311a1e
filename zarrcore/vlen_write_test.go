package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// rowLen is the elements of a row.
func (w *words) rowLen() int { return int(volume(w.shape[min(1, len(w.shape)):])) }

// setRows truncates or extends the array as it should be, by words or by the fill value.
func (w *words) setRows(rows int64, word func() string) {
	if len(w.shape) == 0 {
		return
	}
	w.shape = append([]int64{rows}, w.shape[1:]...)
	w.data = w.data[:min(len(w.data), int(rows)*w.rowLen())]
	for len(w.data) < int(rows)*w.rowLen() {
		w.data = append(w.data, word())
	}
}

// TestVlenWriteModel replaces, appends to, truncates and extends arrays of strings of many cuts. It
// does so by lines, by strings of fixed width and by documents, and reads again what is stored.
func TestVlenWriteModel(t *testing.T) {
	ctx := context.Background()
	for name, w := range vlenShapes {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 4))
			d := group(t)
			w.write(t, d, "a", rng)
			h := open(t, d, &zarrcore.Options{KeepFill: name == "two axes"})
			word := func() string {
				return strings.Repeat([]string{"a", "é", "名", `"`, "\n"}[rng.IntN(5)], rng.IntN(9))
			}
			fill := func() string { return "none" }
			for step := range 25 / stride() {
				var err error
				do, rows := rng.IntN(4), int64(rng.IntN(50))
				if w.inner != nil {
					// so that chunks divide the last shards also where these end with the array
					rows &^= 1
				}
				switch {
				case do == 0 && len(w.shape) > 0:
					had := len(w.data)
					w.setRows(w.shape[0]+rows, word)
					more := words{data: w.data[had:]}
					text := more.lines(t)
					err = h.AppendLines(ctx, "a", bytes.NewReader(text), int64(len(text)),
						step%2 == 0)
				case do == 1 && len(w.shape) > 0:
					w.setRows(rows, fill)
					err = h.SetDocument(ctx, "a", fmt.Appendf(nil, `{"shape":%s}`, list(w.shape)))
				case do == 2:
					err = w.writeFixed(h, rng, word)
				default:
					w.setRows(rows, word)
					for i := range w.data {
						w.data[i] = word()
						if step%3 == 0 && i > 3 {
							w.data[i] = "none" // some chunks are not to be stored
						}
					}
					text := w.lines(t)
					err = h.WriteLines(ctx, "a", bytes.NewReader(text), int64(len(text)), false)
				}
				if err != nil {
					t.Fatalf("step %d of kind %d: %v", step, do, err)
				}
				for _, h := range []*zarrcore.Hierarchy{h, open(t, d, nil)} {
					if got := allLines(t, h, "a"); !bytes.Equal(got, w.lines(t)) {
						t.Fatalf("step %d of kind %d, shape %v: %d bytes differ from %d", step, do,
							w.shape, len(got), len(w.lines(t)))
					}
				}
			}
		})
	}
}

// writeFixed changes some words and writes all as strings of fixed width. A word that ends in NUL
// stays as long as nothing else becomes of it.
func (w *words) writeFixed(h *zarrcore.Hierarchy, rng *rand.Rand, word func() string) error {
	for i := range w.data {
		if rng.IntN(3) == 0 {
			w.data[i] = word()
		}
	}
	fixed, width := w.fixed()
	t := dtype.Type{Kind: dtype.Unicode, Size: 4 * max(width, 1), Order: dtype.Little}
	if width == 0 {
		fixed = make([]byte, 4*len(w.data))
	}
	return h.WriteFixed(context.Background(), "a", io.NewSectionReader(bytes.NewReader(fixed), 0,
		int64(len(fixed))), t, w.shape, false)
}

func allLines(t testing.TB, h *zarrcore.Hierarchy, path string) []byte {
	t.Helper()
	v := openVlen(t, h, path)
	c, err := v.Count(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, c.Lines)
	if n, err := v.Lines().ReadAt(context.Background(), p, 0); err != nil && err != io.EOF ||
		n != len(p) {
		t.Fatalf("%d bytes of %d, %v", n, len(p), err)
	}
	return p
}

// TestVlenWriteRefused: content that the array cannot have is an error and changes nothing. The
// error says why and which line.
func TestVlenWriteRefused(t *testing.T) {
	ctx := context.Background()
	d := group(t)
	w := words{shape: []int64{4, 3}, chunk: []int64{3, 2}}
	w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
	put(t, d, "json/.zarray",
		[]byte(
			`{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|O","order":"C",`+
				`"compressor":null,"fill_value":null,"filters":[{"id":"json"}]}`))
	put(t, d, "labels/.zarray",
		[]byte(
			`{"zarr_format":2,"shape":[2],"chunks":[2],`+
				`"dtype":"|O","order":"C","compressor":null,"fill_value":null,`+
				`"filters":[{"id":"categorize","dtype":"|O","labels":["x"]}]}`))
	put(t, d, "scalar/zarr.json", []byte((&words{shape: []int64{}, chunk: []int64{}}).document()))
	h := open(t, d, nil)
	before := objectsOf(t, d)
	ok := strings.Repeat("\"x\"\n", 5)
	for _, c := range []struct {
		path, text string
		is         error
		want       string
	}{
		{"a", ok + "nonsense\n" + ok, iofs.ErrInvalid,
			`cannot write "a": line 6: invalid argument: not an element of this array: column 1: ` +
				`expected a value, found 'n'; a line is a string in double quotes`},
		{"a", ok + "12\n", iofs.ErrInvalid,
			`cannot write "a": line 6: invalid argument: not an element of this array: ` +
				`expected a string that UTF-8 can say, found "12"`},
		{"a", ok + "\n", iofs.ErrInvalid,
			`cannot write "a": line 6: invalid argument: not an element of this array: column 1: ` +
				`expected a value, found the end of the document; ` +
				`a line is a string in double quotes`},
		{"a", ok, zarrcore.ErrFraction,
			`cannot write "a": not a whole number of rows: found 5 lines, a row has 3`},
		{"a", ok + "\"" + strings.Repeat("x", 64<<20), iofs.ErrInvalid,
			`cannot write "a": line 6: invalid argument: expected at most 67108864 bytes, ` +
				`found more`},
		{"a", ok + strings.Repeat("[", 1<<20) + "\n", iofs.ErrInvalid,
			`cannot write "a": line 6: invalid argument: not an element of this array: ` +
				`column 1001: expected at most 1000 levels of nesting, found more; ` +
				`a line is a string in double quotes`},
		{"labels", "\"x\"\n\"y\"\n", iofs.ErrInvalid,
			`cannot write "labels": line 2: invalid argument: ` +
				`expected one of the 1 labels of codec "categorize", found "y"`},
		{"scalar", ok, zarrcore.ErrFraction,
			`cannot write "scalar": not a whole number of rows: expected 1 lines, found 5`},
		{"json", "1\n2\n", errors.ErrUnsupported,
			`cannot write "json": codec "numcodecs.json" cannot be written: it is decoded only: ` +
				`json2 has taken its place`},
	} {
		err := h.WriteLines(ctx, c.path, strings.NewReader(c.text), int64(len(c.text)), false)
		if !errors.Is(err, c.is) || err.Error() != c.want {
			t.Errorf("%s: %.60q…:\n got %v\nwant %s", c.path, c.text, err, c.want)
		}
	}
	if err := h.AppendLines(ctx, "a", strings.NewReader(ok), int64(len(ok)), false); !errors.Is(err,
		zarrcore.ErrFraction) {
		t.Errorf("appended: %v", err)
	}
	for _, c := range []struct {
		t     dtype.Type
		shape []int64
		is    error
	}{
		{dtype.Type{Kind: dtype.Bytes, Size: 2}, w.shape, errors.ErrUnsupported},
		{dtype.Type{Kind: dtype.Int, Size: 4}, w.shape, errors.ErrUnsupported},
		{dtype.Type{Kind: dtype.Unicode, Size: 4}, []int64{12}, iofs.ErrInvalid},
		{dtype.Type{Kind: dtype.Unicode, Size: 4}, []int64{4, 2}, iofs.ErrInvalid},
		// no character has that number
		{dtype.Type{Kind: dtype.Unicode, Size: 4}, w.shape, iofs.ErrInvalid},
	} {
		data := bytes.Repeat([]byte{0xff}, 1000)
		if err := h.WriteFixed(ctx, "a", io.NewSectionReader(bytes.NewReader(data), 0, 1000), c.t,
			c.shape, false); !errors.Is(err, c.is) {
			t.Errorf("%s of shape %v: %v", c.t.NumPy(), c.shape, err)
		}
	}
	if !sameObjects(before, objectsOf(t, d)) {
		t.Error("something has changed")
	}
}

// TestVlenWriteKeeps: what an append or a string of fixed width does not concern stays as it is,
// byte for byte.
func TestVlenWriteKeeps(t *testing.T) {
	ctx := context.Background()
	d := group(t)
	w := words{shape: []int64{10, 2}, chunk: []int64{8, 2}, inner: []int64{2, 1}}
	w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
	put(t, d, "nul/zarr.json", []byte((&words{shape: []int64{2}, chunk: []int64{1}}).document()))
	h := open(t, d, nil)
	if err := h.WriteLines(ctx, "nul", strings.NewReader(`"a\u0000"`+"\n"+`"b"`), 100,
		false); err != nil {
		t.Fatal(err)
	}
	before := objectsOf(t, d)
	fixed := append(utf32("a", 3), utf32("ccc", 3)...)
	if err := h.WriteFixed(ctx, "nul", io.NewSectionReader(bytes.NewReader(fixed), 0, 100),
		dtype.Type{Kind: dtype.Unicode, Size: 12}, []int64{2}, false); err != nil {
		t.Fatal(err)
	}
	if got := string(allLines(t, h, "nul")); got != `"a\u0000"`+"\n"+`"ccc"`+"\n" {
		t.Errorf("fixed width: %s", got)
	}
	if err := h.AppendLines(ctx, "a", strings.NewReader("\"x\"\n\"y\"\n"), 8, true); err != nil {
		t.Fatal(err)
	}
	after := objectsOf(t, d)
	if !bytes.Equal(before["a/c/0/0"], after["a/c/0/0"]) ||
		bytes.Equal(before["a/c/1/0"], after["a/c/1/0"]) {
		t.Error("the first shard has changed, or the second has not")
	}
}

// TestVlenWriteFails: where the store has no room, or encoding is interrupted, the error is handed
// on and the array is as it was. The next try stores all.
func TestVlenWriteFails(t *testing.T) {
	for _, kind := range []storetest.OpKind{storetest.OpStage, storetest.OpSync} {
		for _, rows := range []int{30, 60, 90} {
			d := group(t)
			w := words{shape: []int64{60}, chunk: []int64{7}}
			w.write(t, d, "a", rand.New(rand.NewPCG(1, 2)))
			want := w.lines(t)
			h := open(t, storetest.Faulty(d, storetest.OnNth(3, kind, unix.ENOSPC)), nil)
			text := strings.Repeat("\"new\"\n", rows)
			err := h.WriteLines(context.Background(), "a", strings.NewReader(text),
				int64(len(text)), false)
			if !errors.Is(err, unix.ENOSPC) || !bytes.Equal(allLines(t, h, "a"), want) {
				t.Errorf("no room for %d rows: %v, or the array has changed", rows, err)
			}
			if err := h.WriteLines(context.Background(), "a", strings.NewReader(text),
				int64(len(text)), true); err != nil || string(allLines(t, h, "a")) != text {
				t.Errorf("tried again with %d rows: %v", rows, err)
			}
		}
	}
}

// TestVlenWriteFailsInPart: 4096 objects are stored together. An array of more may be new in its
// first part where the store has no room for the rest, which stays. The next try stores all.
func TestVlenWriteFailsInPart(t *testing.T) {
	const together, rows = 4096, 4200
	d := group(t)
	put(t, d, "a/zarr.json", []byte((&words{shape: []int64{rows}, chunk: []int64{1}}).document()))
	h := open(t,
		storetest.Faulty(d, storetest.OnNth(rows+together+10, storetest.OpStage, unix.ENOSPC)), nil)
	old, text := strings.Repeat("\"old\"\n", rows), strings.Repeat("\"new\"\n", rows)
	must(t, h.WriteLines(t.Context(), "a", strings.NewReader(old), int64(len(old)), false))
	want(t, h.WriteLines(t.Context(), "a", strings.NewReader(text), int64(len(text)), false),
		unix.ENOSPC)
	if got := string(allLines(t, h, "a")); got != text[:6*together]+old[6*together:] {
		t.Errorf("no room: %d lines are new, expected the first %d of %d",
			strings.Count(got, "new"), together, rows)
	}
	must(t, h.WriteLines(t.Context(), "a", strings.NewReader(text), int64(len(text)), false))
	if got := string(allLines(t, h, "a")); got != text {
		t.Errorf("tried again: %d lines are new, expected %d", strings.Count(got, "new"), rows)
	}
}

// TestVlenKilledWhileTruncationIsStored: the process is killed while it stores that an array is
// shorter. Truncated rows do not come back when another process lets it grow again.
func TestVlenKilledWhileTruncationIsStored(t *testing.T) {
	const before, rows = 40, 6
	lines := func(text string, n int) string { return strings.Repeat(text+"\n", n) }
	byDocument := func(h *zarrcore.Hierarchy) error {
		return h.SetDocument(t.Context(), "a", fmt.Appendf(nil, `{"shape":[%d]}`, rows))
	}
	for _, c := range []struct {
		name string
		new  string // line of the rows that stay
		cut  func(h *zarrcore.Hierarchy) error
	}{
		{"by a document", `"old"`, byDocument},
		{"by lines", `"new"`, func(h *zarrcore.Hierarchy) error {
			text := lines(`"new"`, rows)
			return h.WriteLines(t.Context(), "a", strings.NewReader(text), int64(len(text)), false)
		}},
	} {
		for _, inner := range [][]int64{nil, {2}} {
			for calls, ended := 0, false; !ended; calls++ {
				mem, k := group(t), &hook{}
				put(t, mem, "a/zarr.json",
					[]byte(
						(&words{shape: []int64{before}, chunk: []int64{4},
							inner: inner}).document()))
				h := open(t, storetest.Faulty(mem, k), nil)
				text := lines(`"old"`, before)
				must(t, h.WriteLines(t.Context(), "a", strings.NewReader(text), int64(len(text)),
					false))
				k.endAfter(calls)
				ended = c.cut(h) == nil
				h = open(t, mem, nil)
				found := strings.SplitAfter(strings.TrimSuffix(string(allLines(t, h, "a")), "\n"),
					"\n")
				for i, line := range found {
					line = strings.TrimSuffix(line, "\n")
					known := line == c.new || len(found) == before &&
						(line == `"old"` || i >= rows && line == `"none"`)
					if len(found) != before && len(found) != rows || !known {
						t.Fatalf("%s: after %d calls row %d of %d is %s", c.name, calls, i,
							len(found), line)
					}
				}
				if ended && len(found) != rows {
					t.Fatalf("%s: %d rows", c.name, len(found))
				}
				if len(found) == before {
					continue
				}
				must(t, h.SetDocument(t.Context(), "a", fmt.Appendf(nil, `{"shape":[%d]}`, before)))
				if got := string(allLines(t, open(t, mem, nil), "a")); got != lines(c.new, rows)+
					lines(`"none"`, before-rows) {
					t.Fatalf("%s: truncated after %d calls and grown again it is\n%s", c.name,
						calls, got)
				}
			}
		}
	}
}

// TestVlenWriteScratch: what is written takes scratch space rather than memory, and none when it is
// stored or when there was too little.
func TestVlenWriteScratch(t *testing.T) {
	d := group(t)
	w := words{shape: []int64{40}, chunk: []int64{3}}
	put(t, d, "a/zarr.json", []byte(w.document()))
	text := strings.Repeat(`"`+strings.Repeat("x", 1<<20)+"\"\n", 40)
	for _, c := range []struct {
		scratch int64
		is      error
	}{{8 << 20, unix.ENOSPC}, {64 << 20, nil}} {
		h := open(t, d, &zarrcore.Options{CacheSize: 16 << 20, ScratchSize: c.scratch,
			ScratchDir: t.TempDir()})
		if err := h.WriteLines(context.Background(), "a", strings.NewReader(text), int64(len(text)),
			false); !errors.Is(err, c.is) {
			t.Errorf("%d bytes of scratch: %v", c.scratch, err)
		}
		if n := h.Status().ScratchUsed; n != 0 {
			t.Errorf("%d bytes of scratch are in use", n)
		}
		if c.is == nil && string(allLines(t, h, "a")) != text {
			t.Error("other lines were stored")
		}
	}
}

// TestVlenWriteLargeChunk: a chunk that would be too large to be read is not written.
func TestVlenWriteLargeChunk(t *testing.T) {
	d := group(t)
	w := words{shape: []int64{3}, chunk: []int64{3}}
	put(t, d, "a/zarr.json", []byte(w.document()))
	h := open(t, d, &zarrcore.Options{CacheSize: 16 << 20})
	text := strings.Repeat(`"`+strings.Repeat("x", 30<<20)+"\"\n", 3)
	err := h.WriteLines(context.Background(), "a", strings.NewReader(text), int64(len(text)), false)
	if !errors.Is(err, iofs.ErrInvalid) || !errors.Is(err, compress.ErrTooLarge) ||
		!strings.Contains(err.Error(), `"a": chunk a/c/0`) {
		t.Errorf("a chunk of 90 MiB: %v", err)
	}
}

// TestVlenCreated holds that new arrays of strings and byte strings can be written at once.
func TestVlenCreated(t *testing.T) {
	ctx := context.Background()
	for format, names := range map[int][]string{2: {"string", "bytes"}, 3: {"string", "bytes"}} {
		d := memstore.New()
		if err := zarrcore.Create(ctx, store.New(d, ""), format); err != nil {
			t.Fatal(err)
		}
		h := open(t, d, nil)
		for _, name := range names {
			r, err := h.RecipeAt(ctx, name)
			must(t, err)
			spec, err := r.Spec([]int64{3}, dtype.Type{Kind: dtype.Object, Name: name}, false)
			must(t, err)
			must(t, h.CreateSpec(ctx, name, spec))
			text := "\"YWI=\"\n\"\"\n\"YQ==\"\n"
			if err := h.WriteLines(ctx, name, strings.NewReader(text), int64(len(text)),
				true); err != nil || string(allLines(t, h, name)) != text {
				t.Errorf("format %d, %s: %v", format, name, err)
			}
		}
	}
}

// objectsOf reads all objects of a store.
func objectsOf(t testing.TB, d store.Driver) map[string][]byte {
	t.Helper()
	st, all := store.New(d, ""), map[string][]byte{}
	var walk func(dir string)
	walk = func(dir string) {
		err := st.List(context.Background(), dir, func(e store.Entry) error {
			if key := under(dir, e.Name); e.Dir {
				walk(key)
			} else {
				data, _, err := st.ReadAll(context.Background(), key, 1<<30)
				if all[key] = data; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	walk("")
	return all
}

// sameObjects compares two snapshots of a store.
func sameObjects(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for key, data := range a {
		if !bytes.Equal(data, b[key]) {
			return false
		}
	}
	return true
}

// utf32 is a string of that many characters of UTF-32.
func utf32(s string, width int) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8), byte(r>>16), 0)
	}
	return append(b, make([]byte, 4*width-len(b))...)
}

// TestVlenInCutGrids: where a grid lists the lengths of chunks, an array of strings has no more
// rows than they are together. Where chunks end with the array it may have any number. Shards that
// their chunks do not divide are refused as a whole.
func TestVlenInCutGrids(t *testing.T) {
	rectilinear := `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[%s]}}`
	for _, c := range []struct {
		name       string
		w          words
		open, more error // of opening it, and of appending three lines
	}{
		{"within the lengths", words{shape: []int64{4}, cuts: [][]int64{{3, 1}},
			grid: fmt.Sprintf(rectilinear, "[3,1,4]")}, nil, nil},
		{"beyond them", words{shape: []int64{4}, cuts: [][]int64{{3, 1}},
			grid: fmt.Sprintf(rectilinear, "[3,1,2]")}, nil, zarrcore.ErrFixedSize},
		{"bounded", words{shape: []int64{4}, cuts: [][]int64{{3, 1}},
			grid: `{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[3]}}`}, nil,
			nil},
		{"bounded shards that become indivisible",
			words{shape: []int64{4}, inner: []int64{2}, cuts: [][]int64{{4}},
				grid: `{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[6]}}`}, nil,
			iofs.ErrInvalid},
		{"a chunk too large to be read", words{shape: []int64{4}, cuts: [][]int64{{3, 1}},
			grid: fmt.Sprintf(rectilinear, "[3,1,3000000000]")}, nil, iofs.ErrInvalid},
		{"shards", words{shape: []int64{6}, inner: []int64{2}, cuts: [][]int64{{2, 4}},
			grid: fmt.Sprintf(rectilinear, "[2,4,6]")}, nil, nil},
		{"indivisible shards", words{shape: []int64{5}, inner: []int64{2}, cuts: [][]int64{{2, 3}},
			grid: fmt.Sprintf(rectilinear, "[2,3,2]")}, meta.ErrInvalid, nil},
		{"shards that become indivisible",
			words{shape: []int64{6}, inner: []int64{2}, cuts: [][]int64{{2, 4}},
				grid: fmt.Sprintf(rectilinear, "[2,4,5]")}, nil, iofs.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := group(t)
			c.w.write(t, d, "a", rand.New(rand.NewPCG(7, 8)))
			h, before := open(t, d, nil), objectsOf(t, d)
			_, err := h.OpenVlen(t.Context(), "a")
			if !errors.Is(err, c.open) {
				t.Errorf("opened: %v, expected %v", err, c.open)
			}
			if err != nil {
				return
			}
			more := words{data: []string{"one", "two", "three"}}
			text := more.lines(t)
			if err := h.AppendLines(t.Context(), "a", bytes.NewReader(text), int64(len(text)),
				false); !errors.Is(err, c.more) {
				t.Errorf("appended: %v, expected %v", err, c.more)
			}
			if c.more == nil {
				c.w.data = append(c.w.data, more.data...)
			} else if fmt.Sprint(objectsOf(t, d)) != fmt.Sprint(before) {
				t.Error("something has changed")
			}
			if got := allLines(t, open(t, d, nil), "a"); !bytes.Equal(got, c.w.lines(t)) {
				t.Errorf("found %q", got)
			}
		})
	}
}

// TestVlenCutGridIsReshaped: an axis but the first can get another length as far as the grid has
// chunks for it.
func TestVlenCutGridIsReshaped(t *testing.T) {
	w := words{shape: []int64{2, 5}, cuts: [][]int64{{2}, {4, 1}},
		grid: `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[2,[4,1,2]]}}`}
	d := group(t)
	w.write(t, d, "a", rand.New(rand.NewPCG(7, 8)))
	h := open(t, d, nil)
	if err := h.SetDocument(t.Context(), "a", []byte(`{"shape":[2,8]}`)); !errors.Is(err,
		meta.ErrInvalid) {
		t.Errorf("%v, expected ErrInvalid", err)
	}
	if err := h.SetDocument(t.Context(), "a", []byte(`{"shape":[2,7]}`)); err != nil {
		t.Fatal(err)
	}
	want := words{shape: []int64{2, 7}, data: slices.Concat(w.data[:5], []string{"none", "none"},
		w.data[5:], []string{"none", "none"})}
	for _, h := range []*zarrcore.Hierarchy{h, open(t, d, nil)} {
		if got := allLines(t, h, "a"); !bytes.Equal(got, want.lines(t)) {
			t.Errorf("found %q", got)
		}
	}
}
