package input

import (
	"fmt"
	iofs "io/fs"
	"sync"
)

// Arrival is how much has come of a .npy file that is rewritten. The array has its full size as
// soon as the header is there. So a file of which only the beginning was copied would look
// complete, with the fill value for its rest. Until its end has come, or its writer has closed it,
// the files of the array are as long as what has come.
//
// A program may well write a part, or the header alone as NumPy's open_memmap does. Completeness is
// checked only for purely sequential writes: no size was set, no space was allocated, and nothing
// was written through a mapping or another view.
type Arrival struct {
	mu      sync.Mutex
	came    Came
	resumed bool // the file was closed before its end, and nothing was written to it since
	shown   bool // readers see all of the file: it was closed before its end
	making  bool // the header is complete, and the array is being made of it
}

// Came is how much has come of a .npy file, in bytes.
type Came struct {
	Header  int64 // its length
	Reach   int64 // the end of what was written; 0: nothing is to be judged
	Whole   int64 // how large the header says that the file is
	InOrder bool  // each write began where the one before it had ended
}

// IsShort reports whether the file was written in order, and data bytes are missing at its end.
func (c Came) IsShort() bool {
	return c.InOrder && c.Header < c.Reach && c.Reach < c.Whole
}

// GoesOn reports whether the file was written in order, and a program that appends goes on behind
// what was written. That may be the header alone.
func (c Came) GoesOn() bool {
	return c.InOrder && 0 < c.Reach && c.Header <= c.Reach && c.Reach < c.Whole
}

// Behind returns the same of the file with a header of another length.
func (c Came) Behind(header int64) Came {
	longer := header - c.Header
	return Came{header, c.Reach + longer, c.Whole + longer, c.InOrder}
}

// Begin notes that the header is complete, and what has come with it.
func (a *Arrival) Begin(c Came) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.came, a.resumed, a.shown, a.making = c, false, false, false
}

// Make notes that the header is complete, and that the array is about to be made of it. Begin or
// Made is to be called then.
func (a *Arrival) Make() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.making = true
}

// Resume notes what had come when the last program closed the file before its end.
func (a *Arrival) Resume(c Came) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.came, a.resumed, a.shown = c, true, true
}

// Shown returns how many data bytes of the file its readers may see while it is written in order.
// Otherwise ok is false, and they see them all.
func (a *Arrival) Shown() (n int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.making {
		return 0, true
	}
	return a.came.Reach - a.came.Header, a.came.InOrder && !a.shown && a.came.Reach < a.came.Whole
}

// Wrote notes that the bytes from off up to end were written.
func (a *Arrival) Wrote(off, end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.came.Reach == 0 {
		return
	}
	a.came.InOrder = a.came.InOrder && off == a.came.Reach
	a.came.Reach = max(a.came.Reach, end)
	a.resumed = false
}

// End returns up to where the file was written; 0: that is not known.
func (a *Arrival) End() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.resumed {
		return 0
	}
	return a.came.Reach
}

// Next returns where a program that appends goes on, if the file was written in order and is not
// whole. Otherwise ok is false.
func (a *Arrival) Next() (at int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.came.Reach, a.came.InOrder && a.came.Reach < a.came.Whole
}

// Came returns how much has come.
func (a *Arrival) Came() Came {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.came
}

// Made notes that the array is made of the header, or that it cannot be.
func (a *Arrival) Made() { a.Begin(Came{}) }

// Settle notes that the file is as its writer wants it. That does not hold for an array that is
// being made: what another program writes meanwhile leaves the rest of it the fill value.
func (a *Arrival) Settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.came, a.resumed, a.shown = Came{}, false, false
}

// Missing returns an error if the file was closed before all of it had come.
func (c Came) Missing() error {
	if c.Reach >= c.Whole {
		return nil
	}
	return fmt.Errorf("%w: expected %d bytes, as the header says, found %d: the rest of the "+
		"array is the fill value; append the rest, or copy it again", iofs.ErrInvalid, c.Whole,
		c.Reach)
}
