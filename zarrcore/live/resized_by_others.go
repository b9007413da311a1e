package live

import "context"

// This file is about an array that another program makes longer or shorter while some have it open
// here. Open handles keep its shape, and later opens see the new one. Writes by any handle are
// visible to all.

// noteLater notes that another program has changed the array's length: to a's. Open handles keep
// its shape until a program writes; see adoptLater.
func (l *lineage) noteLater(a *Array) {
	live := l.straight.live.Load()
	if l.isOtherThan(&a.lineage.place) || !live.gen.Meta.SameLayout(a.gen.Meta) {
		return
	}
	if !l.isInUse() {
		l = l.earlier.Load()
	}
	if l != nil {
		l.later.Store(a.lineage)
		a.lineage.earlier.Store(l)
	}
}

// adoptLater lets all who have the array open have it as it is now, also those who did
// before another program changed its length: what is written by one of them is then
// seen by the others.
func (l *lineage) adoptLater() {
	if later := l.later.Load(); later != nil {
		l.redirectTo(later)
	}
	for e := l.earlier.Load(); e != nil && e.redirectTo(l); e = e.earlier.Swap(nil) {
		l.earlier.CompareAndSwap(e, nil)
	}
}

// redirectTo makes later the heir, if it may, and reports whether it is.
func (l *lineage) redirectTo(later *lineage) bool {
	l.pair.Lock()
	defer l.pair.Unlock()
	if l.canRedirect() {
		l.redirect(later.straight.live.Load())
	}
	return l.heirs[cOrder].Load() != nil
}

// canRedirect reports whether another may take the array's place: nothing of it is unsaved, and no
// program has it open in Fortran order. There an element is at another byte as soon as the array is
// longer. A program that does not know would write to the wrong one.
func (l *lineage) canRedirect() bool {
	return l.heirs[cOrder].Load() == nil && l.isClean() && l.readers[fortranOrder].Load() == 0
}

// hasLater reports whether adoptLater is to be called once more. The caller holds pair.
func (l *lineage) hasLater() bool { return l.later.Load() != nil && l.canRedirect() }

// saveEarlier stores what was written by programs that have the array open as it was
// before another program changed its length. An error of that is theirs.
func (l *lineage) saveEarlier(ctx context.Context) {
	for e := l.earlier.Load(); e != nil; e = e.earlier.Load() {
		for _, d := range e.drafts() {
			if d.busy.Load() && d.refused() == nil {
				d.save(ctx, false)
			}
		}
	}
}

// changedForLater lets those who have opened the array since another program changed
// its length see an object that was stored.
func (l *lineage) changedForLater() {
	for later := l.later.Load(); later != nil; later = later.later.Load() {
		live := later.straight.live.Load()
		live.changed()
		live.recheck()
	}
}
