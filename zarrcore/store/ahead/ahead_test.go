package ahead_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/ahead"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestConformance: fetching ahead changes nothing of what a store is, with all abilities below and
// with none.
func TestConformance(t *testing.T) {
	for name, o := range map[string]storetest.LinkOptions{"Able": {}, "Plain": {Plain: true}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				near := memstore.New()
				storetest.Fill(t, near, objects)
				_, d := storetest.Behind(near, o)
				a := ahead.New(d, ahead.Options{Budget: 64 << 20})
				t.Cleanup(a.Stop)
				return a
			})
		})
	}
}

// counted counts memory.
type counted struct{ taken, most atomic.Int64 }

func (c *counted) Reserve(n int64)   { c.most.Store(max(c.most.Load(), c.taken.Add(n))) }
func (c *counted) Unreserve(n int64) { c.taken.Add(-n) }
func (c *counted) used() int64       { return c.taken.Load() }

// behind runs f in a bubble, with objects of size bytes behind a link.
func behind(
	t *testing.T, objects, size int, o storetest.LinkOptions, budget int64,
	f func(t *testing.T, st *store.Store, link *storetest.Link, mem *counted),
) {
	synctest.Test(t, func(t *testing.T) {
		near := memstore.New()
		for i := range objects {
			storetest.Fill(t, near, map[string][]byte{fmt.Sprintf("a/%d",
				i): bytes.Repeat([]byte{byte(i)}, size)})
		}
		link, d := storetest.Behind(near, o)
		mem := &counted{}
		a := ahead.New(d, ahead.Options{Budget: budget, Memory: mem})
		f(t, store.New(a, ""), link, mem)
		a.Stop()
		synctest.Wait()
		if mem.used() != 0 {
			t.Errorf("%d bytes are taken at the end", mem.used())
		}
	})
}

const delay = 50 * time.Millisecond

// wholes are hints of whole objects.
func wholes(from, to int) (hints []store.Hint) {
	for i := from; i < to; i++ {
		hints = append(hints, store.Hint{Key: fmt.Sprintf("a/%d", i),
			Want: store.Want{N: store.All}})
	}
	return hints
}

// read opens and reads the object of a hint.
func read(t *testing.T, st *store.Store, h store.Hint, want byte) {
	t.Helper()
	o, err := st.OpenFor(t.Context(), h.Key, h.Want)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	lo, hi := h.Want.Range(o.Size())
	p := make([]byte, hi-lo)
	if n, err := o.ReadAt(p, lo); n < len(p) || !bytes.Equal(p, bytes.Repeat([]byte{want}, n)) {
		t.Fatalf("%s: %d bytes, %v, or wrong ones", h.Key, n, err)
	}
}

// TestOnce: what was hinted at is asked for once, all at the same time, and what was not fetched is
// asked for when it is opened.
func TestOnce(t *testing.T) {
	behind(t, 20, 1000, storetest.LinkOptions{Delay: delay}, 64<<20, func(t *testing.T,
		st *store.Store, link *storetest.Link, mem *counted) {
		began := time.Now()
		if taken := st.Ahead().Fetch(append(wholes(0, 10), wholes(0, 10)...)); taken != 20 {
			t.Errorf("%d hints were taken, want all", taken)
		}
		for i, h := range wholes(0, 10) {
			read(t, st, h, byte(i))
		}
		if took := time.Since(began); took != delay {
			t.Errorf("ten objects take %v, want one round trip", took)
		}
		read(t, st, wholes(3, 4)[0], 3) // it was given away
		if c := link.Take(); c.Requests != 11 || c.Flying != 10 {
			t.Errorf("%+v, want 11 requests, 10 at once", c)
		}
	})
}

// TestSeveralOpens: what a hint says is opened several times is asked for once, and then not kept.
func TestSeveralOpens(t *testing.T) {
	behind(t, 1, 1000, storetest.LinkOptions{Delay: delay}, 64<<20, func(t *testing.T,
		st *store.Store, link *storetest.Link, mem *counted) {
		h := wholes(0, 1)[0]
		h.Opens = 3
		st.Ahead().Fetch([]store.Hint{h})
		for range 3 {
			read(t, st, h, 0)
		}
		if c := link.Take(); c.Requests != 1 || mem.used() != 0 {
			t.Errorf("%+v, and %d bytes are kept; want 1 request, and none", c, mem.used())
		}
		read(t, st, h, 0)
		if c := link.Take(); c.Requests != 1 {
			t.Errorf("%+v for a fourth opening, want 1 request", c)
		}
	})
}

// TestBudget: what is under way and what waits fits the budget. Hints beyond it are refused until
// something is opened.
func TestBudget(t *testing.T) {
	const size, budget = 1 << 20, 4 << 20
	behind(t, 20, size, storetest.LinkOptions{Delay: delay}, budget, func(t *testing.T,
		st *store.Store, link *storetest.Link, mem *counted) {
		next := st.Ahead().Fetch(wholes(0, 20))
		for i, h := range wholes(0, 20) {
			if next <= i {
				t.Fatalf("object %d was not taken, though all before it were opened", i)
			}
			read(t, st, h, byte(i))
			next += st.Ahead().Fetch(wholes(next, 20))
		}
		if most := int64(budget + 16*size); mem.most.Load() > most { // sizes are guessed at first
			t.Errorf("%d bytes were taken, want at most %d", mem.most.Load(), most)
		}
		if c := link.Take(); c.Requests != 20 {
			t.Errorf("%d requests for 20 objects", c.Requests)
		}
	})
}

