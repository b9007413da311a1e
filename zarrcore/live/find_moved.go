package live

import (
	"context"
	iofs "io/fs"
)

// A finder finds arrays that are not where they were: this process has moved them, or another
// program. What is known of one goes on where it is now.
type finder struct{ *opener }

// Open returns the array at path as it is stored now. While nothing has changed it returns the same
// Array, whose cached chunks stay in use. For an array with unreadable data the error wraps
// errors.ErrUnsupported or meta.ErrInvalid. For a group it wraps ErrNotArray.
func (f finder) Open(ctx context.Context, path string) (*Array, error) {
	return f.openAfter(ctx, path, f.prepared)
}

// prepared is the preparation of an array that nothing is known of under other names; see gather.
func (f finder) prepared(ctx context.Context, path string) (opening, error) {
	where, err := f.gather(ctx, path)
	return opening{where: where, gathered: true}, err
}

// arrived returns the handle that counts now. An array that was moved, and that nobody seemed to
// have open then, is opened at its new path for that, if it is there. The caller holds no lock.
func (f finder) arrived(ctx context.Context, a handle) handle {
	for a = a.newest(); a.isAstray(); a = a.newest() {
		b, err := f.openMoved(ctx, a.lineage)
		if err != nil {
			break
		}
		if a.draft.order == cOrder {
			a.lineage.redirect(b)
		} else if _, ok := b.Transposed(); ok {
			f.open.setHeir(a.lineage, b.lineage, fortranOrder)
		}
		if a.isAstray() {
			break
		}
	}
	return a
}

// openMoved opens the array at the path to which it was moved, and moved again since.
func (f finder) openMoved(ctx context.Context, l *lineage) (a *Array, err error) {
	err = l.find(func(path string) (err error) {
		a, err = f.openAt(ctx, l, path)
		return err
	})
	return a, err
}

// openAt opens the array at the path to which it was moved. What is not stored yet of it is older
// than what will be written there, and is stored first.
func (f finder) openAt(ctx context.Context, l *lineage, path string) (*Array, error) {
	if !l.straight.isRemoved() {
		if _, err := f.storeAt(ctx, l, path); err != nil {
			return nil, err
		}
		if !l.straight.isRemoved() { // it is not there, or the rest is kept in a file
			return nil, iofs.ErrNotExist
		}
	}
	return f.Open(ctx, path)
}

// followTo lets programs that have the array open go on at path. Another program has moved the
// array there. If the array is not there any more, nothing happens.
func (f finder) followTo(ctx context.Context, l *lineage, path string) error {
	_, err := f.storeAt(ctx, l, path)
	if err == nil {
		f.goOn(ctx, l, path)
	}
	return err
}

// goOn is followTo after all is stored.
func (f finder) goOn(ctx context.Context, l *lineage, path string) {
	if !l.straight.isRemoved() || !l.isInUse() {
		return
	}
	a, err := f.openHere(ctx, path)
	if err == nil && a.lineage.where == l.where { // otherwise it is looked for when it is used
		l.redirect(a)
	}
}

// goOnAt lets programs that have the array open go on with the array at path. The array is no
// longer where they opened it.
func (f finder) goOnAt(ctx context.Context, l *lineage, path string) {
	l.movedTo(path)
	if l.isInUse() { // it may be moved again before anything is done with it
		if a, err := f.openHere(ctx, path); err == nil {
			l.redirect(a)
		}
	}
}
