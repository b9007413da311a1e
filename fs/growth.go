package fs

import "sync"

// growth is what programs are told of an array's size while it grows. The kernel may have a page
// with the former end of a file, and shows zeros behind that once it knows of a later end. So it
// gets another size when such pages were dropped. A page that it reads before that has the bytes.
type growth struct {
	mu      sync.Mutex
	changes int   // that are under way
	told    int64 // the array's size, in bytes, as far as pages were dropped
}

// begin notes that the array, of so many bytes, is about to be changed. It returns a function that
// notes that it was.
func (g *growth) begin(size int64) (end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changes == 0 {
		g.told = size
	}
	g.changes++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.changes--
	}
}

// shrinks notes that the array has only so many bytes.
func (g *growth) shrinks(size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = min(g.told, size)
}

// grown notes that pages were dropped which the kernel had when the array got so many bytes.
func (g *growth) grown(size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = max(g.told, size)
}

// of returns how many of an array's bytes programs are told of, if it has so many.
func (g *growth) of(size int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changes == 0 {
		return size
	}
	return min(size, g.told)
}
