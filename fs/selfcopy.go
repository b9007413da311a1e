package fs

import (
	"context"
	"fmt"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// To programs that copy files, the views of an array are separate files. `cp a.npy a.raw` would
// truncate what it is about to read, and `cat a.npy >> a.raw` would read for ever what it has just
// written. So a program that copies, and has one view of an array open for reading, can neither
// resize nor remove the array through another. Other programs can: a script that keeps a.npy mapped
// and appends to a.raw knows what it does.

// holders are the handles by which a file's bytes are read, and the threads that opened them.
type holders struct {
	mu      sync.Mutex
	threads map[*handle]int
}

// add notes that h was opened by the caller.
func (o *holders) add(ctx context.Context, h *handle) {
	c, ok := ctx.(*fuse.Context)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.threads == nil {
		o.threads = make(map[*handle]int)
	}
	o.threads[h] = int(c.Pid)
}

// remove forgets h.
func (o *holders) remove(h *handle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.threads, h)
}

// append appends the threads to all.
func (o *holders) append(all []int) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, thread := range o.threads {
		all = append(all, thread)
	}
	return all
}

// copiedOntoItself returns an error if the caller is a program that copies, and reads another view
// of the array at path than v.
func (f *filesystem) copiedOntoItself(ctx context.Context, path string, v view.View) error {
	var threads []int
	for _, n := range f.files(path) {
		if n.view != v {
			threads = n.readers.append(threads)
		}
	}
	if len(threads) == 0 {
		return nil
	}
	by := wire.Caller(ctx)
	if !by.Copier {
		return nil
	}
	for _, thread := range threads {
		if program.OfThread(thread) == by {
			return fmt.Errorf("%w: the program reads the same array through another view, so it would copy it onto itself", syscall.EBUSY)
		}
	}
	return nil
}
