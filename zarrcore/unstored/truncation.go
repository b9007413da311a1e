package unstored

import (
	"math"
	"sync/atomic"
)

// NotTruncated is the row that was truncated where none was.
const NotTruncated = math.MaxInt64

// A Truncation says which rows of the stored objects of an array do not count any more: this
// process has truncated them, and has not stored that yet. It remembers the lowest row that was
// ever truncated. What is stored from there on is fill value, unless it was stored since.
type Truncation struct {
	low   atomic.Int64    // the lowest row that was truncated, or NotTruncated
	fresh map[int64]int64 // of objects stored since, the lowest row truncated since they were
	most  int64           // rows of the array at most since the last flush: objects may be stored
}

// Init makes t the Truncation of an array of which nothing was truncated.
func (t *Truncation) Init() {
	t.fresh = map[int64]int64{}
	t.low.Store(NotTruncated)
}

// IsNone reports whether nothing was truncated. It may be called concurrently, like Low.
func (t *Truncation) IsNone() bool { return t.low.Load() == NotTruncated }

// Low returns the lowest row that was truncated, or NotTruncated.
func (t *Truncation) Low() int64 { return t.low.Load() }

// Most returns how many rows the array had at most since the last flush.
func (t *Truncation) Most() int64 { return t.most }

// Truncate notes that an array of so many rows, had, is truncated to rows.
func (t *Truncation) Truncate(had, rows int64) {
	t.HadRows(had)
	t.low.Store(min(t.low.Load(), rows))
	t.TruncateFresh(rows)
}

// HadRows notes that the array had so many rows.
func (t *Truncation) HadRows(rows int64) { t.most = max(t.most, rows) }

// TruncateFresh notes that of objects that were stored since the truncation, rows from there on do
// not count.
func (t *Truncation) TruncateFresh(rows int64) {
	for obj, low := range t.fresh {
		t.fresh[obj] = min(low, rows)
	}
}

// Stored notes that an object was stored: all its rows count.
func (t *Truncation) Stored(obj int64) {
	if !t.IsNone() {
		t.fresh[obj] = NotTruncated
	}
}

// Of returns the lowest row that was truncated since the object was stored.
func (t *Truncation) Of(obj int64) int64 {
	if low, ok := t.fresh[obj]; ok {
		return low
	}
	return t.low.Load()
}

// Forget forgets what was truncated.
func (t *Truncation) Forget() {
	t.low.Store(NotTruncated)
	clear(t.fresh)
}

// NoteDeleted notes that the store has no object any more of what was truncated.
func (t *Truncation) NoteDeleted() {
	t.Forget()
	t.most = 0
}
