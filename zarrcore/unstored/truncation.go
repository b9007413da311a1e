package unstored

import (
	"math"
	"sync/atomic"
)

// NoCut is the row that was cut where none was.
const NoCut = math.MaxInt64

// A Truncation says which rows of the stored objects of an array do not count any more: this
// process has cut them, and has not stored that yet. It remembers the lowest row that was ever
// cut. What is stored from there on is fill value, unless it was stored since.
type Truncation struct {
	low   atomic.Int64    // the lowest row that was cut, or NoCut
	fresh map[int64]int64 // of objects stored since the cut, the lowest row cut since then
	most  int64           // rows of the array at most since the last flush: objects may be stored
}

// Init makes t the Truncation of an array of which nothing was cut.
func (t *Truncation) Init() {
	t.fresh = map[int64]int64{}
	t.low.Store(NoCut)
}

// IsNone reports whether nothing was cut. It may be called concurrently, like Low.
func (t *Truncation) IsNone() bool { return t.low.Load() == NoCut }

// Low returns the lowest row that was cut, or NoCut.
func (t *Truncation) Low() int64 { return t.low.Load() }

// Most returns how many rows the array had at most since the last flush.
func (t *Truncation) Most() int64 { return t.most }

// Cut notes that an array of so many rows, had, is cut to rows.
func (t *Truncation) Cut(had, rows int64) {
	t.HadRows(had)
	t.low.Store(min(t.low.Load(), rows))
	t.CutFresh(rows)
}

// HadRows notes that the array had so many rows.
func (t *Truncation) HadRows(rows int64) { t.most = max(t.most, rows) }

// CutFresh notes that of objects that were stored since the cut, rows from there on do not count.
func (t *Truncation) CutFresh(rows int64) {
	for obj, low := range t.fresh {
		t.fresh[obj] = min(low, rows)
	}
}

// Stored notes that an object was stored: all its rows count.
func (t *Truncation) Stored(obj int64) {
	if !t.IsNone() {
		t.fresh[obj] = NoCut
	}
}

// Of returns the lowest row that was cut since the object was stored.
func (t *Truncation) Of(obj int64) int64 {
	if low, ok := t.fresh[obj]; ok {
		return low
	}
	return t.low.Load()
}

// Forget forgets what was cut.
func (t *Truncation) Forget() {
	t.low.Store(NoCut)
	clear(t.fresh)
}

// NoteDeleted notes that the store has no object any more of what was cut.
func (t *Truncation) NoteDeleted() {
	t.Forget()
	t.most = 0
}