// TestJoined: stretches of one version of one object that follow each other are one request.
func TestJoined(t *testing.T) {
	behind(t, 1, 100_000, storetest.LinkOptions{Delay: delay}, 64<<20, func(t *testing.T,
		st *store.Store, link *storetest.Link, mem *counted) {
		info, err := st.Stat(t.Context(), "a/0")
		if err != nil {
			t.Fatal(err)
		}
		var hints []store.Hint
		for _, i := range []int64{3, 1, 2, 0, 7, 5} {
			hints = append(hints, store.Hint{Key: "a/0", Want: store.Want{Off: i * 1000, N: 1000,
				Version: info.Version}})
		}
		link.Take()
		st.Ahead().Fetch(hints)
		for _, h := range hints {
			read(t, st, h, 0)
		}
		if c := link.Take(); c.Requests != 3 || c.Bytes != 6000 {
			t.Errorf("%+v, want 3 requests of 6000 bytes in all", c)
		}
	})
}

// TestForgotten: what nobody opens is given back after a time, and at once if it may have changed.
func TestForgotten(t *testing.T) {
	behind(t, 4, 1000, storetest.LinkOptions{Delay: delay}, 64<<20, func(t *testing.T,
		st *store.Store, link *storetest.Link, mem *counted) {
		st.Ahead().Fetch(wholes(0, 4))
		time.Sleep(time.Second)
		if mem.used() != 4000 {
			t.Errorf("%d bytes wait, want 4000", mem.used())
		}
		st.Ahead().Forget("a")
		if mem.used() != 0 {
			t.Errorf("%d bytes wait after they were dropped", mem.used())
		}
		st.Ahead().Fetch(wholes(0, 4))
		time.Sleep(time.Minute)
		if mem.used() != 0 {
			t.Errorf("%d bytes wait after a minute", mem.used())
		}
	})
}

// TestFailed: an object that is missing is so for its opener, and what failed for a hint is tried
// again. A caller that gives up does not wait.
func TestFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near := memstore.New()
		storetest.Fill(t, near, map[string][]byte{"a/1": {1}})
		link, d := storetest.Behind(near, storetest.LinkOptions{Delay: delay})
		broken := storetest.Faulty(d, storetest.OnNth(2, storetest.OpOpen, errors.New("broken")))
		a := ahead.New(broken, ahead.Options{Budget: 64 << 20})
		defer a.Stop()
		st := store.New(a, "")
		st.Ahead().Fetch(wholes(0, 1))
		synctest.Wait()
		if _, err := st.OpenFor(t.Context(), "a/0", store.Want{N: store.All}); !errors.Is(err,
			fs.ErrNotExist) {
			t.Errorf("a missing object: %v", err)
		}
		st.Ahead().Fetch(wholes(1, 2))
		read(t, st, wholes(1, 2)[0], 1)
		link.Take()
		st.Ahead().Fetch(wholes(1, 2))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := st.OpenFor(ctx, "a/1", store.Want{N: store.All}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a caller that gives up: %v", err)
		}
		time.Sleep(time.Second)
	})
}

// TestBusyLink: a reader that gives hints in order keeps the link busy, even if the link carries
// much in a round trip.
func TestBusyLink(t *testing.T) {
	const objects, size, rate = 400, 256 << 10, 64 << 20
	behind(t, objects, size, storetest.LinkOptions{Delay: delay, Rate: rate}, 256<<20,
		func(t *testing.T, st *store.Store, link *storetest.Link, mem *counted) {
			began, next := time.Now(), 0
			for i, h := range wholes(0, objects) {
				next += st.Ahead().Fetch(wholes(next, min(objects, next+100)))
				read(t, st, h, byte(i))
			}
			took := time.Since(began)
			least := time.Duration(float64(objects*size) / rate * float64(time.Second))
			if took > least*110/100+10*delay {
				t.Errorf("%v, the link takes %v", took, least)
			}
		})
}

// TestLargeObjects: all of an object that is wanted waits in memory, though only a part came with
// it.
func TestLargeObjects(t *testing.T) {
	o := storetest.LinkOptions{Delay: delay, Most: 1 << 20}
	behind(t, 2, 9<<20, o, 64<<20, func(t *testing.T, st *store.Store, link *storetest.Link,
		_ *counted) {
		st.Ahead().Fetch(wholes(0, 2))
		time.Sleep(time.Second)
		if c := link.Take(); c.Requests != 4 {
			t.Errorf("%+v, want two requests for each object", c)
		}
		for i, h := range wholes(0, 2) {
			read(t, st, h, byte(i))
		}
		if c := link.Take(); c.Requests != 0 {
			t.Errorf("%+v, want no request for what waits", c)
		}
	})
}

// TestHidesNothing: what the driver below can do for readers, the one over it can.
func TestHidesNothing(t *testing.T) {
	var d store.Driver = ahead.New(memstore.New(), ahead.Options{})
	for name, ok := range map[string]bool{
		"Traiter": is[store.Traiter](d), "Opener": is[store.Opener](d),
		"Getter": is[store.Getter](d),
		"Walker": is[store.Walker](d), "Surveyor": is[store.Surveyor](d),
		"Meter":     is[store.Meter](d),
		"Refresher": is[store.Refresher](d), "Prefetcher": is[store.Prefetcher](d),
	} {
		if !ok {
			t.Errorf("it hides that a driver is a store.%s", name)
		}
	}
}

func is[T any](d store.Driver) bool { _, ok := d.(T); return ok }
