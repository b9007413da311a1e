package chunk

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// A Semaphore bounds the bytes, or other things, that many requests use at once. A request takes
// all that it needs in one call. It must not wait for more before it has given
// that back. So no request waits while it holds a part, and all of them end. They
// get it in the order in which they asked. All methods may be called concurrently.
type Semaphore struct {
	size int64

	mu    sync.Mutex
	used  int64
	given int64     // how often bytes were given back
	stuck bool      // none were for as long as a patient request waited
	queue list.List // of *waiter, in the order in which they asked
}

// A waiter is a request in the queue.
type waiter struct {
	n     int64
	ready chan struct{} // closed when it has its bytes
}

// NewSemaphore returns a semaphore of size bytes.
func NewSemaphore(size int64) *Semaphore { return &Semaphore{size: max(size, 1)} }

// Size returns how many bytes there are.
func (s *Semaphore) Size() int64 { return s.size }

// Acquire waits until n bytes are free, and takes them. A request for more than
// there are is served alone. Where ctx ends the wait, nothing is taken.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error { return s.acquire(ctx, n, 0) }

// acquire is Acquire. A request with a patience of more than 0 is errStuck if no bytes are given
// back for that long.
func (s *Semaphore) acquire(ctx context.Context, n int64, patience time.Duration) error {
	n = min(n, s.size)
	s.mu.Lock()
	if s.queue.Len() == 0 && s.used+n <= s.size {
		s.used += n
		s.mu.Unlock()
		return nil
	}
	if s.stuck && patience > 0 {
		s.mu.Unlock()
		return errStuck
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	el, given := s.queue.PushBack(w), s.given
	s.mu.Unlock()
	for {
		err := waitFor(ctx, w.ready, patience)
		if err == nil {
			return nil
		}
		s.mu.Lock()
		s.stuck = s.stuck || errors.Is(err, errStuck) && s.given == given
		if given = s.given; s.stuck || ctx.Err() != nil || w.isReady() {
			defer s.mu.Unlock()
			return s.giveUp(el, err)
		}
		s.mu.Unlock()
	}
}

// giveUp takes a waiter out of the queue, unless it has its bytes just now. The caller holds mu.
func (s *Semaphore) giveUp(el *list.Element, err error) error {
	if el.Value.(*waiter).isReady() {
		return nil
	}
	s.queue.Remove(el)
	s.admit() // those behind it may need less
	return err
}

// isReady reports whether the waiter has its bytes.
func (w *waiter) isReady() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// TryAcquire is Acquire that takes nothing if it would have to wait. It reports whether it has
// taken n bytes.
func (s *Semaphore) TryAcquire(n int64) bool {
	n = min(n, s.size)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.Len() > 0 || s.used+n > s.size {
		return false
	}
	s.used += n
	return true
}

// Release gives back what Acquire took for n bytes.
func (s *Semaphore) Release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= min(n, s.size)
	s.given, s.stuck = s.given+1, false
	s.admit()
}

// admit serves the queue as far as there are bytes. The caller holds mu.
func (s *Semaphore) admit() {
	for el := s.queue.Front(); el != nil; el = s.queue.Front() {
		w := el.Value.(*waiter)
		if s.used+w.n > s.size {
			return
		}
		s.used += w.n
		s.queue.Remove(el)
		close(w.ready)
	}
}

// errStuck says that no bytes were given back for long.
var errStuck = errors.New("nothing is given back")

// waitFor is wait that ends with errStuck after a patience of more than 0.
func waitFor(ctx context.Context, done <-chan struct{}, patience time.Duration) error {
	if patience == 0 {
		return wait(ctx, done)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return errStuck
	}
}

// wait waits for done, or for the end of ctx.
func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
