package zarrcore

import (
	"context"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// This file is about arrays whose objects end where the array does
// (zarrs.regular_bounded). When axis 0 gets another length, so do the objects at
// its end, and have to be stored again though nothing was written to them. Until
// then they are read as they were stored. While they are stored, and the document,
// writers wait: what is stored has to be of one length. A process that is killed
// meanwhile leaves objects that are longer than the document says. See also
// object/lengths.go and object/measure.go.

// misfits returns the stored objects that have another length than they should, or rows
// that do not count.
func (d *draft) misfits(ctx context.Context, a *Array) (objects []int64, err error) {
	if d.lengths.Settled(a.rows()) || !a.objects.Bounded() {
		return nil, nil
	}
	err = scan.Each(ctx, d.home.Store, a.objects.Keys, func(n int64) { objects = append(objects, n) })
	slices.Sort(objects)
	return slices.DeleteFunc(objects, func(n int64) bool {
		length, shown := d.lengths.Of(a.objects.Keys, n)
		return length == a.objects.Length(n) && shown == length
	}), err
}

// lasting returns those of some objects that have the length which is stored,
// however many rows follow.
func (d *draft) lasting(a *Array, objects []int64) []int64 {
	return slices.DeleteFunc(objects, func(n int64) bool {
		return a.objects.Length(n) != a.objects.Longest() || !d.lengths.Fits(a.objects.Keys, n)
	})
}

// storeInOrder stores objects, and the document if the array is to have another number of
// rows than before. Objects of another length become longer right before the document,
// or shorter right after it: whenever the process is killed, none is shorter than
// the document says.
func (d *draft) storeInOrder(ctx context.Context, a *Array, before int64, objects []int64) error {
	relaid, err := d.misfits(ctx, a)
	if err != nil {
		return err
	}
	steady := slices.DeleteFunc(objects, func(n int64) bool {
		_, found := slices.BinarySearch(relaid, n)
		return found
	})
	shorter := a.wholeRows() < before
	if !shorter {
		steady = append(steady, relaid...)
	}
	if err := d.storeObjects(ctx, steady); err != nil {
		return err
	}
	if a.wholeRows() != before {
		if err := d.storeRows(ctx, a, before); err != nil {
			return err
		}
	}
	if !shorter {
		return nil
	}
	return d.storeObjects(ctx, relaid)
}

// storeRows stores how many rows the array has. A power cut must not undo what comes
// before the document, nor the document before what comes after it.
func (d *draft) storeRows(ctx context.Context, a *Array, before int64) error {
	if a.wholeRows() < before || a.objects.Bounded() { // otherwise a power cut may undo a deletion, but not the document
		if err := d.h.undurable.Sync(ctx, d.home.Store, d.path); err != nil {
			return err
		}
	}
	if err := d.putShape(ctx, before, a.wholeRows()); err != nil || !a.objects.Bounded() {
		return err
	}
	return d.h.undurable.Sync(ctx, d.home.Store, d.path)
}

// relay commits an object that may have another length than the stored one. A reader finds the
// object and its length in the same state.
func (j *job) relay(commit func() error) error {
	return j.d.lengths.Replace(func() error {
		err := commit()
		if err == nil {
			j.d.mu.Lock() // join settles lengths in two steps
			defer j.d.mu.Unlock()
			j.d.lengths.Note(j.a.objects.Keys, j.number)
		}
		return err
	})
}
