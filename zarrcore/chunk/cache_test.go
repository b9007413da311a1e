package chunk

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/zarrfs/zarrfs/zarrcore/mapped"
)

// shelf is a Backing of 64 chunks of size bytes, whose content depends on the
// chunk and on its version. It decodes in blocks of 100 bytes.
type shelf struct {
	size     int64
	versions [64]atomic.Int64 // 0: not stored
	loads    atomic.Int64
	loading  [64]atomic.Int32 // loads in flight: single flight keeps it at 1
	fail     atomic.Bool
	t        *testing.T
}

var errShelf = errors.New("shelf is broken")

func content(chunk, version, i int64) byte { return byte(chunk*31 + version*7 + i) }

func (s *shelf) Load(_ context.Context, id ID, need Need) (Loaded, error) {
	if s.loading[id.Chunk].Add(1) != 1 {
		s.t.Errorf("chunk %d is loaded twice at once", id.Chunk)
	}
	defer s.loading[id.Chunk].Add(-1)
	s.loads.Add(1)
	if s.fail.Load() {
		return Loaded{}, errShelf
	}
	v := s.versions[id.Chunk].Load()
	if v == 0 {
		return Loaded{Fill: true}, nil
	}
	version := strconv.FormatInt(v, 10)
	if need.Version != "" && need.Version != version {
		return Loaded{Version: version}, nil
	}
	lo, hi := need.Off/100*100, min((need.Off+need.N+99)/100*100, s.size)
	if need.N > s.size/2 {
		lo, hi = 0, s.size
	}
	dst, err := need.Buffer(lo, hi)
	if err != nil {
		return Loaded{}, err
	}
	for i := lo; i < hi; i++ {
		dst[i-lo] = content(id.Chunk, v, i)
	}
	return Loaded{Version: version}, nil
}

func (s *shelf) IsCurrent(_ context.Context, id ID, version string) bool {
	v := s.versions[id.Chunk].Load()
	return version == "" && v == 0 || version == strconv.FormatInt(v, 10)
}

func newShelf(t *testing.T, size int64) *shelf {
	s := &shelf{size: size, t: t}
	for i := range s.versions {
		s.versions[i].Store(int64(i % 5)) // every fifth is missing
	}
	return s
}

// get reads bytes [off, off+n) and checks them against the shelf.
func get(t *testing.T, c *Cache, s *shelf, chunk, off, n int64, epoch uint64) {
	p, err := c.Get(context.Background(), ID{1, chunk}, s.size, off, n, epoch, s)
	if err != nil {
		t.Errorf("chunk %d: %v", chunk, err)
		return
	}
	defer p.Release()
	v := s.versions[chunk].Load()
	if p.IsFill() != (v == 0) {
		t.Errorf("chunk %d: fill is %v, version %d", chunk, p.IsFill(), v)
		return
	}
	if v == 0 {
		return
	}
	found := bytes.Join(p.Slices(nil, off, n), nil)
	if int64(len(found)) != n {
		t.Errorf("chunk %d: %d bytes, expected %d", chunk, len(found), n)
	}
	for i, got := range found {
		if want := content(chunk, v, off+int64(i)); got != want {
			t.Errorf("chunk %d byte %d: got %#x, want %#x", chunk, off+int64(i), got, want)
			return
		}
	}
}

func TestHistories(t *testing.T) {
	s := newShelf(t, 1000)
	mem := NewMemory(20_000 * 8) // the entries alone are allowed an eighth
	c := NewCache(mem)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				off := rand.Int64N(1000)
				get(t, c, s, rand.Int64N(64), off, 1+rand.Int64N(1000-off), 0)
			}
		})
	}
	wg.Wait()
	if now, _ := mem.Used(); now > mem.Budget() {
		t.Errorf("%d bytes in use, budget %d", now, mem.Budget())
	}
}

func TestLoadsOnlyGaps(t *testing.T) {
	s := newShelf(t, 1000)
	c := NewCache(NewMemory(1 << 20))
	steps := []struct {
		off, n, loads int64
	}{
		{150, 10, 1}, // block 1
		{100, 100, 0},
		{350, 100, 1}, // blocks 3 and 4
		{0, 1000, 3},  // the gaps before, between and behind
		{0, 1000, 0},
	}
	for _, st := range steps {
		before := s.loads.Load()
		get(t, c, s, 1, st.off, st.n, 0)
		if got := s.loads.Load() - before; got != st.loads {
			t.Errorf("bytes %d+%d: %d loads, expected %d", st.off, st.n, got, st.loads)
		}
	}
}

