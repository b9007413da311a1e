package band

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// fake decodes chunks of an array whose byte i is i*7+3, except that chunks in
// missing are not stored and those in bad fail.
type fake struct {
	grid    *layout.Grid
	missing map[int64]bool
	bad     map[int64]bool
	deleted atomic.Bool // chunk 0 has gone
	decoded atomic.Int64
}

var errBad = errors.New("bad chunk")

// want returns bytes [off, off+n) of the array.
func (f *fake) want(off, n int64) []byte {
	var b []byte
	for r := range f.grid.Runs(off, n) {
		for i := range r.Len {
			c := byte((r.Off+i)*7 + 3)
			if f.gone(r.Chunk) {
				c = 0xfe
			}
			b = append(b, c)
		}
	}
	return b
}

func (f *fake) gone(chunk int64) bool {
	return f.missing[chunk] || chunk == 0 && f.deleted.Load()
}

func (f *fake) DecodeChunk(_ context.Context, n int64, dst []byte) (bool, error) {
	f.decoded.Add(1)
	if f.bad[n] {
		return false, errBad
	}
	if f.gone(n) {
		return true, nil
	}
	for i := range dst[:cap(dst)] {
		dst[:cap(dst)][i] = 0xaa // what lies outside the array, or beyond the chunk, must not show
	}
	gather(f.grid.Box(n), dst)
	return false, nil
}

// gather fills a chunk with what Scatter is to bring to its place.
func gather(b *layout.Box, chunkBytes []byte) {
	var walk func(axis int, f, c int64)
	walk = func(axis int, f, c int64) {
		if axis == len(b.Rows) {
			for i := range b.RunLen {
				chunkBytes[c+i] = byte((f+i)*7 + 3)
			}
			return
		}
		for i := range b.Rows[axis] {
			walk(axis+1, f+i*b.Flat[axis], c+i*b.Chunk[axis])
		}
	}
	walk(0, b.Off, 0)
}

