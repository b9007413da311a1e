package live

import "context"

// A handle leads to what is written to an array in one order and not stored, wherever the array is
// now.
type handle struct {
	h       *Arrays
	lineage *lineage
	draft   *draft // that was of this order when the array was opened
}

// Arrays returns the open arrays of the hierarchy in which the array was opened.
func (a handle) Arrays() *Arrays { return a.h }

// newest returns the handle that counts now, as far as that is known. It asks no store, so that it
// can be called while a lock is held.
func (a handle) newest() handle {
	of := a.draft.order
	l := a.lineage.newest(of)
	return handle{a.h, l, l.draft(of)}
}

// arrived is newest, also for an array that was moved; see [finder.arrived].
func (a handle) arrived(ctx context.Context) handle {
	if a = a.newest(); !a.isAstray() {
		return a
	}
	return a.h.finder.arrived(ctx, a)
}

// isNewest reports whether the handle counts now.
func (a handle) isNewest() bool {
	of := a.draft.order
	return a.lineage.heirs[of].Load() == nil && a.lineage.draft(of) == a.draft
}

// isAstray reports whether the array was moved and has no heir at its new path yet.
func (a handle) isAstray() bool { return a.lineage.isAstray(a.draft.order) }

// opens counts readers that begin, or end, following heirs.
func (a handle) opens(n int64) { a.h.open.opens(a.lineage, a.draft.order, n) }

// saveOther stores what was written in the other order, so that it is seen in the handle's.
func (a handle) saveOther(ctx context.Context) error { return a.lineage.saveOther(ctx, a.draft) }

// saveOthers stores what reads in the handle's order would not find otherwise.
func (a handle) saveOthers(ctx context.Context) error {
	a.lineage.saveEarlier(ctx)
	return a.saveOther(ctx)
}

// Dirty returns how many bytes are written and not stored, and the error of the last attempt to
// store them. The error stands until a whole flush has succeeded.
func (a handle) Dirty() (bytes int64, err error) {
	d := a.newest().draft
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set.Bytes(), d.failed.Err
}

// IsUnsaved reports whether anything of the array is not stored yet: bytes, or its length. It asks
// no store.
func (a handle) IsUnsaved() bool { return a.newest().draft.busy.Load() }

// IsRemoved reports whether this process has removed the array from the store, or has found that
// another program has removed or renamed it. One that another has replaced for open handles is not
// removed.
func (a handle) IsRemoved() bool { return a.newest().draft.isGone() }

// IsOtherThan reports whether the two are certain to be different arrays: another program has given
// the name of one of them to the other.
func (a handle) IsOtherThan(b *Array) bool {
	return a.newest().lineage.isOtherThan(&b.newest().lineage.place)
}

// Arrive opens the array where it was moved to, unless that was done already.
// Only then Live returns what is there. What reads, writes or stores the array
// does so by itself.
func (a handle) Arrive(ctx context.Context) {
	a.arrived(ctx)
}
