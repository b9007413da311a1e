package wire

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/program"
)

// patience is how long a request goes on after its program received a signal. Programs in Go and
// Java receive signals all the time, and a read that fails with EINTR upsets most programs. But a
// read that hangs on a dead server must yield. No other such time exists: zarrcore gives up when a
// context ends, as is usual in Go. A program that is told to stop does not wait at all.
const patience = 3 * time.Second

// Request is the context of one kernel request. It ends when the mount does, and patience after the
// request was interrupted. Nothing runs for it unless someone waits on Done, which a read of cached
// bytes never does.
type Request struct {
	context.Context // the mount's

	interrupted <-chan struct{}
	thread      int // of the program; 0: unknown

	failure atomic.Pointer[error] // why done is closed

	mu     sync.Mutex
	done   chan struct{} // made by the first Done; nil until then
	ended  chan struct{} // closed by End
	closed bool
}

// NewRequest returns the context of a request, from those of the mount and of the kernel.
func NewRequest(mount, kernel context.Context) *Request {
	r := &Request{Context: mount, interrupted: kernel.Done()}
	if caller, ok := fuse.FromContext(kernel); ok {
		r.thread = int(caller.Pid)
	}
	return r
}

// End notes that the request was answered. It must be called: go-fuse reuses the channel of
// interrupts.
func (r *Request) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done != nil && !r.closed {
		r.closed = true
		close(r.ended)
	}
}

// Done returns a channel that is closed when the request should be given up.
func (r *Request) Done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		r.done, r.ended = make(chan struct{}), make(chan struct{})
		go r.watch()
	}
	return r.done
}

// Err returns why Done is closed.
func (r *Request) Err() error {
	if failure := r.failure.Load(); failure != nil {
		return *failure
	}
	return r.Context.Err()
}

func (r *Request) watch() {
	interrupted := r.interrupted
	var timeout <-chan time.Time
	for {
		select {
		case <-r.ended:
			return
		case <-r.Context.Done():
			r.fail(r.Context.Err())
			return
		case <-interrupted:
			if program.IsToStop(r.thread) {
				r.fail(context.Canceled)
				return
			}
			interrupted = nil
			timeout = time.After(patience)
		case <-timeout:
			r.fail(context.Canceled)
			return
		}
	}
}

func (r *Request) fail(err error) {
	r.failure.Store(&err)
	close(r.done)
}