func newFake(t testing.TB, shape, chunkShape []int64) *fake {
	g, err := layout.NewGrid(shape, chunkShape, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &fake{grid: g, missing: map[int64]bool{}, bad: map[int64]bool{}}
}

func newTestSet(t testing.TB, f *fake, budget, scratch int64) *Set {
	p := NewPool(chunk.NewMemory(budget), NewScratch(t.TempDir(), scratch), 2, slog.New(slog.DiscardHandler))
	s := NewSet(f.grid, []byte{0xfe}, f, p)
	if s == nil {
		t.Fatal("no bands for this array")
	}
	return s
}

// readAll reads the array in order through one cursor and checks every byte.
func readAll(s *Set, f *fake, step int64) error {
	c := s.Cursor()
	defer c.Close()
	for off := int64(0); off < f.grid.Size(); off += step {
		if err := checkRead(c, f, off, min(step, f.grid.Size()-off)); err != nil {
			return err
		}
	}
	return nil
}

func checkRead(c *Cursor, f *fake, off, n int64) error {
	l, err := c.Read(context.Background(), off, n)
	if err != nil {
		return err
	}
	defer l.Release()
	if got, want := bytes.Join(l.Bufs, nil), f.want(off, n); !bytes.Equal(got, want) {
		return fmt.Errorf("read of %d bytes at %d: %d bytes that differ", n, off, len(got))
	}
	return nil
}

var shapes = []struct {
	name         string
	shape, chunk []int64
}{
	{"a chunk is a band", []int64{5, 1000, 1000}, []int64{1, 1000, 1000}},
	{"cut last chunk", []int64{7, 1000, 600}, []int64{2, 1000, 600}},
	{"slabs of scattered chunks", []int64{300, 100, 100}, []int64{128, 64, 64}},
	{"many small slabs in a band", []int64{3_000_000}, []int64{10_000}},
	{"leading axes of one", []int64{3, 4, 300, 1000}, []int64{1, 1, 128, 256}},
}

func TestSequential(t *testing.T) {
	for _, sh := range shapes {
		for _, mode := range []string{"memory", "scratch"} {
			t.Run(sh.name+"/"+mode, func(t *testing.T) {
				f := newFake(t, sh.shape, sh.chunk)
				f.missing[f.grid.Chunks()/2] = true
				budget := int64(64 << 20)
				if mode == "scratch" {
					budget = f.grid.ChunkBytes() + 1 // less than a band and its successor
				}
				s := newTestSet(t, f, budget, 1<<30)
				if s.Scratch() != (mode == "scratch") {
					t.Skip("a band of this array fits any budget that holds a chunk")
				}
				if err := readAll(s, f, 99_991); err != nil {
					t.Fatal(err)
				}
				if got := f.decoded.Load(); got != f.grid.Chunks() {
					t.Errorf("%d chunks decoded, expected each of %d once", got, f.grid.Chunks())
				}
			})
		}
	}
}

func TestManyReadersDecodeOnce(t *testing.T) {
	f := newFake(t, []int64{40, 300, 500}, []int64{2, 100, 100})
	s := newTestSet(t, f, 64<<20, 0)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range 4 {
		wg.Go(func() {
			<-start
			if err := readAll(s, f, 50_000+int64(i)*10_000); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		defer s.Cursor().Close() // all have opened the array before the first one reads
	}
	close(start)
	wg.Wait()
	if got := f.decoded.Load(); got != f.grid.Chunks() {
		t.Errorf("%d chunks decoded, expected each of %d once", got, f.grid.Chunks())
	}
}

func TestMemoryIsReusedAndFreed(t *testing.T) {
	f := newFake(t, []int64{20, 1 << 20}, []int64{1, 1 << 20})
	s := newTestSet(t, f, 64<<20, 0)
	if err := readAll(s, f, 1<<20); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for now, _ := s.pool.Memory.Used(); now != 0; now, _ = s.pool.Memory.Used() {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes in use after the reader has gone", now)
		}
		time.Sleep(time.Millisecond)
	}
	if _, peak := s.pool.Memory.Used(); peak > 9*(1<<20+slack) {
		t.Errorf("%d bytes at most in use, expected a ring of a few bands", peak)
	}
}

func TestBadChunkFailsItsBandOnly(t *testing.T) {
	f := newFake(t, []int64{6, 1 << 20}, []int64{1, 1 << 20})
	f.bad[3] = true
	s := newTestSet(t, f, 64<<20, 0)
	c := s.Cursor()
	defer c.Close()
	for i := range int64(6) {
		err := checkRead(c, f, i<<20, 1<<20)
		if bad := i == 3; bad != errors.Is(err, errBad) || !bad && err != nil {
			t.Errorf("band %d: %v", i, err)
		}
	}
}

func TestInvalidate(t *testing.T) {
	f := newFake(t, []int64{4, 1000, 1000}, []int64{1, 1000, 1000})
	s := newTestSet(t, f, 64<<20, 0)
	c, other := s.Cursor(), s.Cursor()
	defer c.Close()
	defer other.Close()
	if err := checkRead(c, f, 0, 1000); err != nil {
		t.Fatal(err)
	}
	f.deleted.Store(true)
	s.Invalidate()
	if err := checkRead(other, f, 0, 1000); err != nil && !errors.Is(err, errOutdated) {
		t.Error(err)
	}
}

// TestHistories runs random readers at once: sequences, jumps, pauses and
// reads that arrive out of order.
func TestHistories(t *testing.T) {
	for _, sh := range shapes {
		t.Run(sh.name, func(t *testing.T) {
			f := newFake(t, sh.shape, sh.chunk)
			for range 3 {
				f.missing[rand.Int64N(f.grid.Chunks())] = true
			}
			s := newTestSet(t, f, 20<<20, 1<<30)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { history(t, s, f) })
			}
			wg.Wait()
		})
	}
}

func history(t *testing.T, s *Set, f *fake) {
	c := s.Cursor()
	defer c.Close()
	size, off := f.grid.Size(), int64(0)
	for range 40 {
		n := 1 + rand.Int64N(300_000)
		switch rand.IntN(10) {
		case 0:
			off = rand.Int64N(size)
		case 1:
			off = max(0, off-rand.Int64N(1<<20))
		}
		if off >= size {
			off = 0
		}
		n = min(n, size-off)
		if err := checkRead(c, f, off, n); err != nil {
			t.Errorf("read of %d at %d: %v", n, off, err)
			return
		}
		off += n
	}
}
