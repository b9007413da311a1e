package object

import (
	"errors"
	"sync"
)

var (
	// ErrFixedSize says that an array cannot grow: it has no axis 0, or its rows hold no bytes, or
	// it is seen in Fortran order.
	ErrFixedSize = errors.New("the array's size cannot change")

	// ErrFraction says that an array was to end within a row.
	ErrFraction = errors.New("not a whole number of rows")
)

// Lengths are the lengths of stored objects along axis 0, in an array whose edge objects end with
// the array (zarrs.regular_bounded). They may differ from the lengths that the array is to have.
// Objects are stored one by one, and a process may be killed before it has stored all. In other
// arrays all objects have the lengths of the grid. All methods may be called concurrently.
type Lengths struct {
	replacing sync.RWMutex // held for reading while an object is opened

	mu    sync.Mutex
	rows  int64           // the array ended there when the objects were stored
	other map[int64]int64 // of objects that were stored since
	found map[int64]int64 // of objects that a killed process has left, as far as they were measured
	mine  map[int64]bool  // all objects that this process has stored since
}

// NewLengths returns the lengths of the objects of an array that has so many rows.
func NewLengths(rows int64) *Lengths {
	return &Lengths{rows: rows, other: map[int64]int64{}, found: map[int64]int64{},
		mine: map[int64]bool{}}
}

// Of returns the length of a stored object, and how many rows of it count. The others were left by
// a process that was killed.
func (l *Lengths) Of(k *Keys, object int64) (length, shown int64) {
	if !k.IsBounded() {
		length = k.Length(object)
		return length, length
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok := l.other[object]; ok {
		return n, n
	}
	if n, ok := l.found[object]; ok {
		return n, l.shown(k, object)
	}
	length = l.usual(k, object)
	if first, _, _ := k.Rows(object); first >= l.rows && !l.mine[object] {
		return length, 0 // whatever length it really has
	}
	return length, length
}

// Fits reports whether an object is stored with the length that k gives it.
func (l *Lengths) Fits(k *Keys, object int64) bool {
	length, _ := l.Of(k, object)
	return length == k.Length(object)
}

// usual returns the length of an object that was not stored since. The caller holds mu.
func (l *Lengths) usual(k *Keys, object int64) int64 {
	first, _, _ := k.Rows(object)
	if n := l.rows - first; 0 < n && n < k.Longest() {
		return n
	}
	return k.Longest()
}

// shown returns how many rows count of an object that is longer than it should be: those of the
// stored document. The caller holds mu.
func (l *Lengths) shown(k *Keys, object int64) int64 {
	first, _, _ := k.Rows(object)
	return min(max(0, l.rows-first), k.Longest())
}

// Replace calls commit, which replaces an object. The new object may have another length. No object
// of the array is opened meanwhile, so that a reader knows the length of the object it opens.
func (l *Lengths) Replace(commit func() error) error {
	l.replacing.Lock()
	defer l.replacing.Unlock()
	return commit()
}

// Open calls open, which opens an object after it has asked for its length.
func (l *Lengths) Open(k *Keys, open func() error) error {
	if k.IsBounded() {
		l.replacing.RLock()
		defer l.replacing.RUnlock()
	}
	return open()
}

// Note notes that an object was stored with the length that k gives it.
func (l *Lengths) Note(k *Keys, object int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.other, object)
	delete(l.found, object)
	l.mine[object] = true
	if n := k.Length(object); n != l.usual(k, object) {
		l.other[object] = n
	}
}

// find notes the length that an object was found to have, and returns how many rows of it count.
// It does nothing, and longer is false, if the object is no longer than was known. The caller holds
// mu.
func (l *Lengths) find(k *Keys, object, length, known int64) (shown int64, longer bool) {
	if length <= known {
		return 0, false
	}
	l.found[object] = length
	return l.shown(k, object), true
}

// HasOther reports whether this process has stored an object with another length than the stored
// document gives it.
func (l *Lengths) HasOther() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.other) > 0
}

// IsAllStored reports whether all objects, as far as is known, are stored with the lengths that
// they have in an array of so many rows.
func (l *Lengths) IsAllStored(rows int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows == rows && len(l.other)+len(l.found) == 0
}

// NoteAllStored notes that all objects are stored with the lengths of an array of so many rows.
func (l *Lengths) NoteAllStored(rows int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = rows
	clear(l.other)
	clear(l.found)
	clear(l.mine)
}
