// Package parallel calls a function many times on a few goroutines.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Each calls f for 0 <= i < n on up to workers goroutines, including the caller's. For n of 1 it
// starts none.
func Each(workers, n int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			f(int(i))
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
