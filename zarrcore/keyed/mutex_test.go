package keyed

import (
	"sync"
	"testing"
	"time"
)

// TestMutex: holders of one key follow each other, and holders of two keys do not wait for each
// other. Nothing stays of a key that nobody holds.
func TestMutex(t *testing.T) {
	var m Mutex
	held := m.Lock("other")
	counts := map[string]*int{"a": new(int), "b": new(int)}
	var all sync.WaitGroup
	for key, count := range counts {
		for range 50 {
			all.Go(func() {
				defer m.Lock(key)()
				*count++ // the race detector sees it if two hold the key
			})
		}
	}
	all.Wait()
	if *counts["a"] != 50 || *counts["b"] != 50 {
		t.Errorf("counted %d and %d, want 50 each", *counts["a"], *counts["b"])
	}
	m.Wait("a") // nobody holds it
	waited := make(chan struct{})
	go func() {
		m.Wait("other")
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("Wait has returned while the key is held")
	case <-time.After(20 * time.Millisecond):
	}
	held()
	<-waited
	if len(m.locks) != 0 {
		t.Errorf("%d keys are kept that nobody holds", len(m.locks))
	}
}
