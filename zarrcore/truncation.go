package zarrcore

import (
	"math"
	"sync/atomic"
)

// noCut is the row that was cut where none was.
const noCut = math.MaxInt64

// A truncation is what does not count any more of the stored objects of an array, because this
// process has cut rows and has not stored that yet. It remembers the lowest row that was ever cut:
// what is stored from there on is fill value, unless it was stored since. The draft's mu guards it.
type truncation struct {
	low   atomic.Int64    // the lowest row that was cut, or noCut; read without mu too
	fresh map[int64]int64 // of objects stored since the cut, the lowest row that was cut since then
	most  int64           // rows that the array had at most since the last flush: objects may be stored for them
}

// init makes t the truncation of an array of which nothing was cut.
func (t *truncation) init() {
	t.fresh = map[int64]int64{}
	t.low.Store(noCut)
}

// isNone reports whether nothing was cut. The caller need not hold mu.
func (t *truncation) isNone() bool { return t.low.Load() == noCut }

// cut notes that an array of so many rows, had, is cut to rows.
func (t *truncation) cut(had, rows int64) {
	t.hadRows(had)
	t.low.Store(min(t.low.Load(), rows))
	t.cutFresh(rows)
}

// hadRows notes that the array had so many rows.
func (t *truncation) hadRows(rows int64) { t.most = max(t.most, rows) }

// cutFresh notes that of objects that were stored since the cut, rows from there on do not count.
func (t *truncation) cutFresh(rows int64) {
	for obj, low := range t.fresh {
		t.fresh[obj] = min(low, rows)
	}
}

// stored notes that an object was stored: all its rows count.
func (t *truncation) stored(obj int64) {
	if !t.isNone() {
		t.fresh[obj] = noCut
	}
}

// of returns the lowest row that was cut since the object was stored.
func (t *truncation) of(obj int64) int64 {
	if low, ok := t.fresh[obj]; ok {
		return low
	}
	return t.low.Load()
}

// forget forgets what was cut.
func (t *truncation) forget() {
	t.low.Store(noCut)
	clear(t.fresh)
}

// settle notes that the store has no object any more of what was cut.
func (t *truncation) settle() {
	t.forget()
	t.most = 0
}
