package writing

import (
	"context"
	"sync"
	"time"
)

// resizings are the changes of an array of which the kernel may not know the new end yet.
//
// The kernel ignores a size that it has asked for, if it gets a notice for the file before the
// answer. But it gives that size to the program that asked. Such a program could store bytes behind
// the end that the kernel uses itself, by a mapping. The kernel would drop them. So a program that
// could do that gets its answer when all notices of these changes are sent.
type resizings struct {
	mu      sync.Mutex
	running map[chan struct{}]struct{}
}

// begin notes that such a change begins. It returns a function that notes that the kernel knows.
func (r *resizings) begin() (end func()) {
	told := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running = make(map[chan struct{}]struct{})
	}
	r.running[told] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, told)
		close(told)
	}
}

// awaitMost is for how long a program waits for a size. An append may wait for a store that hangs.
const awaitMost = 2 * time.Second

// await waits until the kernel knows the ends of all changes that have begun, or ctx ends.
func (r *resizings) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, awaitMost)
	defer cancel()
	for _, told := range r.now() {
		select {
		case <-told:
		case <-ctx.Done():
			return
		}
	}
}

// now returns the changes that run.
func (r *resizings) now() (running []chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for told := range r.running {
		running = append(running, told)
	}
	return running
}
