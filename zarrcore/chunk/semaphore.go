package chunk

import (
	"container/list"
	"context"
	"sync"
)

// A Semaphore bounds the bytes that many requests use at once. A request takes
// all that it needs in one call. It must not wait for more before it has given
// that back. So no request waits while it holds a part, and all of them end. They
// get it in the order in which they asked. All methods may be called concurrently.
type Semaphore struct {
	size int64

	mu    sync.Mutex
	used  int64
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
func (s *Semaphore) Acquire(ctx context.Context, n int64) error {
	n = min(n, s.size)
	s.mu.Lock()
	if s.queue.Len() == 0 && s.used+n <= s.size {
		s.used += n
		s.mu.Unlock()
		return nil
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	el := s.queue.PushBack(w)
	s.mu.Unlock()
	if wait(ctx, w.ready) == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.ready: // just now
		return nil
	default:
	}
	s.queue.Remove(el)
	s.admit() // those behind it may need less
	return ctx.Err()
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

// wait waits for done, or for the end of ctx.
func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
