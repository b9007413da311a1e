// Package selfcopy keeps programs from copying an array onto itself, by two of its views or by two
// mounts of its store.
package selfcopy

import (
	"fmt"
	"sync"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/program"
)

// To programs that copy files, the views of an array are separate files. `cp a.npy a.raw` would
// truncate what it is about to read, and `cat a.npy >> a.raw` would read for ever what it has just
// written. So a program that copies, and has one view of an array open for reading, can neither
// resize nor remove the array through another. Other programs can: a script that keeps a.npy mapped
// and appends to a.raw knows what it does.

// Readers are the handles for reading a file's bytes, and the threads that opened them.
type Readers struct {
	mu      sync.Mutex
	threads map[any]int
}

// Add notes that a handle was opened by a thread; 0: it cannot be seen.
func (o *Readers) Add(handle any, thread int) {
	if thread == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.threads == nil {
		o.threads = make(map[any]int)
	}
	o.threads[handle] = thread
}

// Remove forgets a handle.
func (o *Readers) Remove(handle any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.threads, handle)
}

// Append appends the threads to all.
func (o *Readers) Append(all []int) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, thread := range o.threads {
		all = append(all, thread)
	}
	return all
}

// Refuses returns an error if the process that caller returns copies files, and has one of the
// threads. These read other views of the array. Without any of them no process is looked for.
func Refuses(threads []int, caller func() program.Process) error {
	if len(threads) == 0 {
		return nil
	}
	by := caller()
	if !by.Copier {
		return nil
	}
	for _, thread := range threads {
		if program.OfThread(thread) == by {
			return fmt.Errorf("%w: the program reads the same array through another view, so "+
				"it would copy it onto itself", syscall.EBUSY)
		}
	}
	return nil
}
