// Package keyed has locks of which there is one for each key, as for each path of a hierarchy.
package keyed

import "sync"

// Mutex lets one at a time do something with each key. The zero value is ready. Keys that nobody
// uses take no memory.
type Mutex struct {
	mu    sync.Mutex
	locks map[string]*lock
}

type lock struct {
	sync.Mutex
	users int // that hold it or wait for it; guarded by Mutex.mu
}

// Lock waits until nobody holds the key, and holds it until the caller calls unlock.
func (m *Mutex) Lock(key string) (unlock func()) {
	m.mu.Lock()
	l := m.locks[key]
	if l == nil {
		if m.locks == nil {
			m.locks = make(map[string]*lock)
		}
		l = new(lock)
		m.locks[key] = l
	}
	l.users++
	m.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		m.mu.Lock()
		defer m.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(m.locks, key)
		}
	}
}

// Wait waits until nobody holds the key.
func (m *Mutex) Wait(key string) {
	m.mu.Lock()
	free := m.locks[key] == nil
	m.mu.Unlock()
	if !free {
		m.Lock(key)()
	}
}
