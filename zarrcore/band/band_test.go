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
	"testing/synctest"
	"time"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// fake decodes chunks of an array: its byte i is i*7+3. Chunks in missing are
// not stored, and those in bad fail.
type fake struct {
	grid    *layout.Grid
	missing map[int64]bool
	bad     map[int64]bool
	gate    chan struct{} // decoding waits for it; nil: it does not
	took    time.Duration // by decoding
	plain   bool
	deleted atomic.Bool // chunk 0 has gone
	decoded atomic.Int64
}

var errBad = errors.New("bad chunk")

// pattern is a stretch of the array's bytes, which repeat after 256.
var pattern = func() []byte {
	p := make([]byte, 2<<20)
	for i := range p {
		p[i] = byte(i*7 + 3)
	}
	return p
}()

// want returns bytes [off, off+n) of the array.
func (f *fake) want(off, n int64) []byte {
	b := make([]byte, 0, n)
	for r := range f.grid.Runs(off, n) {
		if f.gone(r.Chunk) {
			b = append(b, bytes.Repeat([]byte{0xfe}, int(r.Len))...)
			continue
		}
		b = append(b, pattern[r.Off%256:][:r.Len]...)
	}
	return b
}

func (f *fake) gone(chunk int64) bool {
	return f.missing[chunk] || chunk == 0 && f.deleted.Load()
}

func (f *fake) DecodeChunk(_ context.Context, n int64, dst []byte) (bool, error) {
	f.decoded.Add(1)
	time.Sleep(f.took)
	if f.gate != nil {
		<-f.gate
	}
	if f.bad[n] {
		return false, errBad
	}
	if f.gone(n) {
		return true, nil
	}
	// what lies outside the array, or beyond the chunk, must not show
	layout.Repeat(dst[:cap(dst)], []byte{0xaa})
	gather(f.grid.Box(n), dst)
	return false, nil
}

func (f *fake) IsPlain() bool { return f.plain }

// gather fills a chunk with what Scatter is to bring to its place.
func gather(b *layout.Box, chunkBytes []byte) {
	var walk func(axis int, f, c int64)
	walk = func(axis int, f, c int64) {
		if axis == len(b.Rows) {
			copy(chunkBytes[c:c+b.RunLen], pattern[f%256:])
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
	p := NewPool(chunk.NewMemory(budget), NewScratch(t.TempDir(), scratch), 2, 0,
		slog.New(slog.DiscardHandler))
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
		for _, mode := range []string{"memory", "scratch", "chunks beyond memory"} {
			t.Run(sh.name+"/"+mode, func(t *testing.T) {
				f := newFake(t, sh.shape, sh.chunk)
				f.missing[f.grid.Chunks()/2] = true
				budget := int64(64 << 20)
				switch mode {
				case "scratch":
					budget = f.grid.ChunkBytes() + 1 // less than a band and its successor
				case "chunks beyond memory":
					budget = f.grid.ChunkBytes() / 4
				}
				s := newTestSet(t, f, budget, 1<<30)
				if s.IsScratch() != (mode != "memory") {
					t.Skip("a band of this array fits any budget that holds a chunk")
				}
				if err := readAll(s, f, 99_991); err != nil {
					t.Fatal(err)
				}
				if got := f.decoded.Load(); got != f.grid.Chunks() {
					t.Errorf("%d chunks decoded, expected each of %d once", got, f.grid.Chunks())
				}
				if _, peak := s.pool.Memory.Used(); mode == "chunks beyond memory" && peak > 0 {
					t.Errorf("%d bytes of memory were in use", peak)
				}
			})
		}
	}
}

// TestPlainChunksBeyondMemory: chunks that are stored as they are, and larger than memory, are read
// part by part, and not through bands.
func TestPlainChunksBeyondMemory(t *testing.T) {
	f := newFake(t, []int64{4, 4 << 20}, []int64{1, 4 << 20})
	f.plain = true
	for budget, isServed := range map[int64]bool{1 << 20: false, 16 << 20: true} {
		p := NewPool(chunk.NewMemory(budget), NewScratch(t.TempDir(), 1<<30), 2, 0,
			slog.New(slog.DiscardHandler))
		if s := NewSet(f.grid, []byte{0}, f, p); (s != nil) != isServed {
			t.Errorf("budget %d: bands are %v, expected %v", budget, s != nil, isServed)
		}
	}
}

// TestSlowChunks: a reader that waits for a band, however long, keeps it.
func TestSlowChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, []int64{8, 1024, 1024}, []int64{8, 256, 256})
		f.took = 7 * time.Second
		s := newTestSet(t, f, 256<<20, 0)
		if err := readAll(s, f, 1<<20); err != nil {
			t.Fatal(err)
		}
		if n := f.decoded.Load(); n != f.grid.Chunks() {
			t.Errorf("%d chunks were decoded, want %d", n, f.grid.Chunks())
		}
		time.Sleep(time.Minute) // until the sweeper has ended
	})
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

