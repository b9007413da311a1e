package live

import (
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// This file takes in what another program has made of an array that is being written to.

// matches reports whether a stored document is that of the array. What does not concern the data
// may differ, and what was made of the array since does not count.
func (d *draft) matches(m *meta.Array) bool {
	return d.live.Load().gen.Matches(m, d.rows.Load())
}

// join takes in rows that another program has appended, also while this process
// stores what was written to the array. What was written here stays in its place;
// where both have appended, bytes that only one has written all count. Rows are truncated
// of the array as it is then. The caller holds mu.
func (d *draft) join(m *meta.Array) bool {
	a := d.live.Load()
	if a.gen.Source != nil {
		return a.gen.Outlasts(m)
	}
	if len(m.Shape) == 0 || d.lengths.HasOther() || !a.gen.Meta.SameLayout(m) {
		return false
	}
	rows, low := m.Shape[0], d.truncation.Low()
	switch {
	case low != unstored.NotTruncated:
		if rows < low {
			return false
		}
		d.truncation.HadRows(d.rows.Load())
		// Rows may have been appended to what was stored since the truncation.
		d.truncation.TruncateFresh(a.gen.Rows())
	case min(rows, a.gen.Rows()) < d.rows.Load():
		return false
	case rows*a.gen.Grid.RowBytes() > a.Size():
		id := a.gen.ID
		if a.gen.Objects.IsBounded() {
			id = d.h.open.nextID()
		}
		b, err := d.next(a.gen.WithRows(rows, rows*a.gen.Grid.RowBytes(), id))
		if err != nil {
			return false
		}
		b.newEpoch()
		d.adopt(b)
	}
	d.rows.Store(rows)
	d.lengths.NoteAllStored(rows)
	return true
}

// joinEarly takes in what another program has appended before a flush does. A program that opens
// the array now is then shown what is not stored yet. The version that counted before n was read
// is known; joinEarly reports again where another one counts by now. Where objects end with the
// array, a flush counts on the rows that it began with. The caller holds pair.
func (d *draft) joinEarly(n *catalog.Node, known string) (joined, again bool) {
	if d.busy.Load() && d.live.Load().gen.Objects.IsBounded() {
		if !d.flushing.TryLock() {
			return false, true
		}
		defer d.flushing.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.h.open.version(d) != known {
		return false, true
	}
	if !d.busy.Load() || d.removed || d.failed.IsTruncated() ||
		d.matches(n.Meta) || !d.join(n.Meta) {
		return false, false
	}
	d.h.open.found(d, n)
	d.ahead.IsDoubtful.Store(true)
	return true, false
}
