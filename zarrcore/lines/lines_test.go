package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// table is an array of strings in memory. Its chunk 1 is not stored.
type table struct {
	grid  *layout.Grid
	texts []string // in C order
}

const fill = "nothing"

func newTable(t *testing.T, shape, chunk []int64) *table {
	t.Helper()
	grid, err := layout.NewGrid(shape, chunk, 1)
	if err != nil {
		t.Fatal(err)
	}
	a := &table{grid: grid, texts: make([]string, grid.Size())}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range a.texts {
		if a.texts[i] = strings.Repeat("ä\"", r.IntN(9)) +
			strconv.Itoa(i); grid.RunAt(int64(i)).Chunk == 1 {
			a.texts[i] = fill
		}
	}
	return a
}

func elementsOf(texts ...string) *vlen.Elements {
	e := &vlen.Elements{Kind: vlen.Text}
	for _, s := range texts {
		e.Spans = append(e.Spans, vlen.Span{Off: uint32(len(e.Data)), Len: uint32(len(s))})
		e.Data = append(e.Data, s...)
	}
	return e
}

func (a *table) Grid() *layout.Grid              { return a.grid }
func (a *table) Fill() *vlen.Elements            { return elementsOf(fill) }
func (a *table) Prefetch(context.Context, int64) {}

func (a *table) Accepts(element []byte) error {
	if string(element) == "bad" {
		return errors.New("not a label")
	}
	return nil
}

func (a *table) Elements(_ context.Context, chunk int64) (*vlen.Elements, error) {
	if chunk == 1 {
		return nil, nil
	}
	texts := make([]string, a.grid.ChunkBytes())
	box := a.grid.Box(chunk)
	for flat, in := range box.Runs() {
		copy(texts[in:in+box.RunLen], a.texts[flat:flat+box.RunLen])
	}
	return elementsOf(texts...), nil
}

func (a *table) lines() string {
	var b strings.Builder
	for _, s := range a.texts {
		fmt.Fprintf(&b, "\"%s\"\n", strings.ReplaceAll(s, `"`, `\"`))
	}
	return b.String()
}

// TestReader reads lines at random places, before and after they are counted, and compares them
// with the whole text.
func TestReader(t *testing.T) {
	ctx := context.Background()
	a := newTable(t, []int64{70, 30}, []int64{16, 11})
	want, x := a.lines(), NewIndex(a)
	r := NewReader(x)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		off := rng.IntN(len(want) + 10)
		p := make([]byte, rng.IntN(500))
		n, err := r.ReadAt(ctx, p, int64(off))
		expected := want[min(off, len(want)):min(off+len(p), len(want))]
		if string(p[:n]) != expected || (err != nil) != (n < len(p)) || err != nil &&
			err != io.EOF {
			t.Fatalf("%d bytes at %d: %q, %v; expected %q", len(p), off, p[:n], err, expected)
		}
	}
	c, err := x.Count(ctx)
	if err != nil || c.Lines != int64(len(want)) {
		t.Errorf("counted %d bytes, %v; expected %d", c.Lines, err, len(want))
	}
	if _, err := r.ReadAt(ctx, nil, -1); !errors.Is(err, ErrRange) {
		t.Errorf("offset -1: %v, expected ErrRange", err)
	}
}

// TestReaderNoticesChanges: once lines are counted, a read of others in their place is ErrChanged.
func TestReaderNoticesChanges(t *testing.T) {
	ctx := context.Background()
	a := newTable(t, []int64{600}, []int64{50})
	x := NewIndex(a)
	c, err := x.Count(ctx)
	if err != nil {
		t.Fatal(err)
	}
	a.texts[200] += "longer"
	if _, err := NewReader(x).ReadAt(ctx, make([]byte, c.Lines), 0); !errors.Is(err, ErrChanged) {
		t.Errorf("lines of another length: %v, expected ErrChanged", err)
	}
	if _, err := ReadFixed(ctx, a, make([]byte, 1000), 0, 3); !errors.Is(err, ErrChanged) {
		t.Errorf("strings that are wider than they were: %v, expected ErrChanged", err)
	}
}

// TestTake: lines that were read are the same elements when they are taken, and so are strings of
// fixed width.
func TestTake(t *testing.T) {
	ctx := context.Background()
	a := newTable(t, []int64{40, 5}, []int64{16, 5})
	scratch := &band.Scratch{}
	s := NewSpool(scratch)
	defer s.Close()
	if err := TakeLines(ctx, a, s, strings.NewReader(a.lines())); err != nil {
		t.Fatal(err)
	}
	e := &vlen.Elements{Kind: vlen.Text, Spans: make([]vlen.Span, s.Len())}
	if err := s.Load(e, e.Spans, 0, 1<<20); err != nil {
		t.Fatal(err)
	}
	for i, text := range a.texts {
		if got := string(e.At(int64(i))); got != text {
			t.Fatalf("element %d is %q, expected %q", i, got, text)
		}
	}

	const width = 30
	fixed := make([]byte, len(a.texts)*width*4)
	if _, err := ReadFixed(ctx, a, fixed, 0, width); err != nil {
		t.Fatal(err)
	}
	again := NewSpool(scratch)
	defer again.Close()
	unicode := dtype.Type{Kind: dtype.Unicode, Size: width * 4}
	same, err := TakeFixed(ctx, a, again, bytes.NewReader(fixed), unicode, int64(len(a.texts)))
	if err != nil || !same || again.Size() != s.Size() {
		t.Errorf("strings of fixed width: same %t, %d bytes, %v; expected the same, %d bytes", same,
			again.Size(), err, s.Size())
	}
}

// TestTakeRefuses names the line that is not an element, or that the array cannot store.
func TestTakeRefuses(t *testing.T) {
	a := newTable(t, []int64{4}, []int64{4})
	for text, want := range map[string]string{
		"\"a\"\n7\n":       "line 2: ",
		"\"a\"\n\n":        "line 2: ",
		"\"bad\"\n":        "line 1: invalid argument: not a label",
		"\"a\"\n\"b\"\n\"": "line 3: ",
	} {
		s := NewSpool(&band.Scratch{})
		err := TakeLines(context.Background(), a, s, strings.NewReader(text))
		s.Close()
		if !errors.Is(err, iofs.ErrInvalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
}