// waitForMemory returns once the workers have let go of all memory, which they
// do without being waited for.
func waitForMemory(t *testing.T, p *Pool) {
	t.Helper()
	deadline := time.Now().Add(idleAfter / 2)
	for now, _ := p.Memory.Used(); now != 0 || p.Scratch.Used() != 0; now, _ = p.Memory.Used() {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes of memory and %d of scratch in use after the reader has gone", now,
				p.Scratch.Used())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestMemoryIsReusedAndFreed(t *testing.T) {
	f := newFake(t, []int64{20, 1 << 20}, []int64{1, 1 << 20})
	s := newTestSet(t, f, 64<<20, 0)
	if err := readAll(s, f, 1<<20); err != nil {
		t.Fatal(err)
	}
	waitForMemory(t, s.pool)
	if _, peak := s.pool.Memory.Used(); peak > 9<<20 {
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

// TestFailureIsNotRepeated: a reader that goes through a bad band chunk by chunk
// must not have it decoded again with each read.
func TestFailureIsNotRepeated(t *testing.T) {
	f := newFake(t, []int64{6, 1 << 20}, []int64{1, 1 << 20})
	f.bad[3] = true
	s := newTestSet(t, f, 64<<20, 0)
	c := s.Cursor()
	for off := int64(0); off < f.grid.Size(); off += 4096 {
		_ = checkRead(c, f, off, 4096) // the error is TestBadChunkFailsItsBandOnly's concern
	}
	if got := f.decoded.Load(); got != f.grid.Chunks() {
		t.Errorf("%d chunks decoded, expected each of %d once", got, f.grid.Chunks())
	}
	c.Close()
	waitForMemory(t, s.pool)
}

// TestCloseWhileReading: cursors that close while their reads are in flight or
// not released, and sets that close under their readers, leave no memory behind.
func TestCloseWhileReading(t *testing.T) {
	for _, mode := range []string{"cursor", "set", "cursor, then set"} {
		t.Run(mode, func(t *testing.T) {
			f := newFake(t, []int64{20, 1 << 20}, []int64{1, 1 << 20})
			f.gate = make(chan struct{})
			s := newTestSet(t, f, 64<<20, 0)
			c := s.Cursor()
			read := make(chan *Lease)
			go func() {
				l, err := c.Read(context.Background(), 0, 1<<20)
				if err != nil {
					t.Error(err)
				}
				read <- l
			}()
			f.gate <- struct{}{} // a worker is inside
			if mode != "set" {
				c.Close()
			}
			if mode != "cursor" {
				s.Close()
			}
			close(f.gate)
			l := <-read
			if got := bytes.Join(l.Bufs, nil); !bytes.Equal(got, f.want(0, 1<<20)) {
				t.Error("wrong bytes")
			}
			l.Release()
			waitForMemory(t, s.pool)
		})
	}
}

// TestReadOnAfterClose: a handle that outlives its array's generation still
// gets each band once.
func TestReadOnAfterClose(t *testing.T) {
	f := newFake(t, []int64{6, 1 << 20}, []int64{1, 1 << 20})
	s := newTestSet(t, f, 64<<20, 0)
	s.Close()
	if err := readAll(s, f, 1<<16); err != nil {
		t.Fatal(err)
	}
	if got := f.decoded.Load(); got != f.grid.Chunks() {
		t.Errorf("%d chunks decoded, expected each of %d once", got, f.grid.Chunks())
	}
}

// TestArraysShareMemory: bands of several arrays together stay within the
// budget; what is too much goes to scratch, and what is too much there is
// ErrNoRoom.
func TestArraysShareMemory(t *testing.T) {
	const budget, scratch = 20 << 20, 10 << 20
	p := NewPool(chunk.NewMemory(budget), NewScratch(t.TempDir(), scratch), 2, 0,
		slog.New(slog.DiscardHandler))
	refused := 0
	for range 8 {
		f := newFake(t, []int64{2, 8 << 20}, []int64{1, 8 << 20})
		s := NewSet(f.grid, []byte{0}, f, p)
		c := s.Cursor()
		defer c.Close()
		l, err := c.Read(context.Background(), 0, 1000)
		if err == nil {
			defer l.Release()
		} else if refused++; !errors.Is(err, ErrNoRoom) {
			t.Error(err)
		}
	}
	if refused != 8-3 {
		t.Errorf("%d arrays have no room, expected 2 in memory and 1 in scratch of 8", refused)
	}
	if _, peak := p.Memory.Used(); peak > budget {
		t.Errorf("%d bytes of memory were in use, budget %d", peak, budget)
	}
}

func TestScratchFolderUnusable(t *testing.T) {
	f := newFake(t, []int64{4, 4 << 20}, []int64{4, 1 << 20})
	p := NewPool(chunk.NewMemory(5<<20), NewScratch("/nonexistent", 1<<30), 2, 0,
		slog.New(slog.DiscardHandler))
	s := NewSet(f.grid, []byte{0}, f, p)
	c := s.Cursor()
	defer c.Close()
	if _, err := c.Read(context.Background(), 0, 10); !errors.Is(err, ErrNoRoom) {
		t.Errorf("got %v, want ErrNoRoom", err)
	}
}

// TestBandPlans: how arrays are cut into bands, the monstrous ones included.
func TestBandPlans(t *testing.T) {
	const none = -1
	tests := []struct {
		name         string
		shape, chunk []int64
		size, count  int64 // bytes of a band, bands
		scratch      bool
	}{
		{"small", []int64{1 << 20}, []int64{1 << 10}, none, 0, false},
		{"small chunks are grouped", []int64{1 << 30}, []int64{1 << 10}, 1 << 20, 1 << 10, false},
		{"a slab is a band", []int64{64, 1 << 22}, []int64{4, 1 << 10}, 16 << 20, 16, false},
		{"slabs beyond memory", []int64{1 << 10, 1 << 24}, []int64{64, 1 << 10}, 1 << 30, 16, true},
		{"slabs beyond scratch", []int64{1 << 10, 1 << 30}, []int64{64, 1 << 10}, none, 0, false},
		{"2^60 bytes, small slabs", []int64{1 << 30, 1 << 30}, []int64{1, 1 << 10}, 1 << 20,
			1 << 40, false},
		{"2^60 bytes, large slabs", []int64{1 << 30, 1 << 30}, []int64{2, 1 << 10}, 2 << 30,
			1 << 29, true},
		{"2^60 bytes, one slab", []int64{1 << 30, 1 << 30}, []int64{1 << 30, 1}, none, 0, false},
		{"2^62 bytes, one slab", []int64{1 << 31, 1 << 31}, []int64{1 << 31, 1}, none, 0, false},
		{"2^63-1 chunks", []int64{1<<63 - 1}, []int64{1}, 1 << 20, 1 << 43, false},
		{"one chunk of 2^62", []int64{1 << 62}, []int64{1 << 62}, none, 0, false},
		{"chunks beyond memory", []int64{16, 1 << 25}, []int64{10, 1 << 25}, 320 << 20, 2, true},
		{"the same, two in a slab", []int64{1 << 13, 1 << 18}, []int64{1 << 12, 1 << 17}, 1 << 30,
			2, true},
		{"chunks beyond memory and scratch", []int64{16, 1 << 28}, []int64{8, 1 << 28}, none, 0,
			false},
	}
	p := NewPool(chunk.NewMemory(256<<20), NewScratch("", 4<<30), 2, 0,
		slog.New(slog.DiscardHandler))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, ok := newPlan(newFake(t, tt.shape, tt.chunk).grid, p)
			if !ok {
				pl = plan{size: none}
			}
			if pl.size != tt.size || pl.count != tt.count || pl.scratch != tt.scratch && ok {
				t.Errorf("bands of %d bytes, %d of them, scratch %v; want %d, %d, %v",
					pl.size, pl.count, pl.scratch, tt.size, tt.count, tt.scratch)
			}
		})
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

// TestBandsAhead holds how many bands are prepared ahead, and that there are fewer of them before
// they go to scratch files.
func TestBandsAhead(t *testing.T) {
	for _, tt := range []struct {
		name         string
		shape, chunk []int64
		budget       int64
		ahead        int64
		scratch      bool
	}{
		{"a chunk each", []int64{100, 1 << 20}, []int64{1, 1 << 20}, 64 << 20, 5, false},
		{"a chunk each, little memory", []int64{100, 1 << 20}, []int64{1, 1 << 20}, 3 << 20, 2,
			false},
		{"a chunk each, memory for one band", []int64{100, 1 << 20}, []int64{1, 1 << 20}, 1 << 20,
			5, true},
		{"many chunks", []int64{100, 1 << 20}, []int64{1, 1 << 16}, 64 << 20, 2, false},
		{"large", []int64{8, 16 << 20}, []int64{2, 1 << 20}, 64 << 20, 1, false},
		{"large, little memory", []int64{8, 16 << 20}, []int64{2, 1 << 20}, 63 << 20, 1, true},
		{"there is one band only", []int64{1, 4 << 20}, []int64{1, 4 << 20}, 4 << 20, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestSet(t, newFake(t, tt.shape, tt.chunk), tt.budget, 1<<30)
			if s.ahead != tt.ahead || s.scratch != tt.scratch {
				t.Errorf("%d bands ahead, scratch %t, want %d, %t", s.ahead, s.scratch, tt.ahead,
					tt.scratch)
			}
		})
	}
}
