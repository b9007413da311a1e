package zarrcore

import (
	"context"
	"slices"
)

// This file is about arrays whose objects end where the array does
// (zarrs.regular_bounded). When axis 0 gets another length, so do the objects at
// its end, and have to be stored anew though nobody has written to them. Until
// then they are read as they were stored. While they are stored, and then the
// document, writers wait: what is stored has to be of one length.

// bounded reports that the array's objects end where it does, along axis 0.
func (a *Array) bounded() bool { return len(a.meta.Bounded) > 0 && a.source == nil }

// length returns the length along axis 0 that an object has in this generation.
func (a *Array) length(obj int64) int64 {
	first, end, _ := a.objects.Rows(obj)
	return end - first
}

// objectLengths tells the lengths along axis 0 of the stored objects of an array.
// The draft's mu guards it.
type objectLengths struct {
	rows  int64           // the array ended there when they were stored
	other map[int64]int64 // those that were stored since
}

// of returns the length of an object, which a also has, as it is stored.
func (l *objectLengths) of(a *Array, obj int64) int64 {
	if !a.bounded() {
		return a.length(obj)
	}
	if n, ok := l.other[obj]; ok {
		return n
	}
	return l.usual(a, obj)
}

// usual returns the length of an object that was not stored since.
func (l *objectLengths) usual(a *Array, obj int64) int64 {
	first, _, _ := a.objects.Rows(obj)
	if n := l.rows - first; 0 < n && n < a.meta.Bounded[0] {
		return n
	}
	return a.meta.Bounded[0]
}

// note notes that an object was stored as a has it.
func (l *objectLengths) note(a *Array, obj int64) {
	delete(l.other, obj)
	if n := a.length(obj); n != l.usual(a, obj) {
		l.other[obj] = n
	}
}

// storedLength returns the length of an object as it is stored.
func (a *Array) storedLength(obj int64) int64 {
	if !a.bounded() {
		return a.length(obj)
	}
	a.draft.mu.Lock()
	defer a.draft.mu.Unlock()
	return a.draft.lengths.of(a, obj)
}

// misfits returns the stored objects that have another length than they should.
func (d *draft) misfits(ctx context.Context, a *Array) (objects []int64, err error) {
	d.mu.Lock()
	same := a.rows() == d.lengths.rows && len(d.lengths.other) == 0
	d.mu.Unlock()
	if same || !a.bounded() {
		return nil, nil
	}
	err = a.eachObjectIn(ctx, d.home.st, func(n int64) {
		if a.storedLength(n) != a.length(n) {
			objects = append(objects, n)
		}
	})
	slices.Sort(objects)
	return objects, err
}

// lasting returns those of some objects that have the length which is stored,
// however many rows follow.
func (d *draft) lasting(a *Array, objects []int64) []int64 {
	return slices.DeleteFunc(objects, func(n int64) bool {
		return a.length(n) != a.meta.Bounded[0] || a.storedLength(n) != a.length(n)
	})
}

// storeInOrder stores objects, and those of them or others that get another
// length right before the document that says so, for in between they cannot be
// read.
func (d *draft) storeInOrder(ctx context.Context, objects, relaid []int64) error {
	steady := slices.DeleteFunc(objects, func(n int64) bool {
		_, found := slices.BinarySearch(relaid, n)
		return found
	})
	for _, step := range [][]int64{steady, relaid} {
		if err := d.storeObjects(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// relaid notes that all objects, and the document, are stored as a has them.
func (d *draft) relaid(a *Array) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lengths.rows = a.wholeRows()
	clear(d.lengths.other)
}

// relay commits an object that may have another length than the stored one. Who
// reads it finds both in the same state.
func (j *job) relay(commit func() error) error {
	d := j.d
	d.relaying.Lock()
	defer d.relaying.Unlock()
	err := commit()
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lengths.note(j.a, j.number)
	}
	return err
}