func TestEpoch(t *testing.T) {
	s := newShelf(t, 1000)
	c := NewCache(NewMemory(1 << 20))
	get(t, c, s, 1, 0, 10, 1)
	get(t, c, s, 5, 0, 10, 1) // missing
	s.versions[1].Store(9)
	s.versions[5].Store(9)
	get(t, c, s, 1, 0, 1000, 2) // replaced
	get(t, c, s, 5, 0, 1000, 2) // created
	s.versions[1].Store(0)
	get(t, c, s, 1, 0, 1000, 3) // deleted
	before := s.loads.Load()
	get(t, c, s, 5, 0, 1000, 3) // unchanged: checked, not loaded
	if s.loads.Load() != before {
		t.Error("an unchanged chunk was loaded again")
	}
}

func TestReplacedBetweenParts(t *testing.T) {
	s := newShelf(t, 1000)
	c := NewCache(NewMemory(1 << 20))
	get(t, c, s, 1, 0, 10, 0)
	s.versions[1].Store(7)
	get(t, c, s, 1, 500, 10, 0)
	get(t, c, s, 1, 0, 10, 0) // the part of the old version is gone
}

func TestErrorsAreNotKept(t *testing.T) {
	s := newShelf(t, 1000)
	mem := NewMemory(1 << 20)
	c := NewCache(mem)
	s.fail.Store(true)
	if _, err := c.Get(context.Background(), ID{1, 1}, 1000, 0, 10, 0, s); !errors.Is(err,
		errShelf) {
		t.Fatalf("got %v", err)
	}
	if now, _ := mem.Used(); now != 0 || c.Stats().Chunks != 0 {
		t.Errorf("%d bytes and %d chunks left after an error", now, c.Stats().Chunks)
	}
	s.fail.Store(false)
	get(t, c, s, 1, 0, 10, 0)
}

func TestScanDoesNotDisplaceWhatIsUsed(t *testing.T) {
	s := newShelf(t, 1000)
	for i := range s.versions {
		s.versions[i].Store(1)
	}
	c := NewCache(NewMemory(10_000 * 8))
	for range 2 {
		for chunk := range int64(8) {
			get(t, c, s, chunk, 0, 1000, 0)
		}
	}
	for chunk := int64(8); chunk < 64; chunk++ {
		get(t, c, s, chunk, 0, 1000, 0)
	}
	before := s.loads.Load()
	for chunk := range int64(8) {
		get(t, c, s, chunk, 0, 1000, 0)
	}
	if got := s.loads.Load() - before; got != 0 {
		t.Errorf("%d of the chunks in use were displaced by a scan", got)
	}
}

func TestPinnedBytesSurviveEverything(t *testing.T) {
	s := newShelf(t, 1000)
	c := NewCache(NewMemory(3000))
	p, err := c.Get(context.Background(), ID{1, 1}, 1000, 0, 1000, 0, s)
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Join(p.Slices(nil, 0, 1000), nil)
	for chunk := range int64(64) {
		get(t, c, s, chunk, 0, 1000, 0)
	}
	c.Drop(1)
	for chunk := range int64(64) {
		get(t, c, s, chunk, 0, 1000, 0)
	}
	if !bytes.Equal(kept, bytes.Join(p.Slices(nil, 0, 1000), nil)) {
		t.Error("pinned bytes have changed")
	}
	p.Release()
}

func TestMemoryRecycles(t *testing.T) {
	m := NewMemory(1 << 20)
	b := m.Get(5000)
	b[0] = 42
	m.Put(b)
	if again := m.Get(5000); &again[0] != &b[0] {
		t.Error("a buffer of the same size is not recycled")
	}
	if m.Put(m.Get(100)); m.idle > m.budget {
		t.Errorf("%d idle bytes", m.idle)
	}
}

// TestLetGoIsCollected: buffers of ever other sizes, of which none can be used again, do not pile
// up until the collector begins by itself. Large ones are not of its heap.
func TestLetGoIsCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it never does
	const budget, all = 16 << 20, 100 << 20
	for _, size := range []int64{64 << 10, 1 << 20} {
		m := NewMemory(budget)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range all / size {
			b := m.Get(size + 16*i)
			b[size-1] = 1
			m.Put(b)
		}
		runtime.ReadMemStats(&after)
		grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		if grown+m.mapped > budget+16<<20 {
			t.Errorf("of %d bytes each, %d MiB of the heap are not collected, and %d MiB are "+
				"mapped, expected at most 32", size, grown>>20, m.mapped>>20)
		}
		m.Close()
		if m.idle != 0 || m.mapped != 0 {
			t.Errorf("after the end %d bytes are kept, and %d are mapped", m.idle, m.mapped)
		}
	}
}

