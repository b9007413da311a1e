package fs

import (
	"fmt"
	iofs "io/fs"
	"sync"
)

// arrival is how much has come of a .npy file that is rewritten. The array has its full size as
// soon as the header is there. So a file of which only the beginning was copied would look
// complete, with the fill value for its rest.
//
// A program may well write a part, or the header alone as NumPy's open_memmap does. Completeness is
// checked only for purely sequential writes: no size was set, no space was allocated, and nothing
// was written through a mapping or another view.
type arrival struct {
	mu     sync.Mutex
	header int64 // its length
	reach  int64 // the end of what was written; 0: nothing is to be judged
}

// begin notes that the header is complete, and that all up to reach was written.
func (a *arrival) begin(header, reach int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.header, a.reach = header, reach
}

// wrote notes that something was written up to end.
func (a *arrival) wrote(end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reach > 0 {
		a.reach = max(a.reach, end)
	}
}

// end returns up to where the file was written; 0: that is not known.
func (a *arrival) end() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reach
}

// settle notes that the file is as its writer wants it, and returns how much of it has come. 0:
// that is not known.
func (a *arrival) settle() (header, reach int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	header, reach = a.header, a.reach
	a.header, a.reach = 0, 0
	return header, reach
}

// missing returns an error if a program that copies files has ended a file of that size too early.
func (a *arrival) missing(size int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reach == 0 || a.reach >= size {
		return nil
	}
	return fmt.Errorf("%w: %d of %d bytes were copied, and the rest of the array is the fill value; copy it again", iofs.ErrInvalid, a.reach, size)
}
