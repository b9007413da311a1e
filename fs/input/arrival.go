package input

import (
	"fmt"
	iofs "io/fs"
	"sync"
)

// Arrival is how much has come of a .npy file that is rewritten. The array has its full size as
// soon as the header is there. So a file of which only the beginning was copied would look
// complete, with the fill value for its rest.
//
// A program may well write a part, or the header alone as NumPy's open_memmap does. Completeness is
// checked only for purely sequential writes: no size was set, no space was allocated, and nothing
// was written through a mapping or another view.
type Arrival struct {
	mu     sync.Mutex
	header int64 // its length
	reach  int64 // the end of what was written; 0: nothing is to be judged
}

// Begin notes that the header is complete, and that all up to reach was written.
func (a *Arrival) Begin(header, reach int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.header, a.reach = header, reach
}

// Wrote notes that something was written up to end.
func (a *Arrival) Wrote(end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reach > 0 {
		a.reach = max(a.reach, end)
	}
}

// End returns up to where the file was written; 0: that is not known.
func (a *Arrival) End() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reach
}

// Settle notes that the file is as its writer wants it, and returns how much of it has come. 0:
// that is not known.
func (a *Arrival) Settle() (header, reach int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	header, reach = a.header, a.reach
	a.header, a.reach = 0, 0
	return header, reach
}

// Missing returns an error if a program that copies files has ended a file of that size too early.
func (a *Arrival) Missing(size int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reach == 0 || a.reach >= size {
		return nil
	}
	return fmt.Errorf("%w: %d of %d bytes were copied, and the rest of the array is the fill value; copy it again", iofs.ErrInvalid, a.reach, size)
}