// TestOnHeap: what is mapped is not of the heap, and what is not there yet is taken to be like what
// is.
func TestOnHeap(t *testing.T) {
	m := NewMemory(10 << 20)
	small, large := m.Get(64<<10), m.Get(3*(64<<10))
	if now, full := m.OnHeap(); now != 64<<10 || full != 10<<20/4 {
		t.Errorf("%d bytes, and %d once it is full, expected a quarter", now, full)
	}
	m.Put(small)
	m.Put(large)
	m.Close()
	if now, full := m.OnHeap(); now != 0 || full != 0 {
		t.Errorf("after the end %d bytes, and %d once it is full", now, full)
	}
}

// TestCacheCloses: a cache that is closed holds what is pinned alone.
func TestCacheCloses(t *testing.T) {
	const size = 256 << 10
	s := newShelf(t, size)
	mem := NewMemory(1 << 20)
	c := NewCache(mem)
	get(t, c, s, 1, 0, size, 0)
	p, err := c.Get(context.Background(), ID{1, 2}, size, 0, size, 0, s)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if mem.mapped != size {
		t.Errorf("%d bytes are mapped, expected the %d that are pinned", mem.mapped, size)
	}
	p.Release()
	c.Close()
	if mem.mapped != 0 {
		t.Errorf("%d bytes are mapped, and nothing is pinned", mem.mapped)
	}
}

