package wire

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Again knows the threads that got ESTALE. At this error the kernel looks a name up again. It does
// so once for each call, so a second ESTALE would reach the program. The zero value knows none.
//
// No request says which call it belongs to. But in the same call the kernel comes to a file by the
// lookup of its name, or has no name for it at all. A request for a file that the kernel did not
// look up belongs to the next call.
type Again struct {
	some    atomic.Bool // there may be threads
	mu      sync.Mutex  // innermost
	threads map[int]told
}

// told is what is known of a thread that got ESTALE.
type told struct {
	at   time.Time
	node uint64 // the generation of the node of that answer, or of one looked up since
}

const (
	// againFor is how long the kernel may take to look a name up again.
	againFor = time.Second
	// againMost is how many threads are known before older ones are forgotten.
	againMost = 256
)

// Tell notes that a thread is about to get ESTALE of a node. It reports false if the thread got it
// before in the same call: then it must get another answer. Threads that cannot be seen cannot be
// told apart: to each of them every call is a new one.
func (a *Again) Tell(thread int, node uint64) bool {
	if thread == 0 {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	last, known := a.threads[thread]
	if known && last.node == node && now.Sub(last.at) < againFor {
		return false
	}
	if len(a.threads) >= againMost {
		maps.DeleteFunc(a.threads, func(_ int, t told) bool { return now.Sub(t.at) >= againFor })
	}
	if a.threads == nil {
		a.threads = make(map[int]told)
	}
	a.threads[thread] = told{now, node}
	a.some.Store(true)
	return true
}

// Found notes that a thread has looked a name up, and got a node.
func (a *Again) Found(thread int, node uint64) {
	if !a.some.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, known := a.threads[thread]; known {
		a.threads[thread] = told{last.at, node}
	}
}

// Ended notes that the call of a thread has ended: it has opened or creates a file, or the file is
// not there.
func (a *Again) Ended(thread int) {
	if !a.some.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.threads, thread)
	a.some.Store(len(a.threads) > 0)
}
