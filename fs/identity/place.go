package identity

import "sync/atomic"

// Place is where a node is. A rename changes it while requests are under way, so its key is read
// once in each.
type Place struct {
	first Key                 // where it was made
	moved atomic.Pointer[Key] // nil: it is there
	gone  atomic.Bool         // what it showed was removed: the node ends with its last handle
	old   atomic.Bool         // another node has taken its place
	open  atomic.Int64        // handles
}

// NewPlace returns the place of a node that shows what the key names.
func NewPlace(k Key) Place { return Place{first: k} }

// Key returns what the node shows.
func (p *Place) Key() Key {
	if k := p.moved.Load(); k != nil {
		return *k
	}
	return p.first
}

// Unmoved returns a function that reports whether the node was never moved since then, not even
// away and back.
func (p *Place) Unmoved() func() bool {
	was := p.moved.Load() // each move sets another pointer
	return func() bool { return p.moved.Load() == was }
}

// End notes that what the node showed was removed.
func (p *Place) End() { p.gone.Store(true) }

// IsGone reports whether what the node showed was removed.
func (p *Place) IsGone() bool { return p.gone.Load() }

// IsReplaced reports whether another node has taken the place. The kernel may still come to this
// one by a name that it had, or that it was renamed to.
func (p *Place) IsReplaced() bool { return p.old.Load() }

// Enter counts a handle.
func (p *Place) Enter() { p.open.Add(1) }

// Leave ends the count of a handle. It reports whether that was the last.
func (p *Place) Leave() (last bool) { return p.open.Add(-1) == 0 }

// IsOpen reports whether there are handles.
func (p *Place) IsOpen() bool { return p.open.Load() > 0 }

// stays reports whether the node keeps its place without the kernel.
func (p *Place) stays() bool { return p.IsOpen() && !p.gone.Load() && !p.old.Load() }

// move gives the node another key.
func (p *Place) move(k Key) { p.moved.Store(&k) }
