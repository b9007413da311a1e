package wire

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Again knows the threads that got ESTALE, at which the kernel looks a name up again. It does that
// once for each call, so a second ESTALE would reach the program. The zero value knows none.
type Again struct {
	some    atomic.Bool // there may be threads
	mu      sync.Mutex
	threads map[int]time.Time // when they got it
}

const (
	// againFor is how long the kernel may take to look a name up again.
	againFor = time.Second
	// againMost is how many threads are known before older ones are forgotten.
	againMost = 256
)

// Tell notes that a thread is about to get ESTALE. It reports false if the thread got it before in
// the same call: then it must get another answer.
func (a *Again) Tell(thread int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	at, told := a.threads[thread]
	delete(a.threads, thread)
	if told && now.Sub(at) < againFor {
		return false
	}
	if len(a.threads) >= againMost {
		maps.DeleteFunc(a.threads, func(_ int, at time.Time) bool { return now.Sub(at) >= againFor })
	}
	if a.threads == nil {
		a.threads = make(map[int]time.Time)
	}
	a.threads[thread] = now
	a.some.Store(true)
	return true
}

// Ended notes that a thread has opened or creates a file, which ends its call.
func (a *Again) Ended(thread int) {
	if !a.some.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.threads, thread)
	a.some.Store(len(a.threads) > 0)
}