// TestMissingTakesNoMemory: a missing chunk of a petabyte takes no memory. A stored chunk of that
// size is ErrTooLarge.
func TestMissingTakesNoMemory(t *testing.T) {
	s := newShelf(t, 1<<50)
	mem := NewMemory(1 << 20)
	c := NewCache(mem)
	get(t, c, s, 5, 1<<49, 10, 0)
	if _, err := c.Get(context.Background(), ID{1, 6}, s.size, 0, s.size, 0, s); !errors.Is(err,
		ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if now, peak := mem.Used(); now != 0 || peak != 0 {
		t.Errorf("%d bytes in use, %d at most; expected none", now, peak)
	}
}

// TestReplacedWhilePinned: the parts of a replaced object do not get into the
// bytes that somebody still reads.
func TestReplacedWhilePinned(t *testing.T) {
	s := newShelf(t, 1000)
	c := NewCache(NewMemory(1 << 20))
	p, err := c.Get(context.Background(), ID{1, 1}, 1000, 0, 10, 0, s)
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.Join(p.Slices(nil, 0, 1000), nil)
	s.versions[1].Store(7)
	get(t, c, s, 1, 50, 900, 0) // begins in a valid block, and needs more
	if !bytes.Equal(bytes.Join(p.Slices(nil, 0, 1000), nil), old) {
		t.Error("pinned bytes have changed")
	}
	p.Release()
	get(t, c, s, 1, 0, 10, 0)
}

// TestBudgetHoldsAfterPins: chunks that exceeded the budget while they were
// pinned go with their pins.
func TestBudgetHoldsAfterPins(t *testing.T) {
	s := newShelf(t, 1000)
	mem := NewMemory(3000)
	c := NewCache(mem)
	var pins []Pin
	for _, chunk := range []int64{1, 2, 3, 4, 6, 7} {
		p, err := c.Get(context.Background(), ID{1, chunk}, s.size, 0, 1000, 0, s)
		if err != nil {
			t.Fatal(err)
		}
		pins = append(pins, p)
	}
	for _, p := range pins {
		p.Release()
	}
	if now, _ := mem.Used(); now > mem.Budget() {
		t.Errorf("%d bytes in use, budget %d", now, mem.Budget())
	}
}

// TestFullCacheRecycles: a full cache decodes into the buffers of the chunks that go. All buffers
// are kept here, so that none can be made at the place of another.
func TestFullCacheRecycles(t *testing.T) {
	mem := NewMemory(320_000)
	c := NewCache(mem)
	made := map[*byte][]byte{}
	large, small := newShelf(t, 20_000), newShelf(t, 2000)
	for round := range int64(10) {
		for chunk := range int64(64) {
			s, array := large, uint64(1)
			if (round+chunk)%3 == 0 {
				s, array = small, 2
			}
			p, err := c.Get(context.Background(), ID{array, chunk}, s.size, 0, s.size, 0, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range p.Slices(nil, 0, s.size) {
				made[&b[0]] = b
			}
			p.Release()
		}
	}
	var sum int64
	for _, b := range made {
		sum += int64(cap(b))
	}
	if sum > 2*mem.Budget() {
		t.Errorf("%d bytes of buffers were made for a cache of %d", sum, mem.Budget())
	}
}

// TestEachReclaimsItsOwn: callers that need room at one time are asked for what they need, not for
// what all do.
func TestEachReclaimsItsOwn(t *testing.T) {
	const callers = 4
	mem := NewMemory(100)
	mem.Reserve(100)
	var come, asked sync.WaitGroup
	come.Add(callers)
	asked.Add(callers)
	mem.reclaim = func(n int64) {
		come.Done()
		come.Wait()
		if over := mem.over(n); over != n {
			t.Errorf("a caller that needs %d bytes is to free %d", n, over)
		}
		if over := mem.over(0); over != 0 {
			t.Errorf("a caller that needs nothing is to free %d", over)
		}
		asked.Done()
		asked.Wait()
	}
	var done sync.WaitGroup
	for range callers {
		done.Go(func() { mem.Reserve(10) })
	}
	done.Wait()
	if over := mem.over(0); over != 10*callers {
		t.Errorf("the budget is exceeded by %d, want %d", over, 10*callers)
	}
}

// A slowShelf loads when it is told to.
type slowShelf struct {
	*shelf
	let chan struct{}
}

func (s slowShelf) Load(ctx context.Context, id ID, need Need) (Loaded, error) {
	<-s.let
	return s.shelf.Load(ctx, id, need)
}

// TestLoadBeforeUse: a chunk was loaded for a use. That use does not count as the second one, also
// if it waits for the load. A use that has to load the chunk itself is as any other.
func TestLoadBeforeUse(t *testing.T) {
	for _, c := range []struct {
		name string
		fail bool
	}{{"waits for the load", false}, {"the load fails", true}} {
		synctest.Test(t, func(t *testing.T) {
			s := slowShelf{newShelf(t, 1000), make(chan struct{})}
			s.fail.Store(c.fail)
			cache := NewCache(NewMemory(1 << 20))
			go cache.Load(t.Context(), ID{1, 1}, s.size, 0, s)
			synctest.Wait()
			used := make(chan error)
			use := func() {
				p, err := cache.Get(t.Context(), ID{1, 1}, s.size, 0, s.size, 0, s)
				if err == nil {
					p.Release()
				}
				used <- err
			}
			go use()
			synctest.Wait()
			s.let <- struct{}{}
			if c.fail {
				synctest.Wait()
				s.fail.Store(false)
				s.let <- struct{}{}
			}
			for i := range 2 {
				if i > 0 {
					go use()
				}
				if err := <-used; err != nil {
					t.Fatal(err)
				}
				if hot := cache.entries[ID{1, 1}].hot; hot != (i > 0) {
					t.Errorf("%s: after use %d, protected is %v", c.name, i+1, hot)
				}
			}
		})
	}
}

// TestLoadIsNotKept: a chunk whose array is forgotten while it is loaded is not kept, nor its
// memory. Nothing is loaded for later uses of a cache that was closed.
func TestLoadIsNotKept(t *testing.T) {
	for name, forget := range map[string]func(*Cache){
		"closed": (*Cache).Close, "dropped": func(c *Cache) { c.Drop(1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := slowShelf{newShelf(t, mapped.Least), make(chan struct{})}
			mem := NewMemory(1 << 20)
			c := NewCache(mem)
			go c.Load(t.Context(), ID{1, 1}, s.size, 0, s)
			synctest.Wait()
			forget(c)
			close(s.let)
			synctest.Wait()
			if used, _ := mem.Used(); used != 0 || c.Stats().Chunks != 0 {
				t.Errorf("%s: %d bytes are used, %d chunks", name, used, c.Stats().Chunks)
			}
			c.Close()
			if mem.idle != 0 || len(mem.gone) != 0 || mem.mapped != 0 {
				t.Errorf("%s: %d bytes are kept", name, mem.idle+mem.mapped)
			}
			if err := c.Load(t.Context(), ID{1, 2}, s.size, 0, s); err != nil {
				t.Error(err)
			}
			if n := s.loads.Load(); n != 1 {
				t.Errorf("%s: %d loads, expected 1", name, n)
			}
		})
	}
}
