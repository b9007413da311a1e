package chunk

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

// folder is a Scratch that notes what is lent.
type folder struct {
	mu         sync.Mutex
	used, most int64
	full       bool
}

func (f *folder) Map(n int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		return nil, errors.New("the folder is full")
	}
	f.used += n
	f.most = max(f.most, f.used)
	return make([]byte, n), nil
}

func (f *folder) Unmap(buf []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= int64(cap(buf))
	clear(buf) // a reader that still has it finds wrong bytes
	return nil
}

// inFiles returns a cache of 3,000 bytes that keeps so many chunks of 10,000 bytes in files.
func inFiles(t *testing.T, chunks int64) (*Cache, *shelf, *folder) {
	s, f := newShelf(t, 10_000), &folder{}
	c := NewCache(NewMemory(3000))
	c.KeepLarge(f, chunks*s.size+s.size/2)
	return c, s, f
}

// loaded returns how many loads use makes.
func loaded(s *shelf, use func()) int64 {
	before := s.loads.Load()
	use()
	return s.loads.Load() - before
}

// TestLargeChunksAreKept: chunks larger than the budget are kept in files. If there is no room for
// all, the most recently used ones stay. No such chunk takes memory.
func TestLargeChunksAreKept(t *testing.T) {
	c, s, f := inFiles(t, 2)
	for _, step := range []struct{ chunk, loads int64 }{
		{1, 1}, {1, 0}, // one is there
		{2, 1}, {1, 0}, // both are
		{3, 1}, {1, 0}, // the third one has taken the place of the second
		{2, 1}, {3, 1}, // in turn
		{0, 1}, {2, 0}, {3, 0}, // one that is not stored takes no room
	} {
		got := loaded(s, func() { get(t, c, s, step.chunk, 0, s.size, 0) })
		if got != step.loads {
			t.Errorf("chunk %d: %d loads, expected %d", step.chunk, got, step.loads)
		}
	}
	if _, peak := c.mem.Used(); peak != 0 {
		t.Errorf("%d bytes of memory were in use", peak)
	}
	c.Close()
	if f.used != 0 || f.most > 3*s.size {
		t.Errorf("%d bytes of scratch are left, %d were in use at once", f.used, f.most)
	}
}

// TestLargeChunkIsReadByMany: all who read a large chunk at one time share one load, and it stays
// while they do, though another one takes its room.
func TestLargeChunkIsReadByMany(t *testing.T) {
	c, s, f := inFiles(t, 1)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() { get(t, c, s, 1, 0, s.size, 0) })
	}
	readers.Wait()
	if n := s.loads.Load(); n != 1 {
		t.Errorf("%d loads, expected one for all", n)
	}
	p, err := c.Get(context.Background(), ID{1, 1}, s.size, 0, s.size, 0, s)
	if err != nil {
		t.Fatal(err)
	}
	get(t, c, s, 2, 0, s.size, 0)
	if got := p.Slices(nil, 0, s.size)[0]; got[5] != content(1, 1, 5) {
		t.Error("pinned bytes have changed")
	}
	p.Release()
	c.Close()
	if f.used != 0 {
		t.Errorf("%d bytes of scratch are left", f.used)
	}
}

// TestLargeChunkInParts: parts in memory of a chunk that is in a file, too, are within the budget.
func TestLargeChunkInParts(t *testing.T) {
	c, s, f := inFiles(t, 1)
	for off := int64(0); off < 3000; off += 200 {
		get(t, c, s, 1, off, 50, 0)
	}
	get(t, c, s, 1, 0, s.size, 0)
	for off := int64(0); off < 3000; off += 200 {
		get(t, c, s, 2, off, 50, 0)
	}
	if now, _ := c.mem.Used(); now > c.mem.Budget() {
		t.Errorf("%d bytes in use, budget %d", now, c.mem.Budget())
	}
	c.Close()
	if now, _ := c.mem.Used(); now != 0 || f.used != 0 {
		t.Errorf("%d bytes of memory and %d of scratch are left", now, f.used)
	}
}

// TestLargeChunksWithoutFiles: where scratch has no room for a large chunk, it is in memory while
// it is read.
func TestLargeChunksWithoutFiles(t *testing.T) {
	for name, full := range map[string]bool{"full": true, "small": false} {
		t.Run(name, func(t *testing.T) {
			c, s, f := inFiles(t, 1)
			if f.full = full; !full {
				c.KeepLarge(f, s.size-1)
			}
			for range 2 {
				if n := loaded(s, func() { get(t, c, s, 1, 0, s.size, 0) }); n != 1 {
					t.Errorf("%d loads, expected one", n)
				}
			}
			if now, _ := c.mem.Used(); now > c.mem.Budget() || f.most > 0 {
				t.Errorf("%d bytes in use, %d of scratch; budget %d", now, f.most, c.mem.Budget())
			}
		})
	}
}

// TestLargeHistories: chunks of two sizes, one of them larger than the budget, are read at random
// while they are forgotten.
func TestLargeHistories(t *testing.T) {
	c, large, f := inFiles(t, 3)
	small := newShelf(t, 1000)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2000 {
				s, id := large, ID{1, rand.Int64N(8)}
				if rand.IntN(2) == 0 {
					s, id.Array = small, 2
				}
				off := rand.Int64N(s.size)
				n := 1 + rand.Int64N(s.size-off)
				if rand.IntN(20) == 0 {
					c.Drop(id.Array)
				}
				p, err := c.Get(context.Background(), id, s.size, off, n, 0, s)
				if err != nil {
					t.Error(err)
					return
				}
				for _, b := range p.Slices(nil, off, n) {
					if b[0] != content(id.Chunk, s.versions[id.Chunk].Load(), off) && !p.IsFill() {
						t.Errorf("chunk %v, byte %d: wrong", id, off)
					}
					off += int64(len(b))
				}
				p.Release()
			}
		})
	}
	all.Wait()
	if now, _ := c.mem.Used(); now > c.mem.Budget() || c.filed > c.room {
		t.Errorf("%d bytes in use, budget %d; %d of scratch, room for %d", now, c.mem.Budget(),
			c.filed, c.room)
	}
	c.Close()
	if f.used != 0 {
		t.Errorf("%d bytes of scratch are left", f.used)
	}
}
