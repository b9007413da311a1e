package zarrcore

import "sync"

// Turns let one at a time do something with each path.
type turns struct {
	mu      sync.Mutex
	waiting map[string]*turn
}

type turn struct {
	mu    sync.Mutex
	users int // who have it or wait for it
}

// wait waits for the turn at path, and returns what ends it.
func (t *turns) wait(path string) (end func()) {
	t.mu.Lock()
	if t.waiting == nil {
		t.waiting = map[string]*turn{}
	}
	mine := t.waiting[path]
	if mine == nil {
		mine = &turn{}
		t.waiting[path] = mine
	}
	mine.users++
	t.mu.Unlock()
	mine.mu.Lock()
	return func() {
		mine.mu.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.waiting, path)
		}
	}
}
