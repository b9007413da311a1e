package chunk

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// TestSemaphoreOrder: requests get their bytes in the order in which they asked. One that would fit
// does not overtake a larger one.
func TestSemaphoreOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(10)
		acquire(t, s, 8)
		var mu sync.Mutex
		var order []int64
		for _, n := range []int64{9, 2, 1} {
			go func() {
				acquire(t, s, n)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, n)
			}()
			synctest.Wait()
		}
		expect := func(want ...int64) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(order, want) {
				t.Errorf("served %v, want %v", order, want)
			}
		}
		expect() // 2 would fit
		s.Release(8)
		expect(9) // and 1 would fit
		s.Release(9)
		synctest.Wait()
		slices.Sort(order[1:]) // served at once
		expect(9, 1, 2)
		if s.used != 3 {
			t.Errorf("%d bytes are used, want 3", s.used)
		}
	})
}

// TestSemaphoreLargerThanAll: a request for more than there is waits until it is alone, and keeps
// all others out.
func TestSemaphoreLargerThanAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(10)
		acquire(t, s, 1)
		var large, small bool
		go func() { acquire(t, s, 1000); large = true }()
		synctest.Wait()
		go func() { acquire(t, s, 1); small = true }()
		synctest.Wait()
		if large || small {
			t.Error("served beside another request")
		}
		s.Release(1)
		synctest.Wait()
		if !large || small {
			t.Errorf("served: the large request %v, the small one %v; want only the large one",
				large, small)
		}
		s.Release(1000)
		synctest.Wait()
		if !small || s.used != 1 {
			t.Errorf("served: the small request %v, with %d bytes used; want it, and 1", small,
				s.used)
		}
	})
}

// TestSemaphoreInterrupted: a request whose context ends leaves the queue to those behind it.
func TestSemaphoreInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(10)
		acquire(t, s, 5)
		ctx, interrupt := context.WithCancel(context.Background())
		failed, behind := make(chan error, 1), make(chan bool, 1)
		go func() { failed <- s.Acquire(ctx, 6) }()
		synctest.Wait()
		go func() { acquire(t, s, 5); behind <- true }()
		synctest.Wait()
		interrupt()
		synctest.Wait()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("the interrupted request has %v, want %v", err, context.Canceled)
		}
		if len(behind) == 0 || s.used != 10 {
			t.Errorf("%d bytes are used, want 10, with those of the request behind", s.used)
		}
	})
}

// TestSemaphoreCrowd: many requests at once never use more than there is, and all of them end.
func TestSemaphoreCrowd(t *testing.T) {
	const size = 100
	s := NewSemaphore(size)
	var mu sync.Mutex
	var used, most int64
	var all sync.WaitGroup
	for i := range int64(64) {
		all.Go(func() {
			for k := range int64(200) {
				n := 1 + (i*7+k*13)%130
				acquire(t, s, n)
				mu.Lock()
				used += min(n, size)
				most = max(most, used)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				used -= min(n, size)
				mu.Unlock()
				s.Release(n)
			}
		})
	}
	all.Wait()
	if most > size || s.used != 0 {
		t.Errorf("at most %d bytes were used, and %d in the end; want %d and 0", most, s.used, size)
	}
}

func acquire(t *testing.T, s *Semaphore, n int64) {
	t.Helper()
	if err := s.Acquire(context.Background(), n); err != nil {
		t.Error(err)
	}
}
