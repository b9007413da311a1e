package chunk

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// A Semaphore bounds the bytes, or other things, that many requests use at once. A request takes
// all that it needs in one call. It must not wait for more before it has given
// that back. So no request waits while it holds a part, and all of them end. They
// get it in the order in which they asked. All methods may be called concurrently.
type Semaphore struct {
	size     int64
	patience time.Duration // 0: it has no end

	mu    sync.Mutex
	used  int64
	hung  int64     // what is used by requests that a store has hung, as it seems
	given int64     // how often bytes were given back, or taken to be hung
	queue list.List // of *waiter, in the order in which they asked
}

// A waiter is a request in the queue.
type waiter struct {
	n     int64
	ready chan struct{} // closed when it has its bytes
}

// NewSemaphore returns a semaphore of size bytes.
func NewSemaphore(size int64) *Semaphore { return &Semaphore{size: max(size, 1)} }

// NewPatientSemaphore returns a semaphore of size bytes, for requests that wait for stores. If a
// request waits that long and nobody gives back any bytes, the store of all others is taken to
// hang. There are as many more bytes as these hold, until fewer are used. So other arrays go on.
func NewPatientSemaphore(size int64, patience time.Duration) *Semaphore {
	s := NewSemaphore(size)
	s.patience = patience
	return s
}

// Size returns how many bytes there are.
func (s *Semaphore) Size() int64 { return s.size }

// Acquire waits until n bytes are free, and takes them. A request for more than
// there are is served alone. Where ctx ends the wait, nothing is taken.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error {
	n = min(n, s.size)
	s.mu.Lock()
	if s.queue.Len() == 0 && s.fits(n) {
		s.used += n
		s.mu.Unlock()
		return nil
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	el, given := s.queue.PushBack(w), s.given
	s.mu.Unlock()
	if s.await(ctx, w, given) == nil {
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

// fits reports whether n bytes are free. The caller holds mu.
func (s *Semaphore) fits(n int64) bool { return s.used-s.hung+n <= s.size }

// await waits until w has its bytes, or ctx ends. Bytes had been given back that often before.
func (s *Semaphore) await(ctx context.Context, w *waiter, given int64) error {
	if s.patience == 0 {
		return wait(ctx, w.ready)
	}
	for {
		patient, end := context.WithTimeout(ctx, s.patience)
		err := wait(patient, w.ready)
		end()
		if err == nil || ctx.Err() != nil {
			return err
		}
		given = s.relax(given)
	}
}

// relax takes all bytes for hung if none were given back since they had been given back that often.
// It returns how often they were by now.
func (s *Semaphore) relax(given int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == given {
		s.hung = s.used
		s.given++
		s.admit()
	}
	return s.given
}

// TryAcquire is Acquire that takes nothing if it would have to wait. It reports whether it has
// taken n bytes.
func (s *Semaphore) TryAcquire(n int64) bool {
	n = min(n, s.size)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.Len() > 0 || !s.fits(n) {
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
	s.given++
	s.hung = min(s.hung, s.used)
	s.admit()
}

// admit serves the queue as far as there are bytes. The caller holds mu.
func (s *Semaphore) admit() {
	for el := s.queue.Front(); el != nil; el = s.queue.Front() {
		w := el.Value.(*waiter)
		if !s.fits(w.n) {
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
